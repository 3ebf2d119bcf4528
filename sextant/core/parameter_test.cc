// Parameters: every type listed, set, and refused with a message that names field, rule and value.
#include "sextant/core/parameter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant {
namespace {

struct Plain {
  static constexpr const char* rule = "plain";
  double base = 1e4;
  void fields(auto& field) { field("base", base, 1, 1e12, "ratio"); }
};

struct Listed {
  static constexpr const char* rule = "listed";
  std::vector<double> factors = {1, 2.5};
  int original = 4096;
  void fields(auto& field) {
    field("factors", factors, 0, 100, "divisors");
    field("original", original, 1, 1 << 20, "trained length", "context");
  }
};

enum class Mode { kSlow, kFast };

struct Holder {
  static constexpr Choice<Mode> kModes[] = {{"slow", Mode::kSlow}, {"fast", Mode::kFast}};
  int heads = 8;
  double slope = 0.5;
  Mode mode = Mode::kFast;
  std::vector<double> numbers = {1};
  std::string title = "untitled";
  std::variant<Plain, Listed> wave;

  void fields(auto& field) {
    field("heads", heads, 1, 64, "attention heads", "heads");
    field("slope", slope, 0.125, 64, "steepness");
    field("mode", mode, kModes, "how");
    field("numbers", numbers, -1, 1, "some numbers");
    field.text("title", title, "a name");
    field.rule("wave", wave, "how waves are made");
  }
};

struct Nothing {
  void fields(auto&) {}
};

Holder Make(const ParameterValues& given, const std::map<std::string, std::int64_t>& shape = {}) {
  return MakeFromFields<Holder>("holder", given, shape);
}

std::string Refusal(const ParameterValues& given,
                    const std::map<std::string, std::int64_t>& shape = {}) {
  try {
    Make(given, shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

const std::int64_t kEight = 8;

TEST(ParameterTest, ListsEveryFieldWithItsPresentValue) {
  const std::vector<Parameter> listed = ListFields(Holder{});
  std::vector<std::string> paths;
  for (const Parameter& parameter : listed) paths.push_back(parameter.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"heads", "slope", "mode", "numbers", "title",
                                             "wave.rule", "wave.base"}));
  EXPECT_EQ(listed[0].type, "integer");
  EXPECT_EQ(listed[0].value, ParameterValue(kEight));
  EXPECT_EQ(listed[0].minimum, 1);
  EXPECT_EQ(listed[0].maximum, 64);
  EXPECT_EQ(listed[0].follows, "heads");
  EXPECT_EQ(listed[0].help, "attention heads");
  EXPECT_EQ(listed[1].type, "number");
  EXPECT_EQ(listed[1].value, ParameterValue(0.5));
  EXPECT_EQ(listed[2].type, "choice");
  EXPECT_EQ(listed[2].value, ParameterValue(std::string("fast")));
  EXPECT_EQ(listed[2].choices, (std::vector<std::string>{"slow", "fast"}));
  EXPECT_EQ(listed[3].type, "numbers");
  EXPECT_EQ(listed[3].value, ParameterValue(std::vector<double>{1}));
  EXPECT_EQ(listed[4].type, "text");
  EXPECT_EQ(listed[5].choices, (std::vector<std::string>{"plain", "listed"}));
  EXPECT_EQ(listed[6].value, ParameterValue(1e4));
}

TEST(ParameterTest, SetsEveryType) {
  const Holder made = Make({{"heads", std::int64_t{12}},
                            {"slope", 2.0},
                            {"mode", std::string("slow")},
                            {"numbers", std::vector<double>{-1, 0.5, 1}},
                            {"title", std::string("tale")},
                            {"wave.rule", std::string("listed")},
                            {"wave.factors", std::vector<double>{3}}});
  EXPECT_EQ(made.heads, 12);
  EXPECT_EQ(made.slope, 2.0);
  EXPECT_EQ(made.mode, Mode::kSlow);
  EXPECT_EQ(made.numbers, (std::vector<double>{-1, 0.5, 1}));
  EXPECT_EQ(made.title, "tale");
  ASSERT_TRUE(std::holds_alternative<Listed>(made.wave));
  EXPECT_EQ(std::get<Listed>(made.wave).factors, (std::vector<double>{3}));
  EXPECT_EQ(std::get<Listed>(made.wave).original, 4096);
}

TEST(ParameterTest, WholeNumbersServeAsNumbersAndTheOtherWay) {
  EXPECT_EQ(Make({{"slope", std::int64_t{3}}}).slope, 3.0);
  EXPECT_EQ(Make({{"heads", 3.0}}).heads, 3);
}

TEST(ParameterTest, RangesIncludeBothEndsAndNothingElse) {
  EXPECT_EQ(Make({{"heads", std::int64_t{1}}}).heads, 1);
  EXPECT_EQ(Make({{"heads", std::int64_t{64}}}).heads, 64);
  EXPECT_EQ(Make({{"slope", 0.125}}).slope, 0.125);
  EXPECT_EQ(Refusal({{"heads", std::int64_t{0}}}),
            "holder: heads must be a whole number from 1 to 64, got 0");
  EXPECT_EQ(Refusal({{"heads", std::int64_t{65}}}),
            "holder: heads must be a whole number from 1 to 64, got 65");
  EXPECT_EQ(Refusal({{"heads", std::numeric_limits<std::int64_t>::min()}}),
            "holder: heads must be a whole number from 1 to 64, got -9223372036854775808");
  EXPECT_EQ(Refusal({{"slope", 0.1}}), "holder: slope must be a number from 0.125 to 64, got 0.1");
  EXPECT_EQ(Refusal({{"numbers", std::vector<double>{0, 1.5}}}),
            "holder: numbers must be a list of numbers from -1 to 1, got 1.5");
}

TEST(ParameterTest, NotANumberAndInfinityAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Refusal({{"slope", nan}}), "holder: slope must be a number from 0.125 to 64, got nan");
  EXPECT_EQ(Refusal({{"slope", infinity}}),
            "holder: slope must be a number from 0.125 to 64, got inf");
  EXPECT_EQ(Refusal({{"heads", nan}}),
            "holder: heads must be a whole number from 1 to 64, got nan");
  EXPECT_EQ(Refusal({{"heads", infinity}}),
            "holder: heads must be a whole number from 1 to 64, got inf");
  EXPECT_EQ(Refusal({{"numbers", std::vector<double>{nan}}}),
            "holder: numbers must be a list of numbers from -1 to 1, got nan");
}

TEST(ParameterTest, WrongTypesAreRefused) {
  EXPECT_EQ(Refusal({{"heads", true}}),
            "holder: heads must be a whole number from 1 to 64, got true");
  EXPECT_EQ(Refusal({{"heads", 8.5}}),
            "holder: heads must be a whole number from 1 to 64, got 8.5");
  EXPECT_EQ(Refusal({{"heads", std::string("eight")}}),
            "holder: heads must be a whole number from 1 to 64, got \"eight\"");
  EXPECT_EQ(Refusal({{"heads", std::vector<double>{8}}}),
            "holder: heads must be a whole number from 1 to 64, got [8]");
  EXPECT_EQ(Refusal({{"slope", true}}),
            "holder: slope must be a number from 0.125 to 64, got true");
  EXPECT_EQ(Refusal({{"slope", std::string("1")}}),
            "holder: slope must be a number from 0.125 to 64, got \"1\"");
  EXPECT_EQ(Refusal({{"numbers", 0.5}}),
            "holder: numbers must be a list of numbers from -1 to 1, got 0.5");
  EXPECT_EQ(Refusal({{"title", kEight}}), "holder: title must be text, got 8");
  EXPECT_EQ(Refusal({{"mode", true}}), "holder: mode must be one of slow, fast, got true");
  EXPECT_EQ(Refusal({{"wave.rule", kEight}}),
            "holder: wave.rule must be one of plain, listed, got 8");
}

TEST(ParameterTest, UnknownChoicesNameTheNearest) {
  EXPECT_EQ(Refusal({{"mode", std::string("fats")}}),
            "holder: mode must be one of slow, fast, got \"fats\"; did you mean \"fast\"?");
  EXPECT_EQ(Refusal({{"rule", std::string("lister")}}),
            "holder: wave.rule must be one of plain, listed, got \"lister\"; "
            "did you mean \"listed\"?");
}

TEST(ParameterTest, UnknownSettingsNameTheNearest) {
  EXPECT_EQ(Refusal({{"headz", kEight}}),
            "holder: unknown setting \"headz\"; did you mean \"heads\"?");
  EXPECT_EQ(Refusal({{"bsae", 1.0}}), "holder: unknown setting \"bsae\"; did you mean \"base\"?");
  EXPECT_EQ(Refusal({{"temperature", 1.0}}),
            "holder: unknown setting \"temperature\"; its settings are heads, slope, mode, "
            "numbers, title, wave.rule, wave.base");
  EXPECT_THROW(MakeFromFields<Nothing>("nothing", {{"base", 1.0}}, {}), Error);
  try {
    MakeFromFields<Nothing>("nothing", {{"base", 1.0}}, {});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "nothing: unknown setting \"base\"; it has no settings");
  }
}

TEST(ParameterTest, NothingIsGivenTwice) {
  EXPECT_EQ(Refusal({{"heads", kEight}, {"heads", kEight}}), "holder: heads is given twice");
  EXPECT_EQ(Refusal({{"base", 5.0}, {"wave.base", 5.0}}), "holder: wave.base is given twice");
}

TEST(ParameterTest, GroupsAreReachedByPathOrLastPart) {
  EXPECT_EQ(std::get<Plain>(Make({{"wave.base", 7.0}}).wave).base, 7);
  EXPECT_EQ(std::get<Plain>(Make({{"base", 7.0}}).wave).base, 7);
  const Holder made =
      Make({{"original", std::int64_t{99}}, {"rule", std::string("listed")}});  // in any order
  EXPECT_EQ(std::get<Listed>(made.wave).original, 99);
  EXPECT_EQ(ListFields(made).back().path, "wave.original");
}

TEST(ParameterTest, SettingsOfAnotherRuleAreUnknown) {
  EXPECT_EQ(Refusal({{"wave.factors", std::vector<double>{1}}}),
            "holder: unknown setting \"wave.factors\"; its settings are heads, slope, mode, "
            "numbers, title, wave.rule, wave.base");
  EXPECT_NE(Refusal({{"rule", std::string("listed")}, {"base", 5.0}}), "accepted");
}

TEST(ParameterTest, FieldsFollowDimensionsWhereNotGiven) {
  EXPECT_EQ(Make({}, {{"heads", 12}}).heads, 12);
  EXPECT_EQ(Make({{"heads", std::int64_t{3}}}, {{"heads", 12}}).heads, 3);
  EXPECT_EQ(Make({}, {{"head_dim", 12}}).heads, 8);
  const Holder made = Make({{"rule", std::string("listed")}}, {{"context", 512}});
  EXPECT_EQ(std::get<Listed>(made.wave).original, 512);
  EXPECT_EQ(Refusal({}, {{"heads", 65}}),
            "holder: heads must be a whole number from 1 to 64, got 65");
}

TEST(ParameterTest, WhatAMessageShowsIsCutAndHarmless) {
  EXPECT_EQ(Refusal({{"title\x1b[31m\n", kEight}}).find('\x1b'), std::string::npos);
  const std::string flood = Refusal({{"heads", std::string(100000, 'x')}});
  EXPECT_LT(flood.size(), 200u);
  EXPECT_NE(flood.find("xxx...\""), std::string::npos);
  EXPECT_LT(Refusal({{std::string(100000, 'x'), kEight}}).size(), 400u);
}

TEST(ParameterTest, TextOfValues) {
  EXPECT_EQ(ToText(true), "true");
  EXPECT_EQ(ToText(std::int64_t{-3}), "-3");
  EXPECT_EQ(ToText(500000.0), "500000");
  EXPECT_EQ(ToText(0.1), "0.1");
  EXPECT_EQ(ToText(std::string("halves")), "halves");
  EXPECT_EQ(ToText(std::vector<double>{1, 2.5}), "[1,2.5]");
  EXPECT_EQ(ToText(std::vector<double>{}), "[]");
}

TEST(ParameterTest, TextIsANumberOnlyAsAWhole) {
  EXPECT_EQ(ParseParameterValue("8"), ParameterValue(kEight));
  EXPECT_EQ(ParseParameterValue("-8"), ParameterValue(std::int64_t{-8}));
  EXPECT_EQ(ParseParameterValue("5e5"), ParameterValue(500000.0));
  EXPECT_EQ(ParseParameterValue("1e+4"), ParameterValue(10000.0));
  EXPECT_EQ(ParseParameterValue("0.5"), ParameterValue(0.5));
  EXPECT_EQ(ParseParameterValue("8x"), ParameterValue(std::string("8x")));
  EXPECT_EQ(ParseParameterValue("1.5.2"), ParameterValue(std::string("1.5.2")));
  EXPECT_EQ(ParseParameterValue(" 8"), ParameterValue(std::string(" 8")));
  EXPECT_EQ(ParseParameterValue("halves"), ParameterValue(std::string("halves")));
  EXPECT_EQ(ParseParameterValue(""), ParameterValue(std::string()));
}

double AsDouble(const ParameterValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return double(*whole);
  return std::get<double>(value);
}

TEST(ParameterTest, NumbersReadBackExactly) {
  Random random(11);
  int tried = 0;
  while (tried < 20000) {
    const double value = std::bit_cast<double>(random.Next());
    if (!std::isfinite(value)) continue;
    ++tried;
    ASSERT_EQ(AsDouble(ParseParameterValue(ToText(value))), value);
    const double common = std::exp(60 * random.Uniform() - 30);
    ASSERT_EQ(AsDouble(ParseParameterValue(ToText(common))), common);
  }
  for (std::int64_t whole : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                             std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(ParseParameterValue(ToText(whole)), ParameterValue(whole));
  }
}

}  // namespace
}  // namespace sextant
