// Specs: the three spellings, exact round trips of every scheme, aliases, and every refusal.
#include "sextant/schemes/spec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/formats/json.h"
#include "sextant/schemes/refusal.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

ParameterValue ValueOf(const Scheme& scheme, const std::string& path) {
  for (const Parameter& parameter : scheme.parameters()) {
    if (parameter.path == path) return parameter.value;
  }
  ADD_FAILURE() << scheme.name() << " has no " << path;
  return {};
}

void ExpectEqual(const Scheme& one, const Scheme& other, const std::string& how) {
  const std::vector<Parameter> a = one.parameters(), b = other.parameters();
  EXPECT_EQ(one.name(), other.name()) << how;
  ASSERT_EQ(a.size(), b.size()) << one.name() << " by " << how;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].path, b[i].path) << how;
    EXPECT_EQ(a[i].value, b[i].value) << a[i].path << " by " << how << " " << ToText(a[i].value);
  }
}

void ExpectRoundTrips(const Scheme& scheme) {
  const Spec spec = SpecOf(scheme);
  const Json json = ToJson(spec);
  const SchemePtr from_json = MakeScheme(json.dump());
  ExpectEqual(scheme, *from_json, "JSON");
  EXPECT_EQ(ToJson(SpecOf(*from_json)), json);
  EXPECT_EQ(ToJson(SpecOf(*MakeScheme(SpecFromJson(json)))), json);
  const SchemePtr from_text = MakeScheme(ToText(spec));
  ExpectEqual(scheme, *from_text, "text");
  EXPECT_EQ(ToText(SpecOf(*from_text)), ToText(spec));
  const SchemePtr from_short = MakeScheme(ShortText(scheme));
  ExpectEqual(scheme, *from_short, "short text");
  EXPECT_EQ(ShortText(*from_short), ShortText(scheme));
}

// Values a parameter may take other than its present one, some with all digits in use.
std::vector<ParameterValue> Others(const Parameter& parameter) {
  std::vector<ParameterValue> values;
  if (parameter.type == "choice") {
    for (const std::string& choice : parameter.choices) values.emplace_back(choice);
  } else if (parameter.type == "integer") {
    const std::int64_t now = std::get<std::int64_t>(parameter.value);
    for (std::int64_t value : {2 * now, now + 2, now + 1, now - 1}) {
      if (double(value) >= parameter.minimum && double(value) <= parameter.maximum) {
        values.emplace_back(value);
      }
    }
  } else if (parameter.type == "number") {
    const double span = parameter.maximum - parameter.minimum;
    for (double part : {1 / 3.0, 2 / 3.0, 0.1, 1e-9 / 3})
      values.emplace_back(parameter.minimum + part * span);
    values.emplace_back(parameter.maximum);
  } else if (parameter.type == "numbers") {
    values.emplace_back(std::vector<double>{parameter.minimum, parameter.maximum});
    values.emplace_back(std::vector<double>{11, 11, 10});  // fits 32 pairs on three axes
    values.emplace_back(std::vector<double>(32, parameter.maximum / 3));  // one a pair
  } else {
    values.emplace_back(std::string("other"));
  }
  std::erase(values, parameter.value);
  return values;
}

// Round trips `entry` with `given`, and with each parameter that then exists changed in turn.
// Returns how many values were tried.
int RoundTripEveryParameter(const SchemeEntry& entry, const ParameterValues& given) {
  const ModelShape shape = {{"context", 64}};  // rules follow it
  int tried = 0;
  const SchemePtr scheme = entry.make(given, shape);
  ExpectRoundTrips(*scheme);
  for (const Parameter& parameter : scheme->parameters()) {
    int changed = 0;
    for (const ParameterValue& value : Others(parameter)) {
      ParameterValues settings = given;
      std::erase_if(settings, [&](const auto& s) { return s.first == parameter.path; });
      settings.emplace_back(parameter.path, value);
      SchemePtr other;
      try {
        other = entry.make(settings, shape);
      } catch (const Error&) {
        continue;  // odd widths and the like
      }
      ++changed;
      EXPECT_EQ(ValueOf(*other, parameter.path), value) << entry.info.name;
      const bool new_rule = parameter.path.ends_with(".rule") && given.empty();
      if (new_rule) {
        tried += RoundTripEveryParameter(entry, settings);
      } else {
        ExpectRoundTrips(*other);
      }
    }
    EXPECT_GT(changed, 0) << entry.info.name << " " << parameter.path << " was never changed";
    tried += changed;
  }
  return tried;
}

TEST(SpecTest, EverySchemeRoundTripsAtEveryParameter) {
  int tried = 0;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    tried += RoundTripEveryParameter(entry, {});
  }
  EXPECT_GT(tried, 50);
}

TEST(SpecTest, CompositionsRoundTrip) {
  for (const char* spec :
       {"hybrid", "sinusoidal:base=123.456,model_dim=8+learned:model_dim=8,offset=2,positions=9",
        "rope:rule=linear,factor=3.7+alibi:heads=12", "none+alibi+t5"}) {
    const SchemePtr scheme = MakeScheme(spec);
    EXPECT_GE(scheme->parts().size(), 2u);
    ExpectRoundTrips(*scheme);
  }
}

TEST(SpecTest, TheThreeSpellingsMeanTheSame) {
  const std::string json =
      R"({"scheme":"rope","rotated_dims":8,"pairing":"adjacent",
          "frequencies":{"rule":"linear","base":500000,"factor":4}})";
  const SchemePtr from_json = MakeScheme(json);
  const SchemePtr from_text =
      MakeScheme("rope:rotated_dims=8,pairing=adjacent,rule=linear,base=500000,factor=4");
  ExpectEqual(*from_text, *from_json, "JSON");
  ExpectEqual(*MakeScheme("rope:frequencies.rule=linear,frequencies.base=5e+5,"
                          "frequencies.factor=4.0,rotated_dims=8,pairing=adjacent"),
              *from_json, "paths");
  const std::string path =
      testing::TempDir() + "sextant-spec-test-" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << json;
  ExpectEqual(*MakeScheme("@" + path), *from_json, "file");
  std::filesystem::remove(path);
  EXPECT_EQ(ValueOf(*from_json, "frequencies.base"), ParameterValue(5e5));
}

TEST(SpecTest, TextLeavesOutDefaultsWhenShort) {
  EXPECT_EQ(ShortText(*MakeScheme("rope")), "rope");
  EXPECT_EQ(ShortText(*MakeScheme("rope:base=500000,pairing=adjacent")),
            "rope:pairing=adjacent,base=500000");
  EXPECT_EQ(ShortText(*MakeScheme("none")), "none");
  EXPECT_EQ(ShortText(*MakeScheme("sinusoidal+learned:offset=2")), "sinusoidal+learned:offset=2");
  EXPECT_EQ(ToText(SpecOf(*MakeScheme("sandwich:heads=12"))),
            "sandwich:heads=12,dims=128,base=10000,terms=from_zero");
}

TEST(SpecTest, ListsAreWrittenInBrackets) {
  const Spec spec = ParseSpec("made:factors=[1,2.5,1e+3],original=7+other:none=[]");
  ASSERT_EQ(spec.parts.size(), 2u);
  EXPECT_EQ(spec.parts[0].scheme, "made");
  EXPECT_EQ(spec.parts[0].settings[0].second, ParameterValue(std::vector<double>{1, 2.5, 1000}));
  EXPECT_EQ(spec.parts[0].settings[1].second, ParameterValue(std::int64_t{7}));
  EXPECT_EQ(spec.parts[1].settings[0].second, ParameterValue(std::vector<double>{}));
  EXPECT_EQ(ToText(spec), "made:factors=[1,2.5,1000],original=7+other:none=[]");
}

TEST(SpecTest, DimensionsOfTheModelFillWhatIsNotGiven) {
  const ModelShape shape = {{"model_dim", 48}, {"heads", 6}, {"head_dim", 8}, {"context", 77}};
  EXPECT_EQ(ValueOf(*MakeScheme("sinusoidal", shape), "model_dim"),
            ParameterValue(std::int64_t{48}));
  EXPECT_EQ(ValueOf(*MakeScheme("learned", shape), "positions"), ParameterValue(std::int64_t{77}));
  EXPECT_EQ(ValueOf(*MakeScheme("alibi", shape), "heads"), ParameterValue(std::int64_t{6}));
  EXPECT_EQ(ValueOf(*MakeScheme("rope", shape), "rotated_dims"), ParameterValue(std::int64_t{8}));
  EXPECT_EQ(ValueOf(*MakeScheme("rope:rotated_dims=4", shape), "rotated_dims"),
            ParameterValue(std::int64_t{4}));
  EXPECT_EQ(ValueOf(*MakeScheme("hybrid", shape), "learned.positions"),
            ParameterValue(std::int64_t{77}));
}

TEST(SpecTest, AliasesTakeSettingsOnlyForASingleScheme) {
  EXPECT_EQ(ValueOf(*MakeScheme("rotary:base=5"), "frequencies.base"), ParameterValue(5.0));
  EXPECT_EQ(MakeScheme("nope")->name(), "none");
  EXPECT_EQ(MakeScheme("hybrid")->name(), "sinusoidal+learned");
  EXPECT_EQ(MakeScheme("nope+alibi")->name(), "none+alibi");
  EXPECT_EQ(Refusal("hybrid:base=5"),
            "hybrid: takes no settings because it stands for sinusoidal+learned; give them to the "
            "parts, like sinusoidal:base=1000+learned");
}

TEST(SpecTest, MistypedNamesAreCorrected) {
  EXPECT_EQ(Refusal("ropee"), "scheme: unknown scheme \"ropee\"; did you mean \"rope\"?");
  EXPECT_EQ(Refusal("rope:bse=5"), "rope: unknown setting \"bse\"; did you mean \"base\"?");
  EXPECT_EQ(Refusal("rope:pairing=halvs"),
            "rope: pairing must be one of halves, adjacent, adjacent_to_halves, got \"halvs\"; "
            "did you mean \"halves\"?");
  EXPECT_EQ(Refusal("rope:base=1").find("rope: frequencies.base must be a number from 1.001"), 0u);
  EXPECT_EQ(Refusal("rope:base=nan").find("rope: frequencies.base must be a number"), 0u);
  EXPECT_EQ(Refusal("rope:base=").find("rope: frequencies.base must be a number"), 0u);
  EXPECT_EQ(Refusal("alibi", {{"heads", 0}}),
            "alibi: heads must be a whole number from 1 to 4096, got 0");
}

TEST(SpecTest, MalformedTextIsRefused) {
  EXPECT_EQ(Refusal("").find("spec: is empty"), 0u);
  EXPECT_EQ(Refusal(":base=5").find("spec: a scheme's name is missing in \":base=5\""), 0u);
  EXPECT_EQ(Refusal("rope:base").find("spec: \"base\" is no setting"), 0u);
  EXPECT_EQ(Refusal("rope:=5").find("spec: \"=5\" is no setting"), 0u);
  EXPECT_EQ(Refusal("rope:base=[1"), "spec: base has a [ without a ]");
  EXPECT_EQ(Refusal("rope:base=[a]"), "spec: base must be a list of numbers");
  EXPECT_EQ(Refusal("rope:base=[1]x"), "spec: text follows the list of base");
  EXPECT_EQ(Refusal("+rope").find("spec: a scheme's name is missing"), 0u);
  EXPECT_EQ(Refusal("rope+").find("scheme: unknown scheme \"rope+\""), 0u);
  EXPECT_EQ(Refusal(std::string((1 << 20) + 1, 'a')), "spec: is longer than 1 MiB");
  EXPECT_EQ(Refusal("none+none+none+none+none+none+none+none+none"), "spec: has more than 8 parts");
  EXPECT_EQ(Refusal("none+none+none+none+none+none+none+none"), "accepted");
}

TEST(SpecTest, MalformedJsonIsRefused) {
  EXPECT_EQ(Refusal(R"({"pairing":"halves"})").find("spec: JSON must be an object with a"), 0u);
  EXPECT_EQ(Refusal(R"({"scheme":5})").find("spec: JSON must be an object with a"), 0u);
  EXPECT_EQ(Refusal(R"({"scheme":"rope","base":null})"), "rope: base must not be null");
  EXPECT_EQ(Refusal(R"({"scheme":"rope","base":["a"]})"), "rope: base must be a list of numbers");
  EXPECT_EQ(Refusal(R"({"scheme":"rope","base":true})").find("rope: frequencies.base must be"), 0u);
  EXPECT_EQ(Refusal(R"({"scheme":"rope","a":{"b":{"c":1}}})"), "rope: a.b nests too deep");
  EXPECT_EQ(Refusal(R"({"scheme":"rope","frequencies":{"bose":1}})"),
            "rope: unknown setting \"frequencies.bose\"; did you mean \"frequencies.base\"?");
  EXPECT_EQ(Refusal(R"({"compose":[]})").find("spec: \"compose\" must be a list"), 0u);
  EXPECT_EQ(Refusal(R"({"compose":{}})").find("spec: \"compose\" must be a list"), 0u);
  EXPECT_EQ(Refusal(R"({"compose":[{"scheme":"none"}],"scheme":"rope"})")
                .find("spec: \"compose\" must be a list of schemes and stand alone"),
            0u);
  EXPECT_EQ(Refusal(R"({"compose":[5]})").find("spec: JSON must be an object with a"), 0u);
  EXPECT_THROW(MakeScheme(R"({"scheme":"rope")"), UnreadableInput);
  EXPECT_THROW(MakeScheme("@/no/such/file.json"), UnreadableInput);
  EXPECT_THROW(MakeScheme("@" + testing::TempDir()), UnreadableInput);
}

TEST(SpecTest, PartsThatExcludeEachOtherAreRefused) {
  EXPECT_EQ(Refusal("rope+rope"),
            "rope+rope: rope and rope cannot be combined: both turn or index "
            "the same queries and keys");
  EXPECT_NE(Refusal("shaw+transformer-xl"), "accepted");
  EXPECT_EQ(Refusal("sinusoidal:model_dim=8+learned:model_dim=16"),
            "sinusoidal+learned: model_dim must be equal in all parts, got 8 and 16");
  EXPECT_EQ(Refusal("alibi:heads=8+t5:heads=4"),
            "alibi+t5: heads must be equal in all parts, got 8 and 4");
}

}  // namespace
}  // namespace sextant
