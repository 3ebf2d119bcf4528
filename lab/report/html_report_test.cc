// The page holds what it should, is well-formed, loads nothing and survives what is missing.
#include "lab/report/html_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lab/report/example_results.h"
#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What is wrong with the tags of the page: "" where every one closes as it opened.
std::string TagFault(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag does not end";
    const std::string tag = page.substr(at + 1, end - at - 1);
    at = end;
    if (tag.starts_with('!')) continue;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag) return "unexpected <" + tag + ">";
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

// Every id once, and every fragment and aria reference to an id that is there.
void CheckIds(const std::string& page) {
  std::set<std::string> ids;
  const auto each = [&](const std::string& before, auto use) {
    for (std::size_t at = page.find(before); at != std::string::npos; at = page.find(before, at)) {
      at += before.size();
      use(page.substr(at, page.find_first_of("\")", at) - at));
    }
  };
  each(" id=\"", [&](const std::string& id) { EXPECT_TRUE(ids.insert(id).second) << id; });
  const auto known = [&](const std::string& id) { EXPECT_TRUE(ids.contains(id)) << id; };
  each(" href=\"#", known);
  each("aria-labelledby=\"", known);
  each("url(#", known);
}

void CheckPage(const std::string& page) {
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(TagFault(page), "");
  CheckIds(page);
  for (const char* section : {"summary", "training", "position", "length", "expected", "probe",
                              "tables", "stories", "schemes", "protocols", "repeat", "runs"}) {
    EXPECT_TRUE(Contains(page, std::string("<section id=\"") + section + "\"")) << section;
  }
  EXPECT_FALSE(Contains(page, "<script"));
  EXPECT_FALSE(Contains(page, "nan")) << page.substr(page.find("nan") - 60, 120);
  EXPECT_FALSE(Contains(page, "inf\"") || Contains(page, "inf "));
}

Json& Cell(Json& document, const std::string& scheme, std::size_t at) {
  for (Json& entry : document["schemes"]) {
    if (entry["scheme"] == scheme) return entry["cells"][at];
  }
  throw Error("test", "no scheme " + scheme);
}

TEST(RenderReport, HoldsEveryPart) {
  const std::string page = RenderReport(ExampleResults(3));
  CheckPage(page);
  for (const char* part : {"Lowest held-out loss at the training length: rope+alibi",
                           "difference to",
                           "baseline",
                           "loss, non-overlapping",
                           "loss, last-128-fixed",
                           "cannot: position 128 is outside the table of 128 positions",
                           "0.71 \u2192 0.62",
                           "Held-out loss while training",
                           "Held-out loss by position",
                           "Held-out loss by length, non-overlapping",
                           "Held-out loss by length, last-128-fixed",
                           "trained length",
                           "stay flat",
                           "agrees",
                           "Readouts of the probe",
                           "tells positions apart",
                           "query at 24",
                           "alibi: bias",
                           "<b>One day</b>",
                           "Stories of training seed 2",
                           "sextant compare none sinusoidal",
                           "8d1f0c6a22b947e1",
                           "learning_rate",
                           "All 30 runs finished.",
                           "Content-Security-Policy",
                           "prefers-color-scheme:dark",
                           "[data-theme=dark]"}) {
    EXPECT_TRUE(Contains(page, part)) << part;
  }
}

TEST(RenderReport, LoadsNothing) {
  std::string page = RenderReport(ExampleResults(2));
  const std::string allowed = "xmlns=\"http://www.w3.org/2000/svg\"";
  for (std::size_t at = page.find(allowed); at != std::string::npos; at = page.find(allowed)) {
    page.erase(at, allowed.size());
  }
  for (const char* part : {"http://", "https://", "src=", "<link", "@import", "<iframe", "<object",
                           "<base", "javascript:", " onload", " onclick"}) {
    EXPECT_FALSE(Contains(page, part)) << part;
  }
  for (std::size_t at = page.find("url("); at != std::string::npos;
       at = page.find("url(", at + 1)) {
    EXPECT_EQ(page.substr(at, 5), "url(#");
  }
}

TEST(RenderReport, IsTheSameEachTime) {
  EXPECT_EQ(RenderReport(ExampleResults(2)), RenderReport(ExampleResults(2)));
}

// Puts `text` into every text of the document, also as names of settings.
void Poison(Json& json, const std::string& text) {
  if (json.is_string()) json = json.get<std::string>() + text;
  if (json.is_structured()) {
    for (Json& item : json) Poison(item, text);
  }
  if (json.is_object() && json.contains("steps")) json["x" + text] = text;
}

TEST(RenderReport, EscapesEveryText) {
  Json document = ExampleResults(2);
  Poison(document, "<script>alert(1)</script>\"'&\x01]]>--><img src=x>");
  document["format"] = "sextant-compare/1";
  for (Json& scheme : document["schemes"]) {
    for (Json& cell : scheme["cells"]) {
      cell["state"] = "finished";
      for (Json& row : cell["evaluation"]) row["protocol"] = row["protocol"].get<std::string>();
    }
  }
  const std::string page = RenderReport(document);
  EXPECT_EQ(TagFault(page), "");
  CheckIds(page);
  EXPECT_FALSE(Contains(page, "<script"));
  EXPECT_FALSE(Contains(page, "<img"));
  EXPECT_FALSE(Contains(page, "\x01"));
  EXPECT_TRUE(Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST(RenderReport, EscapesStoriesAndNames) {
  Json document = ExampleResults(2);
  document["schemes"][8]["scheme"] = "rope<script>x</script>";
  Cell(document, "alibi", 0)["sample"]["text"] = "One day<script>y</script> & \"so\"";
  const std::string page = RenderReport(document);
  CheckPage(page);
  EXPECT_TRUE(Contains(page, "rope&lt;script&gt;x&lt;/script&gt;"));
  EXPECT_TRUE(Contains(page, "<b>One day</b>&lt;script&gt;y&lt;/script&gt; &amp; &quot;so&quot;"));
}

TEST(RenderReport, SaysWhatIsUnfinishedOrFailedAndWhy) {
  Json document = ExampleResults(3);
  Json& failed = Cell(document, "rope", 1);
  failed["state"] = "failed";
  failed["reason"] = "stopped: loss is not finite at step 120";
  failed["steps"] = 120;
  for (int seed : {0, 1, 2})
    Cell(document, "t5", static_cast<std::size_t>(seed))["state"] = "unfinished";
  const std::string page = RenderReport(document);
  CheckPage(page);
  EXPECT_TRUE(Contains(page, "4 of 30 runs did not finish"));
  EXPECT_TRUE(Contains(
      page, "rope, seed 2: failed after 120 steps: stopped: loss is not finite at step 120"));
  EXPECT_TRUE(Contains(page, "no finished run; see the list of runs"));
  EXPECT_TRUE(Contains(page, "3 runs unfinished and 1 failed"));
}

TEST(RenderReport, SurvivesWithoutAFinishedRun) {
  Json document = ExampleResults(2);
  for (Json& scheme : document["schemes"]) {
    for (Json& cell : scheme["cells"]) {
      cell = {{"seed", cell["seed"]}, {"state", "unfinished"}, {"reason", ""}};
    }
  }
  const std::string page = RenderReport(document);
  CheckPage(page);
  EXPECT_TRUE(Contains(page, "No run has finished yet (20 unfinished, 0 failed)"));
  EXPECT_TRUE(Contains(page, "No finished run holds a loss curve."));
  EXPECT_TRUE(Contains(page, "No finished run holds a story."));
  EXPECT_TRUE(Contains(page, "Readouts of the probe"));
}

TEST(RenderReport, SurvivesOneSeed) {
  const std::string page = RenderReport(ExampleResults(1));
  CheckPage(page);
  EXPECT_TRUE(Contains(page, "(one seed)"));
  EXPECT_TRUE(Contains(page, "one seed cannot rank schemes"));
}

TEST(RenderReport, SurvivesWithoutProbeTableStoryOrBaseline) {
  Json document = ExampleResults(2);
  document.erase("baseline");
  document.erase("command");
  document.erase("environment");
  for (Json& scheme : document["schemes"]) {
    scheme["probe"] = nullptr;
    scheme["table"] = nullptr;
    for (Json& cell : scheme["cells"]) {
      cell.erase("sample");
      cell.erase("curve");
      cell.erase("by_position");
    }
  }
  const std::string page = RenderReport(document);
  CheckPage(page);
  EXPECT_TRUE(Contains(page, "The document holds no probe of any scheme."));
  EXPECT_TRUE(Contains(page, "No baseline is named"));
  EXPECT_TRUE(Contains(page, "The document does not hold its command."));
  EXPECT_TRUE(Contains(page, "The document does not say."));
}

TEST(RenderReport, SurvivesTheBareFormat) {
  const std::string page = RenderReport({{"format", "sextant-compare/1"}});
  CheckPage(page);
  EXPECT_TRUE(Contains(page, "There are no runs to compare."));
}

// Replaces the value number `countdown` of the document by another; false where there are fewer.
bool Replace(Json& json, int& countdown, const Json& by) {
  if (countdown-- == 0) {
    json = by;
    return true;
  }
  if (json.is_structured()) {
    for (Json& item : json) {
      if (Replace(item, countdown, by)) return true;
    }
  }
  return false;
}

TEST(RenderReport, SurvivesAnyValueOfAnotherType) {
  Json small = ExampleResults(2);
  small["schemes"] = Json::array({small["schemes"][1], small["schemes"][2]});
  for (Json& scheme : small["schemes"]) {
    scheme["table"]["rows"] = {{1, 2}, {3, 4}};
    scheme["probe"]["offsets"] = {0, 1};
    scheme["probe"]["scores"] = {{1, 2}, {3, 4}, {5, 6}};
    for (Json& cell : scheme["cells"]) {
      cell["curve"] = {cell["curve"][0], cell["curve"][1]};
      cell["by_position"] = {cell["by_position"][0], cell["by_position"][1]};
    }
  }
  const Json values[] = {nullptr, -1e300, "text", Json::array({1, "a"}), {{"a", 1}}};
  int rendered = 0;
  for (int at = 1;; ++at) {
    Json document = small;
    int countdown = at;
    if (!Replace(document, countdown, values[at % 5])) break;
    if (document["format"] != "sextant-compare/1") continue;
    const std::string page = RenderReport(document);
    ASSERT_EQ(TagFault(page), "") << at;
    ++rendered;
  }
  EXPECT_GT(rendered, 200);
}

TEST(RenderReport, RefusesOtherDocuments) {
  EXPECT_THROW(RenderReport(Json()), Error);
  EXPECT_THROW(RenderReport(Json::array({1})), Error);
  EXPECT_THROW(RenderReport({{"format", "sextant-probe/1"}}), Error);
  try {
    RenderReport(Json::object());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "results: format must be \"sextant-compare/1\", got none; give the results.json "
                 "that `sextant compare` wrote");
  }
}

}  // namespace
}  // namespace sextant::lab
