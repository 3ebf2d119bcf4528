// The probe: what a scheme does to the score of the same two vectors, before any training.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/report/number_text.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

constexpr const char* kUnknown = "\u2013";

std::string RoundOrUnknown(const std::optional<double>& number, int digits = 3) {
  return number ? RoundText(*number, digits) : kUnknown;
}

plot::Chart ScoreChart(const SchemeResult& scheme) {
  const ProbeResult& probe = *scheme.probe;
  plot::Chart chart{scheme.name, {"offset of the key from the query", ""}, {"score", ""}};
  chart.summary = "Score of one query and one key by offset, a line for each place of the query.";
  for (std::size_t at = 0; at < std::min(probe.anchors.size(), probe.scores.size()); ++at) {
    plot::Series series{"query at " + RoundText(probe.anchors[at], 6), probe.offsets,
                        probe.scores[at]};
    const std::size_t points = std::min(series.x.size(), series.y.size());
    series.x.resize(points);
    series.y.resize(points);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

const char* ScoreCaption(const ProbeResult& probe) {
  if (probe.range == 0.0) return "A flat line: the score knows nothing of positions.";
  if (probe.relative.value_or(false)) {
    return "The lines lie on one another: only the offset counts.";
  }
  return "The lines differ: the score also depends on where the pair stands.";
}

void AddScoreCharts(Html& html, const Results& results) {
  const Html::Inside figures = html.In("div", {{"class", "small-figures"}});
  for (const SchemeResult& scheme : results.schemes) {
    if (!scheme.probe || scheme.probe->scores.empty()) continue;
    AddFigure(html, plot::RenderSvg(ScoreChart(scheme), plot::Embedding::kInPage),
              ScoreCaption(*scheme.probe));
  }
}

std::string RelativeText(const ProbeResult& probe) {
  if (!probe.relative) return kUnknown;
  return *probe.relative ? "yes, to rounding" : "no";
}

void AddReadouts(Html& html, const Results& results) {
  TextTable table{"Readouts of the probe",
                  {"scheme", "score range", "anchor spread", "spread / range",
                   "norm of q, after / before", "offset alone"},
                  {}};
  for (const SchemeResult& scheme : results.schemes) {
    if (!scheme.probe) continue;
    const ProbeResult& probe = *scheme.probe;
    const bool divisible = probe.range && probe.anchor_spread && *probe.range > 0;
    table.rows.push_back(
        {scheme.name, RoundOrUnknown(probe.range), RoundOrUnknown(probe.anchor_spread),
         divisible ? RoundText(*probe.anchor_spread / *probe.range) : kUnknown,
         probe.norm_ratio ? FixedText(*probe.norm_ratio, 3) : kUnknown, RelativeText(probe)});
  }
  AddTable(html, table);
  const Html::Inside list = html.In("ul", {{"class", "notes"}});
  html.Element("li",
               "Score range: the highest score less the lowest, over all anchors, offsets "
               "and heads.");
  html.Element("li",
               "Anchor spread: how far scores of the same offset lie apart when the pair "
               "moves. 0, or some 1e-15, means that the scheme is relative, not nearly but "
               "identically.");
  html.Element("li", "Norm of q: how much longer or shorter the query has become.");
}

const char* RequirementTitle(const std::string& name) {
  if (name == "tells_apart") return "tells positions apart";
  if (name == "any_length") return "works at any length";
  if (name == "bounded") return "is bounded";
  if (name == "decays") return "decays with distance";
  return nullptr;
}

// The requirements of all schemes, in the order met.
std::vector<std::string> RequirementNames(const Results& results) {
  std::vector<std::string> names;
  for (const SchemeResult& scheme : results.schemes) {
    if (!scheme.probe) continue;
    for (const RequirementResult& requirement : scheme.probe->requirements) {
      if (std::ranges::find(names, requirement.name) == names.end()) {
        names.push_back(requirement.name);
      }
    }
  }
  return names;
}

std::string NumberText(double number) {
  return std::abs(number) >= 1000 ? CountText(number) : RoundText(number);
}

void AddRequirementCell(Html& html, const SchemeResult& scheme, const std::string& name) {
  const auto found = std::ranges::find(scheme.probe->requirements, name, &RequirementResult::name);
  const Html::Inside cell = html.In("td");
  if (found == scheme.probe->requirements.end() || !found->holds) {
    html.Text("not measured");
    return;
  }
  html.Element("span", {{"class", *found->holds ? "yes" : "no"}}, *found->holds ? "yes" : "no");
  const Html::Inside reason = html.In("small");
  if (found->number) html.Element("b", NumberText(*found->number));
  html.Text(" " + found->meaning);
}

void AddRequirements(Html& html, const Results& results) {
  const std::vector<std::string> names = RequirementNames(results);
  if (names.empty()) return;
  const Html::Inside box = InScrollBox(html, "The four requirements");
  const Html::Inside table = html.In("table", {{"class", "pinned requirements"}});
  AddCaption(html, "The requirements on a scheme, with the number behind each answer");
  {
    const Html::Inside head = html.In("thead");
    const Html::Inside row = html.In("tr");
    html.Element("th", {{"scope", "col"}}, "scheme");
    for (const std::string& name : names) {
      const char* title = RequirementTitle(name);
      html.Element("th", {{"scope", "col"}}, title ? title : name);
    }
  }
  const Html::Inside body = html.In("tbody");
  for (const SchemeResult& scheme : results.schemes) {
    if (!scheme.probe || scheme.probe->requirements.empty()) continue;
    const Html::Inside row = html.In("tr");
    {
      const Html::Inside head = html.In("th", {{"scope", "row"}});
      AddName(html, scheme.name);
    }
    for (const std::string& name : names) AddRequirementCell(html, scheme, name);
  }
}

// What the numbers depend on; the same note of several schemes is said once.
void AddNotes(Html& html, const Results& results) {
  std::vector<std::string> notes;
  for (const SchemeResult& scheme : results.schemes) {
    if (!scheme.probe || scheme.probe->note.empty()) continue;
    if (std::ranges::find(notes, scheme.probe->note) == notes.end()) {
      notes.push_back(scheme.probe->note);
    }
  }
  for (const std::string& note : notes) {
    html.Element("p", {{"class", "muted"}}, "For some schemes " + note + ".");
  }
}

void NameMissing(Html& html, const Results& results) {
  std::vector<std::string> missing;
  for (const SchemeResult& scheme : results.schemes) {
    if (!scheme.probe) missing.push_back(Quoted(scheme.name));
  }
  if (missing.empty()) return;
  html.Element("p", {{"class", "muted"}},
               "Not probed: " + JoinNames(missing, missing.size()) + ".");
}

}  // namespace

void AddProbeSection(Html& html, const Report& report) {
  const Results& results = report.results;
  const bool any = std::ranges::any_of(
      results.schemes, [](const SchemeResult& scheme) { return scheme.probe.has_value(); });
  if (!any) {
    html.Element("p", {{"class", "muted"}}, "The document holds no probe of any scheme.");
    return;
  }
  html.Element("p",
               "One query and one key, the same two vectors throughout, and no training. The query "
               "stands at several places (anchors), the key a number of positions (the offset) "
               "after it; the score of the first head is drawn. Each figure has a scale of its "
               "own.");
  AddScoreCharts(html, results);
  AddReadouts(html, results);
  AddRequirements(html, results);
  AddNotes(html, results);
  NameMissing(html, results);
}

}  // namespace sextant::lab
