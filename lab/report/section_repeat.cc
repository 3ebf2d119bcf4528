// How to repeat the comparison, and every run of it.
#include <fmt/format.h>

#include "lab/report/number_text.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

constexpr const char* kUnknown = "\u2013";

void AddNamedFacts(Html& html, const char* title, const std::vector<NamedText>& facts) {
  html.Element("h3", title);
  if (facts.empty()) {
    html.Element("p", {{"class", "muted"}}, "The document does not say.");
  } else {
    AddFacts(html, facts);
  }
}

std::string SeedsText(const std::vector<std::int64_t>& seeds) {
  return fmt::format("{}", fmt::join(seeds, ", "));
}

const char* StateText(State state) {
  switch (state) {
    case State::kFinished:
      return "finished";
    case State::kFailed:
      return "failed";
    case State::kUnfinished:
      break;
  }
  return "unfinished";
}

std::string CountOrUnknown(const std::optional<double>& count) {
  return count ? CountText(*count) : kUnknown;
}

void AddLeftOut(Html& html, const Report& report) {
  const Summary& summary = report.summary;
  const int left_out = summary.unfinished + summary.failed;
  if (left_out == 0) {
    html.Element("p",
                 summary.finished == 0
                     ? "The document holds no runs."
                     : fmt::format("All {} finished.",
                                   Counted(static_cast<std::size_t>(summary.finished), "run")));
    return;
  }
  html.Element("p",
               fmt::format("{} of {} did not finish and count nowhere above:", left_out,
                           Counted(static_cast<std::size_t>(left_out + summary.finished), "run")));
  const Html::Inside list = html.In("ul");
  for (const SchemeResult& scheme : report.results.schemes) {
    for (const Cell& cell : scheme.cells) {
      if (cell.finished()) continue;
      const std::string steps =
          cell.steps ? fmt::format(" after {} steps", CountText(*cell.steps)) : "";
      html.Element("li",
                   fmt::format("{}, seed {}: {}{}{}", scheme.name, cell.seed, StateText(cell.state),
                               steps, cell.reason.empty() ? "" : ": " + cell.reason));
    }
  }
}

}  // namespace

void AddRepeatSection(Html& html, const Report& report) {
  const Results& results = report.results;
  if (results.command.empty()) {
    html.Element("p", {{"class", "muted"}}, "The document does not hold its command.");
  } else {
    const Html::Inside block = html.In("pre");
    html.Element("code", results.command);
  }
  AddNamedFacts(html, "Settings", results.settings);
  std::vector<NamedText> data = results.data;
  if (!results.seeds.empty()) data.emplace_back("seeds", SeedsText(results.seeds));
  AddNamedFacts(html, "Data", data);
  AddNamedFacts(html, "Environment", results.environment);
}

void AddRunSection(Html& html, const Report& report) {
  AddLeftOut(html, report);
  TextTable table{"Every run",
                  {"scheme", "seed", "state", "steps", "tokens", "seconds", "tokens/s",
                   "parameters", "fingerprint of the weights"},
                  {}};
  for (const SchemeResult& scheme : report.results.schemes) {
    for (const Cell& cell : scheme.cells) {
      table.rows.push_back({scheme.name, std::to_string(cell.seed), StateText(cell.state),
                            CountOrUnknown(cell.steps), CountOrUnknown(cell.tokens),
                            cell.seconds ? FixedText(*cell.seconds, 1) : kUnknown,
                            CountOrUnknown(cell.tokens_per_second), CountOrUnknown(cell.parameters),
                            cell.weights.empty() ? kUnknown : cell.weights});
    }
  }
  if (table.rows.empty()) return;
  const Html::Inside details = html.In("details");
  html.Element("summary", "Every run");
  AddTable(html, table);
}

}  // namespace sextant::lab
