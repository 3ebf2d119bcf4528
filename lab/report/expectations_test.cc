// Verdicts from intervals, and the conclusion that never says more than they do.
#include "lab/report/expectations.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/report/conclusion.h"
#include "lab/report/example_results.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Expectation> Check(const Json& document) {
  const Results results = ReadResults(document);
  return CheckExpectations(results, MakeSummary(results));
}

std::string Conclusion(const Json& document) {
  return Conclude(MakeSummary(ReadResults(document)));
}

const Expectation* Find(const std::vector<Expectation>& list, const std::string& words) {
  for (const Expectation& expectation : list) {
    if (expectation.statement.find(words) != std::string::npos) return &expectation;
  }
  return nullptr;
}

Verdict VerdictOn(const Json& document, const std::string& words) {
  const std::vector<Expectation> list = Check(document);
  const Expectation* found = Find(list, words);
  EXPECT_NE(found, nullptr) << words;
  return found ? found->verdict : Verdict::kNotMeasured;
}

Json& SchemeNamed(Json& document, const std::string& name) {
  for (Json& scheme : document["schemes"]) {
    if (scheme["scheme"] == name) return scheme;
  }
  return document["schemes"][0];
}

// Adds to the loss of a scheme at a multiple of the training length, in every seed.
void Shift(Json& document, const std::string& scheme, int multiple, double by) {
  for (Json& cell : SchemeNamed(document, scheme)["cells"]) {
    for (Json& row : cell["evaluation"]) {
      if (row["multiple"] == multiple) row["loss"] = row["loss"].get<double>() + by;
    }
  }
}

Estimate Interval(double low, double high) {
  return {.mean = (low + high) / 2, .low = low, .high = high, .count = 3};
}

TEST(Verdict, NeedsTheWholeIntervalOnOneSide) {
  EXPECT_EQ(Below(Interval(-2, -1), 0), Verdict::kAgrees);
  EXPECT_EQ(Below(Interval(-2, 1), 0), Verdict::kInconclusive);
  EXPECT_EQ(Below(Interval(1, 2), 0), Verdict::kContradicts);
  EXPECT_EQ(Above(Interval(1, 2), 0), Verdict::kAgrees);
  EXPECT_EQ(Above(Interval(-1, 2), 0), Verdict::kInconclusive);
  EXPECT_EQ(Above(Interval(-2, -1), 0), Verdict::kContradicts);
  EXPECT_EQ(Below(std::nullopt, 0), Verdict::kNotMeasured);
  EXPECT_EQ(Below(Estimate{.mean = -9, .count = 1}, 0), Verdict::kInconclusive);
}

TEST(Expectations, AgreeWithTheExample) {
  const std::vector<Expectation> list = Check(ExampleResults(3));
  EXPECT_EQ(list.size(), 10u);
  for (const Expectation& expectation : list) {
    EXPECT_EQ(expectation.verdict, Verdict::kAgrees) << expectation.statement;
    EXPECT_FALSE(expectation.evidence.empty());
  }
}

TEST(Expectations, AreContradictedByNumbers) {
  Json document = ExampleResults(3);
  Shift(document, "alibi", 8, 2);
  Shift(document, "rope", 8, -1.3);
  Shift(document, "sinusoidal", 8, -3.1);
  Shift(document, "t5", 1, 0.5);
  SchemeNamed(document, "none")["probe"]["range"] = 0.5;
  SchemeNamed(document, "rope")["probe"]["relative"] = false;
  SchemeNamed(document, "sinusoidal")["probe"]["anchor_spread"] = 0.01;
  for (const char* words :
       {"stay flat", "RoPE without", "rows collapse", "is lower with", "is small",
        "sinusoidal is worse", "Without positions", "RoPE's score", "Sinusoidal scores"}) {
    EXPECT_EQ(VerdictOn(document, words), Verdict::kContradicts) << words;
  }
}

TEST(Expectations, NoticeATableThatRunsPastItsEnd) {
  Json document = ExampleResults(3);
  for (Json& cell : SchemeNamed(document, "learned")["cells"]) {
    cell["evaluation"][1].erase("cannot");
    cell["evaluation"][1]["loss"] = 2.7;
  }
  EXPECT_EQ(VerdictOn(document, "table of learned"), Verdict::kContradicts);
}

TEST(Expectations, DecideNothingAboutLossesByOneSeed) {
  const Json document = ExampleResults(1);
  for (const char* words : {"stay flat", "RoPE without", "rows collapse", "is lower with"}) {
    EXPECT_EQ(VerdictOn(document, words), Verdict::kInconclusive) << words;
  }
  EXPECT_EQ(VerdictOn(document, "table of learned"), Verdict::kAgrees);
  EXPECT_EQ(VerdictOn(document, "RoPE's score"), Verdict::kAgrees);
}

TEST(Expectations, AreAboutSchemesThatArePresentAndPlain) {
  Json document = ExampleResults(3);
  Json& schemes = document["schemes"];
  for (std::size_t at = schemes.size(); at-- > 0;) {
    if (schemes[at]["scheme"] != "rope" && schemes[at]["scheme"] != "none") schemes.erase(at);
  }
  SchemeNamed(document, "rope")["spec"]["frequencies"]["rule"] = "yarn";
  const std::vector<Expectation> list = Check(document);
  EXPECT_EQ(Find(list, "stay flat"), nullptr);
  EXPECT_EQ(Find(list, "table of learned"), nullptr);
  EXPECT_EQ(Find(list, "RoPE without"), nullptr);
  EXPECT_NE(Find(list, "is lower with"), nullptr);
}

TEST(Expectations, SayWhenTheLongestLengthIsTooShort) {
  Json document = ExampleResults(3);
  for (Json& scheme : document["schemes"]) {
    for (Json& cell : scheme["cells"]) {
      Json near = Json::array();
      for (const Json& row : cell["evaluation"]) {
        if (row["multiple"] <= 2) near.push_back(row);
      }
      cell["evaluation"] = near;
    }
  }
  EXPECT_EQ(VerdictOn(document, "rows collapse"), Verdict::kNotMeasured);
}

TEST(Conclusion, NamesThoseThatAreNotToldApart) {
  const std::string text = Conclusion(ExampleResults(3));
  EXPECT_TRUE(text.starts_with("Lowest held-out loss at the training length: rope+alibi 2.5"))
      << text;
  EXPECT_NE(text.find("not told apart from"), std::string::npos) << text;
  EXPECT_NE(text.find("grows by less than 0.1 for shaw, t5, alibi and rope+alibi"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("sinusoidal (+3."), std::string::npos) << text;
  EXPECT_NE(text.find("learned and sinusoidal+learned cannot run at 8\u00d7"), std::string::npos)
      << text;
}

TEST(Conclusion, ClaimsAWinnerOnlyWhereEveryPairSaysSo) {
  Json document = ExampleResults(3);
  Shift(document, "t5", 1, -0.5);
  EXPECT_NE(Conclusion(document).find("t5 2.08"), std::string::npos) << Conclusion(document);
  EXPECT_NE(Conclusion(document).find("lower than every other scheme"), std::string::npos);
}

TEST(Conclusion, RanksNothingByOneSeed) {
  const std::string text = Conclusion(ExampleResults(1));
  EXPECT_NE(text.find("gives no ranking"), std::string::npos) << text;
  EXPECT_NE(text.find("undecided throughout"), std::string::npos) << text;
  EXPECT_EQ(text.find("\u00b1"), std::string::npos) << text;
  EXPECT_EQ(text.find("lower than"), std::string::npos) << text;
}

TEST(Conclusion, SaysSoWhereNothingFinished) {
  Json document = ExampleResults(2);
  for (Json& scheme : document["schemes"]) {
    for (Json& cell : scheme["cells"]) cell["state"] = "unfinished";
  }
  EXPECT_EQ(Conclusion(document),
            "No run has finished yet (20 unfinished, 0 failed), so there is nothing to compare.");
  document["schemes"] = Json::array();
  EXPECT_EQ(Conclusion(document), "There are no runs to compare.");
}

}  // namespace
}  // namespace sextant::lab
