// The summary of a small document whose numbers can be worked out by hand.
#include "lab/report/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/report/example_results.h"
#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTwoDegrees = 4.302652729911275;  // Student's t, 95 % two-sided
constexpr double kOneDegree = 12.706204736432095;

Json Evaluated(double loss, double far_loss) {
  return {{{"protocol", "non-overlapping"},
           {"length", 8},
           {"multiple", 1},
           {"loss", loss},
           {"bits_per_byte", loss / 2},
           {"tokens", 100}},
          {{"protocol", "non-overlapping"}, {"length", 16}, {"multiple", 2}, {"loss", far_loss}}};
}

Json FinishedCell(int seed, double loss, double far_loss) {
  return {{"seed", seed},
          {"state", "finished"},
          {"parameters", 1000},
          {"tokens_per_second", 100.0 * seed},
          {"curve",
           {{{"step", 0}, {"tokens", 0}, {"held_out_loss", 6}},
            {{"step", 10}, {"tokens", 80}, {"train_loss", loss}, {"held_out_loss", loss}}}},
          {"evaluation", Evaluated(loss, far_loss)},
          {"by_position",
           {{{"from", 0}, {"to", 1}, {"loss", loss + 1}},
            {{"from", 1}, {"to", 2}, {"loss", loss - 1}}}},
          {"position_to_token_norm", {{"before", 0.5}, {"after", 0.25}}}};
}

// a is the baseline with losses 3, 3.1, 3.2; b has 2.9 and 2.8 and a cell that failed.
Json SmallResults() {
  Json a = {{"scheme", "a"},
            {"cells", {FinishedCell(1, 3, 4), FinishedCell(2, 3.1, 4), FinishedCell(3, 3.2, 4)}}};
  Json failed = {{"seed", 3},
                 {"state", "failed"},
                 {"reason", "loss is not finite"},
                 {"evaluation", Evaluated(99, 99)}};
  Json b = {{"scheme", "b"},
            {"cells", {FinishedCell(1, 2.9, 2.8), failed, FinishedCell(2, 2.8, 2.7)}}};
  Json c = {{"scheme", "c"}, {"cells", {{{"seed", 1}, {"state", "unfinished"}}}}};
  return {{"format", "sextant-compare/1"},
          {"baseline", "a"},
          {"settings", {{"context", 8}}},
          {"schemes", {c, a, b}}};
}

const Json& SchemeNamed(const Json& summary, const std::string& name) {
  for (const Json& scheme : summary["schemes"]) {
    if (scheme["scheme"] == name) return scheme;
  }
  throw Error("test", "no scheme " + name);
}

void ExpectEstimate(const Json& estimate, double mean, double half, int seeds) {
  EXPECT_NEAR(estimate["mean"].get<double>(), mean, 1e-12);
  EXPECT_NEAR(estimate["low"].get<double>(), mean - half, 1e-9);
  EXPECT_NEAR(estimate["high"].get<double>(), mean + half, 1e-9);
  EXPECT_EQ(estimate["seeds"].get<int>(), seeds);
}

TEST(Summarize, TakesMeansAndIntervalsOverFinishedSeeds) {
  const Json summary = Summarize(SmallResults());
  const Json& a = SchemeNamed(summary, "a");
  // s = 0.1, so the half width is t / sqrt(3) * 0.1.
  ExpectEstimate(a["loss"], 3.1, kTwoDegrees * 0.1 / std::sqrt(3.0), 3);
  ExpectEstimate(a["bits_per_byte"], 1.55, kTwoDegrees * 0.05 / std::sqrt(3.0), 3);
  EXPECT_EQ(a["loss"]["least"].get<double>(), 3);
  EXPECT_EQ(a["loss"]["greatest"].get<double>(), 3.2);
  EXPECT_EQ(a["seeds"], Json({1, 2, 3}));
  EXPECT_EQ(a["parameters"], 1000);
  EXPECT_EQ(a["tokens_per_second"]["mean"].get<double>(), 200);
  EXPECT_EQ(a["position_to_token_norm"]["after"]["mean"].get<double>(), 0.25);
}

TEST(Summarize, PairsDifferencesBySeed) {
  const Json summary = Summarize(SmallResults());
  // Seed 1: 2.9 - 3 = -0.1; seed 2: 2.8 - 3.1 = -0.3. s = 0.2 / sqrt(2), half width t * 0.1.
  const Json& b = SchemeNamed(summary, "b");
  ExpectEstimate(b["difference"], -0.2, kOneDegree * 0.1, 2);
  ExpectEstimate(b["by_position"][1]["difference"], -0.2, kOneDegree * 0.1, 2);
  ExpectEstimate(b["curve"][1]["difference"], -0.2, kOneDegree * 0.1, 2);
  ExpectEstimate(SchemeNamed(summary, "a")["difference"], 0, 0, 3);
}

TEST(Summarize, GrowsFromTheTrainingLength) {
  const Json summary = Summarize(SmallResults());
  const Json& lengths = SchemeNamed(summary, "a")["lengths"];
  ASSERT_EQ(lengths.size(), 2u);
  EXPECT_EQ(lengths[1]["multiple"].get<double>(), 2);
  EXPECT_EQ(lengths[1]["length"], 16);
  // 4 - 3, 4 - 3.1, 4 - 3.2
  ExpectEstimate(lengths[1]["growth"], 0.9, kTwoDegrees * 0.1 / std::sqrt(3.0), 3);
}

TEST(Summarize, LeavesOutAndCountsWhatDidNotFinish) {
  const Json summary = Summarize(SmallResults());
  EXPECT_EQ(summary["finished"], 5);
  EXPECT_EQ(summary["unfinished"], 1);
  EXPECT_EQ(summary["failed"], 1);
  const Json& b = SchemeNamed(summary, "b");
  EXPECT_EQ(b["failed"], 1);
  EXPECT_DOUBLE_EQ(b["loss"]["mean"].get<double>(), 2.85);
  const Json& c = SchemeNamed(summary, "c");
  EXPECT_EQ(c["unfinished"], 1);
  EXPECT_TRUE(c["loss"].is_null());
  EXPECT_TRUE(c["lengths"].empty());
}

TEST(Summarize, NamesTheBestAndThoseNotToldApart) {
  Json results = SmallResults();
  EXPECT_EQ(Summarize(results)["best"], "b");
  EXPECT_EQ(Summarize(results)["level_with_best"], Json({"a"}));  // 0.2 +- 1.27 holds 0
  results["schemes"][2]["cells"][2] = FinishedCell(2, 2.999, 3);  // a - b: 0.1 and 0.101
  EXPECT_EQ(Summarize(results)["best"], "b");
  EXPECT_TRUE(Summarize(results)["level_with_best"].empty());
}

TEST(Summarize, GivesOneSeedNoInterval) {
  Json results = SmallResults();
  results["schemes"][1]["cells"] = Json::array({FinishedCell(1, 3, 4)});
  const Json summary = Summarize(results);
  const Json& a = SchemeNamed(summary, "a");
  EXPECT_EQ(a["loss"]["mean"].get<double>(), 3);
  EXPECT_TRUE(a["loss"]["low"].is_null());
  EXPECT_TRUE(a["loss"]["high"].is_null());
  EXPECT_EQ(a["loss"]["seeds"], 1);
}

TEST(Summarize, KeepsTheReasonWhereALengthCannotRun) {
  const Json summary = Summarize(ExampleResults(2));
  const Json& lengths = SchemeNamed(summary, "learned")["lengths"];
  ASSERT_EQ(lengths.size(), 8u);
  EXPECT_TRUE(lengths[0].contains("loss"));
  EXPECT_FALSE(lengths[1].contains("loss"));
  EXPECT_EQ(lengths[1]["cannot"], "learned: position 128 is outside the table of 128 positions");
}

TEST(Summarize, HasNoDifferencesWithoutABaseline) {
  Json results = SmallResults();
  results["baseline"] = "gone";
  const Json summary = Summarize(results);
  EXPECT_TRUE(SchemeNamed(summary, "b")["difference"].is_null());
  EXPECT_EQ(summary["best"], "b");
}

TEST(Summarize, IgnoresMalformedPartsAndRefusesOtherDocuments) {
  Json results = SmallResults();
  results["schemes"].push_back("no object");
  results["schemes"].push_back({{"scheme", "d"}, {"cells", {5, {{"state", "finished"}}}}});
  results["schemes"][1]["cells"][0]["evaluation"] = "text";
  results["schemes"][1]["cells"][1]["evaluation"][0]["loss"] = nullptr;
  results["schemes"][1]["cells"][2]["curve"] = {{{"step", "x"}}, 7};
  const Json summary = Summarize(results);
  EXPECT_EQ(SchemeNamed(summary, "a")["loss"]["seeds"], 1);
  EXPECT_TRUE(SchemeNamed(summary, "d")["loss"].is_null());
  EXPECT_THROW(Summarize(Json()), Error);
  EXPECT_THROW(Summarize(Json::array()), Error);
  EXPECT_THROW(Summarize({{"format", "sextant-compare/2"}}), Error);
}

TEST(Summarize, CanBeWrittenAsJsonAndReadBack) {
  const Json summary = Summarize(ExampleResults(3));
  EXPECT_EQ(Json::parse(summary.dump()), summary);
}

}  // namespace
}  // namespace sextant::lab
