// sextant table: numbers, JSON, files, and every way to ask wrongly.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "sextant/formats/file.h"
#include "sextant/formats/npy.h"
#include "tests/cli/run_program.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

class TableCommand : public testing::Test {
 protected:
  TableCommand()
      : folder_(std::filesystem::temp_directory_path() /
                ("sextant-table-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~TableCommand() override { std::filesystem::remove_all(folder_); }

  std::string Path(const char* name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

TEST_F(TableCommand, PrintsTheLecturesRow) {
  const Outcome row = RunWith({"table", "sinusoidal:model_dim=8", "--positions", "2"});
  EXPECT_EQ(row.exit_code, kFine);
  EXPECT_TRUE(row.out_has("\n2  0.9093 -0.4161 0.1987 0.9801 0.0200 0.9998 0.0020 1.0000\n"))
      << row.out;
  EXPECT_EQ(
      RunWith({"table", "sinusoidal", "--model-dim", "8", "--positions", "2..2"}).out.substr(10),
      RunWith({"table", "sinusoidal", "--model-dim", "8", "--positions", "2"}).out.substr(10));
}

TEST_F(TableCommand, LargeTablesAreAHeatMapAndPlainNumbers) {
  const Outcome map = RunWith({"table", "sinusoidal"});
  EXPECT_TRUE(map.out_has("-1 [")) << map.out;
  EXPECT_FALSE(map.out_has("0.8415"));
  EXPECT_EQ(map.out.find('\x1b'), std::string::npos);
  const Outcome plain = RunWith({"table", "sinusoidal", "--plain"});
  EXPECT_TRUE(plain.out_has("0.8415"));
  EXPECT_TRUE(plain.out_has("\n31 "));
  EXPECT_FALSE(plain.out_has("\n32 "));
  EXPECT_TRUE(map.out_has("0: 6.283  8: 62.83  16: 628.3")) << map.out;
}

TEST_F(TableCommand, AdditiveJson) {
  const Json json =
      RunWith({"table", "sinusoidal:model_dim=8", "--positions", "2,0", "--json"}).json();
  EXPECT_EQ(json["scheme"]["scheme"], "sinusoidal");
  EXPECT_EQ(json["scheme"]["base"], 10000);
  EXPECT_EQ(json["positions"], Json({2, 0}));
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0][0].get<double>(), std::sin(2.0));
  EXPECT_EQ(json["rows"][1], Json({0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0}));
  EXPECT_FALSE(json.contains("distances"));
}

TEST_F(TableCommand, RotaryJson) {
  const Json json = RunWith({"table", "rope:rotated_dims=4,pairing=adjacent", "--head-dim", "8",
                             "--positions", "0..3", "--json"})
                        .json();
  EXPECT_EQ(json["scheme"]["rotated_dims"], 4);
  EXPECT_EQ(json["positions"], Json({0, 1, 2, 3}));
  EXPECT_EQ(json["cos"][3].size(), 2u);
  EXPECT_NEAR(json["sin"][3][1], std::sin(0.03), 1e-15);
  EXPECT_EQ(json["pair_channels"], Json::parse("[[0,1],[2,3]]"));
  EXPECT_EQ(json["rotated_dims"], 4);
  EXPECT_EQ(json["softmax_multiplier"], 1);
  EXPECT_NEAR(json["inv_freq"][1], 0.01, 1e-17);
  EXPECT_FALSE(json.contains("key_cos"));
}

TEST_F(TableCommand, AlibiJsonHasSlopes) {
  const Json six = RunWith({"table", "alibi:heads=6", "--json", "--distances", "-2..2"}).json();
  EXPECT_EQ(six["slopes"], Json({.25, .0625, .015625, .00390625, .5, .125}));
  EXPECT_EQ(six["distances"], Json({-2, -1, 0, 1, 2}));
  EXPECT_EQ(six["bias"].size(), 6u);
  EXPECT_EQ(six["bias"][4], Json({-1.0, -.5, -0.0, -.5, -1.0}));
  EXPECT_FALSE(six.contains("buckets"));
  const Json twelve = RunWith({"table", "alibi", "--heads", "12", "--json"}).json();
  ASSERT_EQ(twelve["slopes"].size(), 12u);
  EXPECT_NEAR(twelve["slopes"][8], .707107, 5e-7);
  EXPECT_NEAR(twelve["slopes"][11], .088388, 5e-7);
  EXPECT_EQ(twelve["distances"].size(), 65u);
  EXPECT_TRUE(RunWith({"table", "alibi"}).out_has("   0         0.5\n"));
}

// Seed documents: n: 0..7 alone, 8-11 8, 12-15 9, 16-22 10, 23-31 11, 32-45 12, 46-63 13, 64-90 14,
// from 91 15; keys after the query 16 more.
TEST_F(TableCommand, T5JsonHasBuckets) {
  const Json json =
      RunWith({"table", "t5:direction=bidirectional", "--distances", "-130..130", "--json"}).json();
  ASSERT_EQ(json["buckets"].size(), 261u);
  constexpr std::pair<int, int> kExpected[] = {
      {-130, 15}, {-91, 15}, {-90, 14}, {-64, 14}, {-63, 13}, {-46, 13}, {-45, 12}, {-32, 12},
      {-31, 11},  {-23, 11}, {-22, 10}, {-16, 10}, {-15, 9},  {-12, 9},  {-11, 8},  {-8, 8},
      {-7, 7},    {-1, 1},   {0, 0},    {1, 17},   {3, 19},   {8, 24},   {91, 31},  {130, 31}};
  for (const auto& [distance, bucket] : kExpected) {
    EXPECT_EQ(json["buckets"][std::size_t(distance + 130)], bucket) << distance;
  }
  EXPECT_FALSE(json.contains("slopes"));
  const Outcome text = RunWith({"table", "t5:direction=bidirectional", "--distances", "-130..130"});
  EXPECT_TRUE(text.out_has("-130..-91      15\n")) << text.out;
  EXPECT_TRUE(text.out_has("  91..130      31\n")) << text.out;
  EXPECT_TRUE(text.out_has("initial values, drawn from seed 1"));
}

TEST_F(TableCommand, VectorsJson) {
  const Json shaw =
      RunWith({"table", "shaw:clip=2", "--head-dim", "4", "--distances", "-3..3", "--json"}).json();
  EXPECT_EQ(shaw["row"], Json({0, 0, 1, 2, 3, 4, 4}));
  EXPECT_EQ(shaw["key"][0].size(), 5u);
  EXPECT_EQ(shaw["value"][0][4].size(), 4u);
  const Json txl = RunWith({"table", "transformer-xl", "--distances", "0", "--json"}).json();
  EXPECT_EQ(txl["content_bias"].size(), 1u);
  EXPECT_EQ(txl["position_bias"][0].size(), 64u);
  EXPECT_EQ(RunWith({"table", "none", "--json"}).json(), Json({{"scheme", {{"scheme", "none"}}}}));
  EXPECT_TRUE(RunWith({"table", "none"}).out_has("no tables"));
}

TEST_F(TableCommand, SeedsDrawTheWeights) {
  const auto rows = [](const char* seed) {
    return RunWith({"table", "learned", "--seed", seed, "--json"}).json()["rows"];
  };
  EXPECT_EQ(rows("1"), rows("1"));
  EXPECT_NE(rows("1"), rows("2"));
}

TEST_F(TableCommand, WritesCsv) {
  const Outcome out =
      RunWith({"table", "rope:rotated_dims=4", "--positions", "0..1", "--csv", "-"});
  EXPECT_EQ(out.exit_code, kFine);
  EXPECT_EQ(out.out.substr(0, out.out.find("\n1,")), "position,cos0,cos1,sin0,sin1\n0,1,1,0,0");
  const Outcome file = RunWith({"table", "t5", "--distances", "-1..0", "--csv", Path("t5.csv")});
  EXPECT_EQ(file.exit_code, kFine);
  EXPECT_EQ(file.out, "");
  EXPECT_TRUE(file.err_has("wrote "));
  const std::string csv = ReadFile(Path("t5.csv"), 1 << 20);
  EXPECT_TRUE(
      csv.starts_with("distance,bucket,head0,head1,head2,head3,head4,head5,head6,head7\n-1,1,"));
}

TEST_F(TableCommand, WritesNpyAndSvg) {
  const Outcome outcome = RunWith(
      {"table", "rope", "--positions", "5..6", "--npy", Path("a.npy"), "--svg", Path("a.svg")});
  EXPECT_EQ(outcome.exit_code, kFine);
  EXPECT_TRUE(outcome.err_has("cos and sin, position, pair [2, 2, 32]")) << outcome.err;
  const NpyArray array = ReadNpy(ReadFile(Path("a.npy"), 1 << 20), "a.npy");
  EXPECT_EQ(array.shape, (std::vector<Index>{2, 2, 32}));
  EXPECT_EQ(array.values[0], std::cos(5.0));
  EXPECT_EQ(array.values[96], std::sin(6.0));
  EXPECT_NE(ReadFile(Path("a.svg"), 1 << 20).find("<svg"), std::string::npos);
  for (const char* spec :
       {"sinusoidal", "alibi", "alibi:heads=20", "t5", "shaw", "transformer-xl"}) {
    EXPECT_EQ(RunWith({"table", spec, "--npy", Path("b.npy"), "--svg", Path("b.svg")}).exit_code,
              kFine)
        << spec;
  }
  const NpyArray vectors = [&] {
    RunWith({"table", "shaw", "--distances", "-1..1", "--npy", Path("c.npy")});
    return ReadNpy(ReadFile(Path("c.npy"), 1 << 20), "c.npy");
  }();
  EXPECT_EQ(vectors.shape, (std::vector<Index>{2, 1, 3, 64}));
}

TEST_F(TableCommand, SaysWhatAnOptionDidNotChange) {
  const Outcome outcome = RunWith({"table", "alibi", "--positions", "0..3"});
  EXPECT_EQ(outcome.exit_code, kFine);
  EXPECT_TRUE(outcome.err_has("note: alibi has no table by position")) << outcome.err;
  EXPECT_EQ(RunWith({"table", "alibi", "--distances", "0..3"}).err, "");
}

struct Wrong {
  std::vector<std::string> arguments;
  int exit_code;
  const char* message;
};

TEST_F(TableCommand, WrongInputsSayWhatToDo) {
  const Wrong wrongs[] = {
      {{"table"}, kUsage, "needs a scheme; for example: sextant table sinusoidal"},
      {{"table", "sinusodal"}, kUsage, "did you mean \"sinusoidal\"?"},
      {{"table", "rope:bsae=3"}, kUsage, "did you mean \"base\"?"},
      {{"table", "alibi:heads=0"}, kUsage, "heads must be a whole number from 1 to 4096, got 0"},
      {{"table", "alibi:heads=many"},
       kUsage,
       "heads must be a whole number from 1 to 4096, got \"many\""},
      {{"table", "rope:pairing=halvs"}, kUsage, "did you mean \"halves\"?"},
      {{"table", "rope", "--head-dim", "63"}, kUsage, "rotated_dims must be even"},
      {{"table", "rope", "--head-dim", "wide"}, kUsage, "--head-dim"},
      {{"table", "learned", "--positions", "1024"},
       kUsage,
       "position 1024 is outside the table of 1024"},
      {{"table", "learned", "--positions", "0..1024"}, kUsage, "position 1024"},
      {{"table", "learned", "--positions", "-1"}, kUsage, "position -1"},
      {{"table", "rope", "--positions", "4..1"},
       kUsage,
       "must not end before it starts, got \"4..1\""},
      {{"table", "rope", "--positions", "a"}, kUsage, "needs whole numbers, got \"a\""},
      {{"table", "rope", "--positions", "1,"}, kUsage, "needs whole numbers, got \"\""},
      {{"table", "rope", "--positions", "0..9999999"}, kUsage, "at most 1048576 numbers"},
      {{"table", "rope", "--positions", "99999999999999999999"}, kUsage, "needs whole numbers"},
      {{"table", "alibi", "--distances", "1,2"}, kUsage, "needs whole numbers, got \"1,2\""},
      {{"table", "alibi:heads=4096", "--distances", "0..999999"},
       kUsage,
       "ask for fewer positions"},
      {{"table", "learned:positions=16777216"}, kUsage, "trainable numbers"},
      {{"table", "rope+rope"}, kUsage, "cannot be combined"},
      {{"table", "rope+alibi", "--csv", "-"}, kUsage, "by position and by distance"},
      {{"table", "rope+alibi", "--svg", "/nowhere/a.svg"}, kUsage, "2 kinds of tables"},
      {{"table", "none", "--npy", "/nowhere/a.npy"}, kUsage, "0 kinds of tables"},
      {{"table", "none", "--csv", "-"}, kUsage, "fills no table"},
      {{"table", "rope", "--json", "--csv", "-"}, kUsage, "both write to standard output"},
      {{"table", "rope", "--position", "3"}, kUsage, "did you mean \"--positions\"?"},
      {{"table", "rope", "alibi"}, kUsage, "unexpected argument \"alibi\""},
      {{"table", "{\"scheme\":\"rope\""}, kUnreadable, "not valid JSON"},
      {{"table", "@/nowhere/missing.json"}, kUnreadable, "/nowhere/missing.json"},
      {{"table", "rope", "--svg", "/nowhere/a.svg"}, kUnreadable, "/nowhere/a.svg"},
      {{"table", "rope", "--npy", "/nowhere/a.npy"}, kUnreadable, "/nowhere/a.npy"},
      {{"table", "rope", "--csv", "/nowhere/a.csv"}, kUnreadable, "/nowhere/a.csv"},
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

TEST_F(TableCommand, ReadsSpecsFromJsonAndFiles) {
  WriteFile(Path("spec.json"), R"({"scheme":"alibi","heads":2})");
  const Json from_file = RunWith({"table", "@" + Path("spec.json"), "--json"}).json();
  EXPECT_EQ(from_file["slopes"].size(), 2u);
  EXPECT_EQ(RunWith({"table", R"({"scheme":"alibi","heads":2})", "--json"}).json(), from_file);
  EXPECT_TRUE(RunWith({"table", "@" + Path("spec.json")}).out_has("alibi:heads=2: bias"));
}

TEST_F(TableCommand, PositionsKeptInFewBitsFallTogether) {
  const auto note = [](const char* format, const char* positions) {
    return RunWith({"table", "rope:rotated_dims=2", "--position-format", format, "--positions",
                    positions, "--json"})
        .err;
  };
  EXPECT_NE(note("bf16", "0..4095").find("769 of 4096 positions are distinct; 256 and 257 are"),
            std::string::npos);
  EXPECT_NE(note("bf16", "0..8191").find("897 of 8192"), std::string::npos);
  EXPECT_NE(note("bf16", "0..131071").find("1409 of 131072"), std::string::npos);
  EXPECT_NE(note("f16", "0..4095").find("2048 and 2049 are"), std::string::npos);
  EXPECT_NE(note("f16", "131071").find("infinite in f16"), std::string::npos);
}

TEST_F(TableCommand, AgainstAnotherSchemeShowsHowFarApartVectorsAre) {
  const Json json =
      RunWith({"table", "rope:rotated_dims=128", "--against",
               "rope:rotated_dims=128,pairing=adjacent", "--positions", "0,1,5,100", "--json"})
          .json();
  const std::vector<double> cosines = json["expected_cosine"];
  EXPECT_NEAR(cosines[0], 1, 1e-12);
  EXPECT_NEAR(cosines[1], .946, 5e-4);
  EXPECT_NEAR(cosines[3], .194, 5e-4);
  EXPECT_EQ(RunWith({"table", "rope", "--against", "alibi"}).exit_code, kUsage);
}

}  // namespace
}  // namespace sextant::cli
