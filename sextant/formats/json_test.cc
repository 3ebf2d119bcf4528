// JSON of unknown origin: what is read, and every refusal with its place.
#include "sextant/formats/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sextant/core/error.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

// The message of the UnreadableInput that reading `text` throws. Any other exception is a failure.
std::string Refusal(std::string_view text, std::size_t max_bytes = 1 << 20) {
  try {
    ReadJson(text, "w", max_bytes);
  } catch (const UnreadableInput& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << text << " threw something else: " << error.what();
    return "";
  }
  ADD_FAILURE() << text << " was accepted";
  return "";
}

std::string Nested(std::size_t depth, std::string_view inner = "") {
  return std::string(depth, '[') + std::string(inner) + std::string(depth, ']');
}

TEST(JsonTest, ReadsEveryKindOfValue) {
  const Json json = ReadJson(
      R"( {"text":"a\"\u00e9\n","whole":-3,"real":0.1,"big":1e308,"yes":true,"no":false,
           "nothing":null,"list":[1,"two",[],{}],"inner":{"b":{"c":1}}} )",
      "w");
  EXPECT_EQ(json["text"], "a\"\xc3\xa9\n");
  EXPECT_TRUE(json["whole"].is_number_integer());
  EXPECT_EQ(json["whole"], -3);
  EXPECT_TRUE(json["real"].is_number_float());
  EXPECT_EQ(json["real"], 0.1);
  EXPECT_EQ(json["big"], 1e308);
  EXPECT_EQ(json["yes"], true);
  EXPECT_EQ(json["no"], false);
  EXPECT_TRUE(json["nothing"].is_null());
  EXPECT_EQ(json["list"], (Json::array({1, "two", Json::array(), Json::object()})));
  EXPECT_EQ(json["inner"]["b"]["c"], 1);
}

TEST(JsonTest, KeepsTheOrderOfKeys) {
  EXPECT_EQ(ReadJson(R"({"z":1,"a":2,"m":3})", "w").dump(), R"({"z":1,"a":2,"m":3})");
}

TEST(JsonTest, ReadsBareValues) {
  EXPECT_EQ(ReadJson("7", "w"), 7);
  EXPECT_EQ(ReadJson(" \"a\" ", "w"), "a");
  EXPECT_TRUE(ReadJson("null", "w").is_null());
  EXPECT_EQ(ReadJson("false", "w"), false);
  EXPECT_EQ(ReadJson("[]", "w").size(), 0u);
}

TEST(JsonTest, WholeNumbersKeepTheirBitsToInt64AndAreDoublesBeyond) {
  EXPECT_EQ(ReadJson("9223372036854775807", "w").get<std::int64_t>(), INT64_MAX);
  EXPECT_EQ(ReadJson("-9223372036854775808", "w").get<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(ReadJson("[9223372036854775808]", "w")[0].get<double>(), 0x1p63);
  EXPECT_EQ(ReadJson("18446744073709551616", "w").get<double>(), 0x1p64);
  // transformers' VERY_LARGE_INTEGER, in many tokenizer_config.json.
  EXPECT_EQ(
      ReadJson(R"({"model_max_length":1000000000000000019884624838656})", "w")["model_max_length"],
      1e30);
}

TEST(JsonTest, NumbersOutOfRangeAreRefusedWithTheirByte) {
  EXPECT_EQ(Refusal("1e999"),
            "w: is not valid JSON: a number is malformed or out of range at "
            "byte 0");
  EXPECT_EQ(Refusal("[0,-1e400]"),
            "w: is not valid JSON: a number is malformed or out of range at byte 3");
  for (const char* text : {"NaN", "[Infinity]", "[-Infinity]", "{\"a\":NaN}", "01", "1.", ".5",
                           "+1", "-", "0x10", "1e", "[1.e5]"}) {
    EXPECT_TRUE(Refusal(text).starts_with("w: is not valid JSON: ")) << text;
  }
}

TEST(JsonTest, TruncatedTextIsRefusedAtEveryLength) {
  const std::string whole =
      R"({"scheme":"rope","list":[1,2.5,true,null],"inner":{"a":"b\"c","n":-1e3}})";
  ASSERT_NO_THROW(ReadJson(whole, "w"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(Refusal(whole.substr(0, length)).starts_with("w: is not valid JSON: ")) << length;
  }
}

TEST(JsonTest, TextAfterTheValueIsRefused) {
  EXPECT_EQ(Refusal(R"({"a":1} x)"), "w: is not valid JSON: text follows its value at byte 8");
  EXPECT_EQ(Refusal("{\"a\":1}}"), "w: is not valid JSON: text follows its value at byte 7");
  EXPECT_EQ(Refusal("{} {}"), "w: is not valid JSON: text follows its value at byte 3");
  EXPECT_EQ(Refusal("[]]"), "w: is not valid JSON: text follows its value at byte 2");
  EXPECT_EQ(Refusal("\"a\" \"b\""), "w: is not valid JSON: text follows its value at byte 4");
  EXPECT_EQ(Refusal(std::string_view("[1]\0", 4)),
            "w: is not valid JSON: text follows its value at byte 3");
  Refusal("1 2");
  Refusal("true false");
  Refusal("null x");
}

TEST(JsonTest, AKeyGivenTwiceIsRefused) {
  EXPECT_EQ(Refusal(R"({"a":1,"b":2,"a":3})"),
            "w: is not valid JSON: a key is given twice at byte 17");
  EXPECT_EQ(Refusal(R"({"o":{"b":1,"b":1}})"),
            "w: is not valid JSON: a key is given twice at byte 16");
  EXPECT_EQ(Refusal(R"({"a":1,"\u0061":2})"),
            "w: is not valid JSON: a key is given twice at byte 16");
  EXPECT_NO_THROW(ReadJson(R"({"a":{"a":1},"b":{"a":2}})", "w"));
}

TEST(JsonTest, SixtyFourLevelsAreTheDeepest) {
  EXPECT_NO_THROW(ReadJson(Nested(64), "w"));
  EXPECT_NO_THROW(ReadJson(Nested(64, "1"), "w"));
  EXPECT_EQ(Refusal(Nested(65)), "w: is not valid JSON: it nests deeper than 64 at byte 64");
  EXPECT_EQ(Refusal(Nested(65, "1")), "w: is not valid JSON: it nests deeper than 64 at byte 64");
  Refusal(Nested(100000));
  std::string objects;
  for (int n = 0; n < 65; ++n) objects += "{\"a\":";
  EXPECT_EQ(Refusal(objects + "1" + std::string(65, '}')),
            "w: is not valid JSON: it nests deeper than 64 at byte 320");
}

TEST(JsonTest, MalformedTextIsRefusedWithItsByte) {
  const struct {
    const char* text;
    int byte;
  } cases[] = {{"[1 2]", 3},         {"[1,]", 3},      {"{\"a\":1,}", 7}, {"{a:1}", 1},
               {"{'a':1}", 1},       {"{\"a\" 1}", 5}, {"{1:2}", 1},      {"{\"a\":,}", 5},
               {"[,]", 1},           {"[1,2}", 4},     {"{\"a\":1]", 6},  {"}", 0},
               {"// c\n1", 0},       {"[tru]", 1},     {"[nulx]", 1},     {"[nullx]", 1},
               {"nulx", 0},          {"[truee]", 1},   {"[falsey]", 1},   {"tru", 0},
               {"\xef\xbb\xbf{}", 0}};
  for (const auto& [text, byte] : cases) {
    const std::string refusal = Refusal(text);
    EXPECT_TRUE(refusal.starts_with("w: is not valid JSON: ")) << text;
    EXPECT_TRUE(refusal.ends_with(" at byte " + std::to_string(byte))) << text << " " << refusal;
  }
}

TEST(JsonTest, MalformedStringsAreRefused) {
  for (std::string_view text : {"\"abc", R"({"a":"b})", R"("\x")", R"("\ud800")", R"("\u12g4")",
                                "\"a\nb\"", "{\"a\nb\":1}", "\"\t\""}) {
    EXPECT_TRUE(Refusal(text).starts_with("w: is not valid JSON: ")) << text;
  }
  EXPECT_EQ(ReadJson(R"("\ud83d\ude00")", "w"), "\xf0\x9f\x98\x80");
}

TEST(JsonTest, InvalidUtf8IsRefused) {
  for (std::string_view text : {"\"\xff\"", "{\"a\":\"\xc3(\"}", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"",
                                "\"\xf4\x90\x80\x80\"", "{\"\x80\":1}"}) {
    EXPECT_EQ(Refusal(text), "w: is not valid JSON: The input is not valid UTF-8") << text;
  }
}

TEST(JsonTest, TheSizeIsCapped) {
  EXPECT_NO_THROW(ReadJson("[1,2,3]", "w", 7));
  EXPECT_EQ(Refusal("[1,2,3]", 6), "w: is larger than 6 bytes");
  EXPECT_EQ(Refusal("", 6), "w: is not valid JSON: Empty: no JSON found");
}

TEST(JsonTest, ManyKeysTakeTimeInProportion) {
  std::string text = "{";
  for (int n = 0; n < 100000; ++n) text += "\"key" + std::to_string(n) + "\":1,";
  text += "\"last\":2}";
  const Json json = ReadJson(text, "w");  // two minutes when each key scans those before it
  EXPECT_EQ(json.size(), 100001u);
  EXPECT_EQ(json["last"], 2);
}

}  // namespace
}  // namespace sextant
