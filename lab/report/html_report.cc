// The frame of the page: head, conclusion, contents and the order of the sections.
#include "lab/report/html_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lab/report/conclusion.h"
#include "lab/report/html.h"
#include "lab/report/number_text.h"
#include "lab/report/page_style.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

// Nothing is loaded and no script runs, whatever the document says.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

struct Section {
  const char* id;
  const char* title;
  void (*add)(Html& html, const Report& report);
};

constexpr Section kSections[] = {
    {"summary", "Summary", AddSummarySection},
    {"training", "Loss while training", AddCurveSection},
    {"position", "Loss by position", AddPositionSection},
    {"length", "Loss beyond the training length", AddLengthSection},
    {"expected", "What the documents expect", AddExpectationSection},
    {"probe", "The probe", AddProbeSection},
    {"tables", "The schemes\u2019 tables", AddTableSection},
    {"stories", "Stories", AddStorySection},
    {"schemes", "The schemes", AddSchemeSection},
    {"protocols", "How it was measured", AddProtocolSection},
    {"repeat", "Repeat it", AddRepeatSection},
    {"runs", "Runs", AddRunSection},
};

std::string Lookup(const std::vector<NamedText>& texts, const char* name) {
  for (const auto& [key, value] : texts) {
    if (key == name) return value;
  }
  return "";
}

// "10 schemes, 3 seeds; 4 layers of width 128, context 128, 400 steps; data: stories."
std::string ScopeText(const Results& results) {
  std::set<std::int64_t> seeds(results.seeds.begin(), results.seeds.end());
  std::string text = Counted(results.schemes.size(), "scheme");
  if (!seeds.empty()) text += ", " + Counted(seeds.size(), "seed");
  const std::string layers = Lookup(results.settings, "layers"),
                    width = Lookup(results.settings, "width"),
                    steps = Lookup(results.settings, "steps"), data = Lookup(results.data, "name");
  if (!layers.empty() && !width.empty()) {
    text += fmt::format("; a model of {} layers of width {}", layers, width);
  }
  if (results.context > 0)
    text += fmt::format(", trained on windows of {} tokens", results.context);
  if (!steps.empty()) text += fmt::format(", {} steps", steps);
  if (!data.empty()) text += "; data: " + data;
  return text + ".";
}

std::string Title(const Results& results) {
  return "Positional encodings compared: " + Counted(results.schemes.size(), "scheme");
}

void AddHead(Html& html, const Results& results) {
  const Html::Inside head = html.In("head");
  html.Void("meta", {{"charset", "utf-8"}});
  html.Void("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}});
  html.Void("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Void("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Element("title", Title(results));
  const Html::Inside style = html.In("style");
  html.Markup(PageCss());
}

void AddHeader(Html& html, const Report& report) {
  const Html::Inside header = html.In("header");
  html.Element("h1", "Positional encodings compared");
  html.Element("p", {{"class", "lead"}}, Conclude(report.summary));
  html.Element("p", {{"class", "muted"}}, ScopeText(report.results));
  const int left_out = report.summary.unfinished + report.summary.failed;
  if (left_out > 0) {
    const Html::Inside warning = html.In("p", {{"class", "warning"}});
    html.Text(fmt::format("{} unfinished and {} failed. They are left out; see ",
                          Counted(static_cast<std::size_t>(report.summary.unfinished), "run"),
                          report.summary.failed));
    html.Element("a", {{"href", "#runs"}}, "the list of runs");
    html.Text(".");
  }
  const Html::Inside nav = html.In("nav", {{"aria-label", "Contents"}});
  const Html::Inside list = html.In("ul");
  for (const Section& section : kSections) {
    const Html::Inside item = html.In("li");
    html.Element("a", {{"href", fmt::format("#{}", section.id)}}, section.title);
  }
}

void AddSection(Html& html, const Report& report, const Section& section) {
  const std::string heading = fmt::format("{}-heading", section.id);
  const Html::Inside element =
      html.In("section", {{"id", section.id}, {"aria-labelledby", heading}});
  html.Element("h2", {{"id", heading}}, section.title);
  section.add(html, report);
}

void AddBody(Html& html, const Report& report) {
  const Html::Inside body = html.In("body");
  html.Element("a", {{"class", "skip"}, {"href", "#main"}}, "Skip to the summary");
  AddHeader(html, report);
  {
    const Html::Inside main = html.In("main", {{"id", "main"}});
    for (const Section& section : kSections) AddSection(html, report, section);
  }
  const Html::Inside footer = html.In("footer");
  const std::string& version = report.results.version;
  html.Element("p", fmt::format("Made by sextant compare{}. Every number comes from the results "
                                "document beside this page.",
                                version.empty() ? "" : " " + version));
}

}  // namespace

std::string RenderReport(const nlohmann::ordered_json& document) {
  Report report{ReadResults(document), {}};
  report.summary = MakeSummary(report.results);
  Html html;
  html.Markup("<!DOCTYPE html>\n");
  {
    const Html::Inside root = html.In("html", {{"lang", "en"}});
    AddHead(html, report.results);
    AddBody(html, report);
  }
  return html.Take();
}

}  // namespace sextant::lab
