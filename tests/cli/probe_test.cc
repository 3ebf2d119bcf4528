// sextant probe: readouts as text and JSON, the figure, and wrong inputs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "sextant/formats/file.h"
#include "tests/cli/run_program.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

TEST(ProbeCommand, JsonOfTheLecturesSchemes) {
  const Outcome outcome = RunWith({"probe", "none", "sinusoidal", "rope", "--json"});
  ASSERT_EQ(outcome.exit_code, kFine);
  EXPECT_EQ(outcome.err, "");
  const Json json = outcome.json();
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["scheme"], "none");
  EXPECT_EQ(json[0]["range"], 0);
  EXPECT_EQ(json[0]["anchor_spread"], 0);
  EXPECT_EQ(json[0]["norm_ratio"], 1);
  EXPECT_EQ(json[0]["relative"], true);
  EXPECT_EQ(json[1]["relative"], false);
  EXPECT_GT(json[1]["anchor_spread"].get<double>(), 0.3 * json[1]["range"].get<double>());
  EXPECT_EQ(json[2]["relative"], true);
  EXPECT_LE(json[2]["anchor_spread"].get<double>(), 1e-12 * json[2]["range"].get<double>());
  EXPECT_NEAR(json[2]["norm_ratio"], 1, 1e-12);
  EXPECT_EQ(json[2]["spec"]["scheme"], "rope");
  EXPECT_EQ(json[2]["spec"]["rotated_dims"], 64);
  for (const Json& scheme : json) {
    EXPECT_EQ(scheme["anchors"], Json({0, 8, 24}));
    EXPECT_EQ(scheme["offsets"].size(), 32u);
    ASSERT_EQ(scheme["scores"].size(), 3u);
    EXPECT_EQ(scheme["scores"][2].size(), 32u);
    for (const char* name : {"tells_apart", "any_length", "bounded", "decays"}) {
      const Json& requirement = scheme["requirements"][name];
      EXPECT_TRUE(requirement["holds"].is_boolean()) << name;
      EXPECT_TRUE(requirement["number"].is_number()) << name;
      EXPECT_TRUE(requirement["meaning"].is_string()) << name;
    }
  }
  EXPECT_EQ(json[0]["requirements"]["tells_apart"]["number"], 1);
  EXPECT_EQ(json[1]["terms"]["position_position"]["relative"], true);
  EXPECT_EQ(json[1]["terms"]["content_position"]["relative"], false);
  EXPECT_NEAR(8 * json[1]["terms"]["position_position"]["scores"][1][1].get<double>(),
              30.9168316616, 1e-10);
  EXPECT_FALSE(json[2].contains("terms"));
  EXPECT_NEAR(json[1]["wavelengths"][8], 62.8318530718, 1e-9);
  EXPECT_GT(json[1]["uniqueness"]["smallest_distance"].get<double>(), 0);
}

TEST(ProbeCommand, SettingsReachTheProbe) {
  const Json json = RunWith({"probe", "rope", "--anchors", "3", "--offsets", "5", "--head-dim",
                             "32", "--seed", "9", "--json"})
                        .json();
  EXPECT_EQ(json[0]["scheme"], "rope");
  EXPECT_EQ(json[0]["anchors"], Json({3}));
  EXPECT_EQ(json[0]["offsets"], Json({0, 1, 2, 3, 4}));
  EXPECT_EQ(json[0]["head_dim"], 32);
  EXPECT_EQ(json[0]["seed"], 9);
  EXPECT_EQ(json[0]["spec"]["rotated_dims"], 32);
  const Json other = RunWith({"probe", R"({"scheme":"rope","rotated_dims":32})", "--head-dim", "32",
                              "--anchors", "3", "--offsets", "5", "--seed", "9", "--json"})
                         .json();
  EXPECT_EQ(other, json);
}

TEST(ProbeCommand, TextShowsReadoutsAndCurves) {
  const Outcome outcome = RunWith({"probe", "none", "sinusoidal", "t5"});
  EXPECT_EQ(outcome.exit_code, kFine);
  for (const char* text :
       {"anchor spread", "tells apart", "no  1 of 32", "yes 32 of 32", "position . position",
        "2^20 tried", "score by offset", "query at 8", "initial values, drawn from seed 1",
        "t5: every key after the query scores the same"}) {
    EXPECT_TRUE(outcome.out_has(text)) << text << "\n" << outcome.out;
  }
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  const Outcome plain = RunWith({"probe", "alibi", "--plain"});
  EXPECT_TRUE(plain.out_has("alibi (head 0 of 8): scaled score by offset"));
  EXPECT_TRUE(plain.out_has("\n    31 "));
  EXPECT_TRUE(
      RunWith({"probe", "none", "rope", "alibi", "t5", "shaw"}).out_has("at most 4 schemes"));
}

TEST(ProbeCommand, WritesCurves) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("sextant-probe-" + std::to_string(getpid()) + ".svg");
  const Outcome outcome = RunWith({"probe", "sinusoidal", "rope", "--svg", path, "--json"});
  EXPECT_EQ(outcome.exit_code, kFine);
  EXPECT_EQ(outcome.json().size(), 2u);
  EXPECT_TRUE(outcome.err_has("wrote " + path));
  const std::string svg = ReadFile(path, 1 << 20);
  EXPECT_NE(svg.find("sinusoidal, query at 24"), std::string::npos);
  EXPECT_NE(svg.find("rope, every anchor"), std::string::npos);
  std::filesystem::remove(path);
}

struct Wrong {
  std::vector<std::string> arguments;
  int exit_code;
  const char* message;
};

TEST(ProbeCommand, WrongInputsSayWhatToDo) {
  const Wrong wrongs[] = {
      {{"probe"}, kUsage, "for example: sextant probe none sinusoidal rope"},
      {{"probe", "none", "alibbi"}, kUsage, "did you mean \"alibi\"?"},
      {{"probe", "rope", "--head-dim", "63"}, kUsage, "use a head_dim of 64"},
      {{"probe", "sinusoidal-2d", "--head-dim", "63"}, kUsage, "model_dim must be a multiple of 4"},
      {{"probe", "none", "--head-dim", "0"},
       kUsage,
       "head_dim must be a whole number from 1 to 4096"},
      {{"probe", "none", "--offsets", "0"},
       kUsage,
       "offsets must be a whole number from 1 to 4096"},
      {{"probe", "none", "--offsets", "x"}, kUsage, "--offsets"},
      {{"probe", "none", "--seed", "-1"}, kUsage, "--seed"},
      {{"probe", "none", "--anchors", "-1"}, kUsage, "an anchor must be a whole number from 0"},
      {{"probe", "none", "--anchors", "0,b"}, kUsage, "needs whole numbers, got \"b\""},
      {{"probe", "none", "--anchors", "0..64"}, kUsage, "the number of anchors"},
      {{"probe", "none", "--anchros", "1"}, kUsage, "did you mean \"--anchors\"?"},
      {{"probe", "learned:positions=40"}, kUsage, "position 40 is outside the table of 40"},
      {{"probe", "learned", "--anchors", "1023"}, kUsage, "position 1024"},
      {{"probe", "sinusoidal:model_dim=8"}, kUsage, "model_dim must be head_dim 64"},
      {{"probe", "alibi+transformer-xl"}, kUsage, "heads"},
      {{"probe", "t5:max_distance=8"}, kUsage, "max_distance must be above 16"},
      {{"probe", "rope:base=true"}, kUsage, "base must be a number"},
      {{"probe", "@missing.json"}, kUnreadable, "missing.json: there is no such file"},
      {{"probe", "none", "--svg", "/nowhere/a.svg"}, kUnreadable, "/nowhere/a.svg"},
  };
  for (const Wrong& wrong : wrongs) {
    std::string line;
    for (const std::string& argument : wrong.arguments) line += argument + " ";
    const Outcome outcome = RunWith(wrong.arguments);
    EXPECT_EQ(outcome.exit_code, wrong.exit_code) << line << outcome.err;
    EXPECT_TRUE(outcome.err_has(wrong.message)) << line << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
  }
}

}  // namespace
}  // namespace sextant::cli
