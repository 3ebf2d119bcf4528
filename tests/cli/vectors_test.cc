// sextant vectors: a throwaway port written here makes one mistake of each kind, and check names
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "sextant/core/half.h"
#include "sextant/formats/file.h"
#include "sextant/formats/npz.h"
#include "tests/cli/run_program.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

class VectorsCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("sextant-vectors-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static Json Vectors(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "vectors");
    arguments.emplace_back("--json");
    const Outcome outcome = RunWith(arguments);
    EXPECT_EQ(outcome.exit_code, kFine) << outcome.err;
    return Json::parse(outcome.out);
  }
  // The findings on a port's file, and the exit code.
  std::pair<Json, int> Check(const Json& port) const {
    std::ofstream(Path("port.json")) << port.dump();
    const Outcome outcome = RunWith({"vectors", "check", Path("port.json"), "--json"});
    EXPECT_NE(outcome.exit_code, kUnreadable) << outcome.err;
    return {Json::parse(outcome.out), outcome.exit_code};
  }
  static Json Finding(const Json& findings, const std::string& array) {
    for (const Json& finding : findings) {
      if (finding["array"] == array) return finding;
    }
    return nullptr;
  }

  std::filesystem::path folder_;
};

// A port of RoPE in halves: what it uses instead of the right thing is what it is called with.
struct Port {
  double base = 1e4;
  double sign = 1;
  double factor = 1;
  double shift = 0;
  bool adjacent = false;
  bool bf16_positions = false;

  std::vector<double> Rotate(const std::vector<double>& x, double position) const {
    std::vector<double> y = x;
    const std::size_t half = x.size() / 2;
    if (bf16_positions) position = RoundToBf16(position);
    for (std::size_t i = 0; i < half; ++i) {
      const double angle =
          sign * (position + shift) * std::exp(-std::log(base) * double(i) / double(half));
      const std::size_t a = adjacent ? 2 * i : i, b = adjacent ? 2 * i + 1 : i + half;
      y[a] = factor * (x[a] * std::cos(angle) - x[b] * std::sin(angle));
      y[b] = factor * (x[a] * std::sin(angle) + x[b] * std::cos(angle));
    }
    return y;
  }
};

Json Rotated(const Json& inputs, const Json& positions, const Port& port,
             double (*round)(double) = nullptr) {
  Json heads = Json::array();
  for (const Json& head : inputs) {
    Json rows = Json::array();
    for (std::size_t n = 0; n < head.size(); ++n) {
      std::vector<double> y =
          port.Rotate(head[n].get<std::vector<double>>(), positions[n].get<double>());
      if (round != nullptr) {
        for (double& value : y) value = round(value);
      }
      rows.push_back(y);
    }
    heads.push_back(rows);
  }
  return heads;
}

Json ScoresOf(const Json& query, const Json& key) {
  Json scores = Json::array();
  for (std::size_t h = 0; h < query.size(); ++h) {
    Json rows = Json::array();
    for (std::size_t i = 0; i < query[h].size(); ++i) {
      Json row = Json::array();
      for (std::size_t j = 0; j < key[h].size(); ++j) {
        double dot = 0;
        for (std::size_t c = 0; c < query[h][i].size(); ++c) {
          dot += query[h][i][c].get<double>() * key[h][j][c].get<double>();
        }
        row.push_back(j <= i ? Json(dot / std::sqrt(double(query[h][i].size()))) : Json(nullptr));
      }
      rows.push_back(row);
    }
    scores.push_back(rows);
  }
  return scores;
}

// The file a port would write: its own numbers, and what says how they were made.
Json PortOf(const Json& right, const Port& of_queries, const Port& of_keys) {
  Json port;
  for (const char* kept : {"spec", "positions", "heads", "head_dim", "model_dim", "context",
                           "length", "seed", "mask", "inputs"}) {
    port[kept] = right[kept];
  }
  const Json &inputs = right["inputs"], &positions = right["positions"];
  port["encoded"]["query"] = Rotated(inputs["query"], positions, of_queries);
  port["encoded"]["key"] = Rotated(inputs["key"], positions, of_keys);
  port["scores"] = ScoresOf(port["encoded"]["query"], port["encoded"]["key"]);
  return port;
}

TEST_F(VectorsCommand, ARightPortIsFoundRight) {
  const auto [findings, exit_code] = Check(PortOf(Vectors({"rope"}), {}, {}));
  EXPECT_EQ(exit_code, kFine);
  EXPECT_EQ(findings.size(), 3u);
  for (const Json& finding : findings) EXPECT_EQ(finding["verdict"], "ok") << finding;
}

TEST_F(VectorsCommand, EachMistakeOfARotaryPortIsNamed) {
  struct {
    Port port;
    const char* kind;
    const char* explanation;
    bool scores_show_it;  // scores depend on differences of positions alone
  } const cases[] = {
      {{.adjacent = true}, "other pairing", "pairing=adjacent", true},
      {{.sign = -1}, "sign", "negated", true},
      {{.shift = 1}, "shifted by one", "1 added to every position", false},
      {{.shift = -1}, "shifted by one", "-1 added to every position", false},
      {{.base = 500000}, "other base", "base=500000", true},
      {{.factor = 1.138629}, "missing factor", "1.13863 times", true},
      {{.bf16_positions = true}, "precision", "positions rounded to bf16", true},
  };
  const Json right = Vectors({"rope"});
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.explanation);
    const auto [findings, exit_code] = Check(PortOf(right, wrong.port, wrong.port));
    EXPECT_EQ(exit_code, kFindings);
    const Json encoded = Finding(findings, "encoded.query");
    EXPECT_EQ(encoded["verdict"], "WRONG");
    EXPECT_EQ(encoded["kind"], wrong.kind);
    EXPECT_THAT(encoded["explanation"].get<std::string>(), HasSubstr(wrong.explanation));
    const Json scores = Finding(findings, "scores");
    EXPECT_EQ(scores["verdict"], wrong.scores_show_it ? "WRONG" : "ok") << scores;
    if (wrong.scores_show_it) {
      EXPECT_EQ(scores["kind"], wrong.kind);
    }
  }
}

TEST_F(VectorsCommand, KeysCountedFromOneAreFoundInTheScores) {
  const auto [findings, exit_code] = Check(PortOf(Vectors({"rope"}), {}, {.shift = 1}));
  EXPECT_EQ(Finding(findings, "encoded.query")["verdict"], "ok");
  EXPECT_EQ(Finding(findings, "encoded.key")["kind"], "shifted by one");
  const Json scores = Finding(findings, "scores");
  EXPECT_EQ(scores["kind"], "shifted by one");
  EXPECT_THAT(scores["explanation"].get<std::string>(), HasSubstr("alone"));
}

TEST_F(VectorsCommand, OutputsLeftDeinterleavedAndMixedTablesAreNamed) {
  const Json adjacent = Vectors({"rope:pairing=adjacent"});
  Json port = PortOf(adjacent, {.adjacent = true}, {.adjacent = true});
  for (Json& head : port["encoded"]["query"]) {
    for (Json& row : head) {
      const std::vector<double> y = row;
      std::vector<double> split;
      for (std::size_t c = 0; c < y.size(); c += 2) split.push_back(y[c]);
      for (std::size_t c = 1; c < y.size(); c += 2) split.push_back(y[c]);
      row = split;
    }
  }
  const Json order = Finding(Check(port).first, "encoded.query");
  EXPECT_EQ(order["kind"], "other order of the output");

  const Json halves = Vectors({"rope"});
  Json mixed = PortOf(halves, {}, {});
  for (std::size_t h = 0; h < mixed["encoded"]["query"].size(); ++h) {
    for (std::size_t n = 0; n < mixed["encoded"]["query"][h].size(); ++n) {
      const std::vector<double> x = halves["inputs"]["query"][h][n];
      std::vector<double> y(x.size());
      for (std::size_t c = 0; c < x.size(); ++c) {
        const double angle = halves["positions"][n].get<double>() *
                             std::pow(1e4, -2.0 * double(c / 2) / double(x.size()));
        const double other = c < x.size() / 2 ? -x[c + x.size() / 2] : x[c - x.size() / 2];
        y[c] = x[c] * std::cos(angle) + other * std::sin(angle);
      }
      mixed["encoded"]["query"][h][n] = y;
    }
  }
  EXPECT_EQ(Finding(Check(mixed).first, "encoded.query")["kind"], "no rotation");
}

TEST_F(VectorsCommand, RoundingAloneIsNoFinding) {
  const Json right = Vectors({"rope", "--positions", "0..7"});
  Json port = PortOf(right, {}, {});
  port["encoded"]["query"] = Rotated(right["inputs"]["query"], right["positions"], {}, RoundToBf16);
  port["encoded"]["key"] = Rotated(right["inputs"]["key"], right["positions"], {}, RoundToF32);
  const auto [findings, exit_code] = Check(port);
  EXPECT_EQ(exit_code, kFine);
  EXPECT_THAT(Finding(findings, "encoded.query")["explanation"].get<std::string>(),
              HasSubstr("bf16"));
  EXPECT_THAT(Finding(findings, "encoded.key")["explanation"].get<std::string>(), HasSubstr("f32"));
}

TEST_F(VectorsCommand, ABiasKeptByKeyPositionIsHarmlessAndWrongSlopesAreNot) {
  const Json right = Vectors({"alibi:heads=6"});
  Json port = right;
  for (std::size_t h = 0; h < 6; ++h) {
    for (std::size_t i = 0; i < port["scores"][h].size(); ++i) {
      for (Json& score : port["scores"][h][i]) {
        if (!score.is_null()) score = score.get<double>() + 3.25 * double(i + h);
      }
    }
  }
  auto [findings, exit_code] = Check(port);
  EXPECT_EQ(exit_code, kFine);
  EXPECT_EQ(Finding(findings, "scores")["verdict"], "harmless");

  port = right;
  for (Json& head : port["tables"]["bias"]) {
    for (Json& value : head) value = -value.get<double>();
  }
  EXPECT_EQ(Finding(Check(port).first, "tables.bias")["kind"], "sign");
}

TEST_F(VectorsCommand, NumbersOfAnotherThingAreNotExplainedAway) {
  Json port = Vectors({"rope"});
  for (Json& head : port["encoded"]["query"]) {
    for (Json& row : head) row = std::vector<double>(row.size(), 0.25);
  }
  const auto [findings, exit_code] = Check(port);
  EXPECT_EQ(exit_code, kFindings);
  EXPECT_EQ(Finding(findings, "encoded.query")["verdict"], "DIFFERS");
}

TEST_F(VectorsCommand, AnNpzIsCheckedAgainstTheJsonItWasMadeFrom) {
  const Json right = Vectors({"rope"});
  std::ofstream(Path("right.json")) << right.dump();
  const Outcome wrote = RunWith({"vectors", "rope", "--npz", Path("port.npz")});
  EXPECT_EQ(wrote.exit_code, kFine) << wrote.err;
  EXPECT_GT(ReadNpz(ReadFile(Path("port.npz"), 1 << 24), "port").size(), 6u);
  const Outcome outcome =
      RunWith({"vectors", "check", Path("port.npz"), "--against", Path("right.json")});
  EXPECT_EQ(outcome.exit_code, kFine) << outcome.err << outcome.out;
  EXPECT_THAT(RunWith({"vectors", "check", Path("port.npz")}).err, HasSubstr("--against"));
}

TEST_F(VectorsCommand, DtypeRoundsInputsFirstAndResultsOnce) {
  const Json bf16 = Vectors({"rope", "--dtype", "bf16", "--positions", "0,1,5"});
  for (const Json& row : bf16["inputs"]["query"][0]) {
    for (const Json& value : row) {
      EXPECT_EQ(value.get<double>(), RoundToBf16(value.get<double>()));
    }
  }
  const std::vector<double> x = bf16["inputs"]["query"][0][2];
  const std::vector<double> y = Port{}.Rotate(x, 5);
  for (std::size_t c = 0; c < y.size(); ++c) {
    EXPECT_EQ(bf16["encoded"]["query"][0][2][c].get<double>(), RoundToBf16(y[c])) << c;
  }
}

TEST_F(VectorsCommand, RefusesWhatItCannotUse) {
  EXPECT_THAT(RunWith({"vectors"}).err, HasSubstr("needs a scheme"));
  EXPECT_EQ(RunWith({"vectors", "check", Path("nothing.json")}).exit_code, kUnreadable);
  std::ofstream(Path("empty.json")) << "{}";
  EXPECT_THAT(RunWith({"vectors", "check", Path("empty.json")}).err, HasSubstr("\"spec\""));
  Json port = Vectors({"rope"});
  port["scores"] = Json::parse("[[1, 2], [3]]");
  std::ofstream(Path("ragged.json")) << port.dump();
  EXPECT_THAT(RunWith({"vectors", "check", Path("ragged.json")}).err, HasSubstr("ragged"));
  port["scores"] = Json::parse("[[1, 2], [3, 4]]");
  std::ofstream(Path("shape.json")) << port.dump();
  EXPECT_THAT(RunWith({"vectors", "check", Path("shape.json")}).err, HasSubstr("shape"));
  EXPECT_EQ(RunWith({"vectors", "rope", "--dtype", "f8"}).exit_code, kUsage);
  EXPECT_THAT(RunWith({"vectors", "rope", "--positions", "1,2;3"}).err, HasSubstr("every axis"));
  EXPECT_THAT(RunWith({"vectors", "rope", "--inputs", Path("ragged.json")}).err,
              HasSubstr("ragged"));
}

// What a file of unknown origin may ask for is weighed before it is allocated.
TEST_F(VectorsCommand, FilesThatAskForTooMuchAreRefused) {
  const Json right = Vectors({"rope"});
  const auto refusal = [&](const char* name, const Json& value) {
    Json port = right;
    port.erase("inputs");
    port[name] = value;
    std::ofstream(Path("large.json")) << port.dump();
    const Outcome outcome = RunWith({"vectors", "check", Path("large.json")});
    EXPECT_TRUE(outcome.exit_code == kUsage || outcome.exit_code == kUnreadable) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refusal("heads", 16777216), HasSubstr("at most 67108864"));
  EXPECT_THAT(refusal("head_dim", 16777216), HasSubstr("at most 67108864"));
  EXPECT_THAT(refusal("heads", 0), HasSubstr("from 1 to 2^24"));
  EXPECT_THAT(refusal("heads", "two"), HasSubstr("from 1 to 2^24"));
  EXPECT_THAT(refusal("positions", Json::parse("[1.5]")), HasSubstr("whole numbers"));
  EXPECT_THAT(refusal("positions", Json::parse("[]")), HasSubstr("whole numbers"));
  EXPECT_THAT(refusal("length", "long"), HasSubstr("length must be"));
  EXPECT_THAT(refusal("spec", Json::parse("{\"scheme\":\"ropee\"}")), HasSubstr("did you mean"));
  EXPECT_THAT(refusal("scores", 7), HasSubstr("scores must be a list"));
  EXPECT_THAT(refusal("tables", 7), HasSubstr("tables must be an object"));
  EXPECT_THAT(refusal("scores", Json::parse("[[[[[[[1]]]]]]]")), HasSubstr("deeper than 6"));
}

}  // namespace
}  // namespace sextant::cli
