// The summary: one row a scheme, and every seed as a dot.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lab/report/dot_plot.h"
#include "lab/report/number_text.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

constexpr const char* kNone = "\u2013";
constexpr double kNoise = 0.02;  // nats: below it differences between small models are noise
constexpr double kDrowning = 3;  // times the norm of tokens
constexpr std::size_t kSeedsForScreens = 3;
constexpr std::size_t kSeedsForClaims = 5;

// Columns of losses under one protocol.
struct LengthColumns {
  std::string protocol;
  std::vector<double> multiples;
};

// The losses at 1x of non-overlapping windows have a column of their own.
std::vector<LengthColumns> ColumnsOf(const Summary& summary) {
  std::vector<LengthColumns> columns;
  for (const std::string& protocol : Protocols(summary)) {
    LengthColumns group{protocol, {}};
    for (const SchemeSummary& scheme : summary.schemes) {
      for (const LengthSummary& length : scheme.lengths) {
        if (length.protocol != protocol) continue;
        if (protocol == kNonOverlapping && length.multiple == 1) continue;
        if (std::ranges::find(group.multiples, length.multiple) == group.multiples.end()) {
          group.multiples.push_back(length.multiple);
        }
      }
    }
    std::ranges::sort(group.multiples);
    if (!group.multiples.empty()) columns.push_back(std::move(group));
  }
  return columns;
}

// Schemes with a loss by that loss, then the others.
std::vector<std::size_t> Order(const Summary& summary) {
  std::vector<std::size_t> order(summary.schemes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const std::optional<Estimate>&left = summary.schemes[a].loss, &right = summary.schemes[b].loss;
    if (!left || !right) return left.has_value() && !right.has_value();
    return left->mean < right->mean;
  });
  return order;
}

void AddHead(Html& html, const Summary& summary, const std::vector<LengthColumns>& columns) {
  const std::string rows = columns.empty() ? "1" : "2";
  const auto head = [&](const std::string& css_class, const std::string& name) {
    html.Element("th", {{"scope", "col"}, {"rowspan", rows}, {"class", css_class}}, name);
  };
  const Html::Inside element = html.In("thead");
  {
    const Html::Inside row = html.In("tr");
    head("words", "scheme");
    head("number", "loss at 1\u00d7");
    head("number",
         summary.baseline.empty() ? "difference" : "difference to " + Quoted(summary.baseline));
    head("number", "bits per byte");
    for (const LengthColumns& group : columns) {
      html.Element("th",
                   {{"scope", "colgroup"},
                    {"class", "group"},
                    {"colspan", std::to_string(group.multiples.size())}},
                   "loss, " + group.protocol);
    }
    head("number first", "parameters");
    head("number", "tokens/s");
    head("number", "\u2016position\u2016 / \u2016token\u2016");
  }
  if (columns.empty()) return;
  const Html::Inside row = html.In("tr");
  for (const LengthColumns& group : columns) {
    for (double multiple : group.multiples) {
      const bool first = multiple == group.multiples.front();
      html.Element("th", {{"scope", "col"}, {"class", first ? "number first" : "number"}},
                   MultipleText(multiple));
    }
  }
}

// Without the name of the scheme, which the row has.
std::string CannotText(const SchemeSummary& scheme, const LengthSummary& length) {
  const std::string prefix = scheme.name + ": ";
  const bool named = length.cannot.starts_with(prefix);
  return "cannot: " + (named ? length.cannot.substr(prefix.size()) : length.cannot);
}

// Neighbours with the same reason share a cell.
void AddLengthCells(Html& html, const SchemeSummary& scheme, const LengthColumns& group) {
  for (std::size_t at = 0; at < group.multiples.size();) {
    const std::string place = at == 0 ? "first" : "further";
    const LengthSummary* length = FindLength(scheme, group.protocol, group.multiples[at]);
    if (!length || length->loss || length->cannot.empty()) {
      html.Element("td", {{"class", "number " + place}},
                   length && length->loss ? EstimateText(*length->loss) : kNone);
      ++at;
      continue;
    }
    std::size_t span = 1;
    for (; at + span < group.multiples.size(); ++span) {
      const LengthSummary* next = FindLength(scheme, group.protocol, group.multiples[at + span]);
      if (!next || next->loss || next->cannot != length->cannot) break;
    }
    html.Element("td", {{"class", "cannot " + place}, {"colspan", std::to_string(span)}},
                 CannotText(scheme, *length));
    at += span;
  }
}

std::string NormText(const SchemeSummary& scheme) {
  if (!scheme.norm_before && !scheme.norm_after) return kNone;
  const auto text = [](const std::optional<Estimate>& norm) {
    return norm ? FixedText(norm->mean, 2) : std::string("?");
  };
  return text(scheme.norm_before) + " \u2192 " + text(scheme.norm_after);
}

void AddRow(Html& html, const Summary& summary, std::size_t at,
            const std::vector<LengthColumns>& columns) {
  const SchemeSummary& scheme = summary.schemes[at];
  const bool baseline = scheme.name == summary.baseline;
  const Html::Inside row = html.In("tr", {{"class", baseline ? "baseline" : "scheme"}});
  {
    const Html::Inside name = html.In("th", {{"scope", "row"}});
    AddSeriesKey(html, at);
    AddName(html, scheme.name);
  }
  const auto number = [&](const std::string& text) {
    html.Element("td", {{"class", "number"}}, text);
  };
  if (scheme.seeds.empty()) {
    std::size_t span = 6;
    for (const LengthColumns& group : columns) span += group.multiples.size();
    html.Element("td", {{"class", "cannot"}, {"colspan", std::to_string(span)}},
                 "no finished run; see the list of runs");
    return;
  }
  number(scheme.loss ? EstimateText(*scheme.loss) : kNone);
  number(baseline ? "baseline" : scheme.difference ? DifferenceText(*scheme.difference) : kNone);
  number(scheme.bits_per_byte ? EstimateText(*scheme.bits_per_byte) : kNone);
  for (const LengthColumns& group : columns) AddLengthCells(html, scheme, group);
  html.Element("td", {{"class", "number first"}},
               scheme.parameters ? CountText(*scheme.parameters) : kNone);
  number(scheme.tokens_per_second ? CountText(scheme.tokens_per_second->mean) : kNone);
  number(NormText(scheme));
}

std::size_t FewestSeeds(const Summary& summary) {
  std::size_t fewest = SIZE_MAX;
  for (const SchemeSummary& scheme : summary.schemes) {
    if (scheme.loss) fewest = std::min(fewest, scheme.loss->count);
  }
  return fewest;
}

void AddNotes(Html& html, const Summary& summary) {
  const Html::Inside list = html.In("ul", {{"class", "notes"}});
  if (FewestSeeds(summary) > 1) {
    html.Element("li",
                 "\u00b1 is half the 95 % interval of Student's t over seeds. [a, b] is the 95 % "
                 "interval of the difference between runs of the same seed, which share the "
                 "starting values of common weights and the order of the data. Below 0 is better "
                 "than the baseline; an interval that holds 0 decides nothing.");
    html.Element("li",
                 "Every interval stands for itself: of twenty such, about one misses the true "
                 "value by chance.");
  } else {
    html.Element("li",
                 "A scheme with a single finished seed has a number but no interval; one "
                 "seed cannot rank schemes.");
  }
  const std::size_t seeds = FewestSeeds(summary);
  if (seeds < kSeedsForScreens) {
    html.Element("li", fmt::format("{}: too few even for a screen, which takes {} or more; a claim "
                                   "takes {}.",
                                   Counted(seeds, "seed"), kSeedsForScreens, kSeedsForClaims));
  } else if (seeds < kSeedsForClaims) {
    html.Element("li", fmt::format("{}: enough for a screen, too few for a claim, which takes {} "
                                   "or more.",
                                   Counted(seeds, "seed"), kSeedsForClaims));
  }
  html.Element("li", fmt::format("Differences below about {} are noise for models this small, "
                                 "whatever their interval.",
                                 kNoise));
  if (!summary.baseline_finished) {
    html.Element("li", summary.baseline.empty()
                           ? "No baseline is named, so there are no differences."
                           : fmt::format("The baseline, {}, has no finished run with a loss, so "
                                         "there are no differences.",
                                         Quoted(summary.baseline)));
  }
  html.Element("li",
               "\u2016position\u2016 / \u2016token\u2016 is the mean length of the rows that are "
               "added over that of the token embeddings, before \u2192 after training; "
               "\u2013 where a scheme adds none. Tokens a second are those of this run, on a "
               "machine that may have been busy: no benchmark.");
}

void AddDrowningWarning(Html& html, const Summary& summary) {
  std::vector<std::string> names;
  for (const SchemeSummary& scheme : summary.schemes) {
    if (scheme.norm_before && scheme.norm_before->mean > kDrowning) names.push_back(scheme.name);
  }
  if (names.empty()) return;
  html.Element(
      "p", {{"class", "warning"}},
      fmt::format("In {} the positions start more than {:.0f} times as long as the tokens they are "
                  "added to. Its loss then measures that scale as much as the scheme; set "
                  "embed_scale to balance them.",
                  JoinNames(names, names.size()), kDrowning));
}

std::vector<double> Dots(const std::vector<SeedValue>& values) {
  std::vector<double> dots;
  for (const SeedValue& value : values) dots.push_back(value.value);
  return dots;
}

void AddDots(Html& html, const Report& report) {
  const Summary& summary = report.summary;
  DotPlot losses{"Held-out loss at the training length", {"loss", "nats a token"}, {}};
  DotPlot differences{"Difference to " + Quoted(summary.baseline),
                      {"loss \u2212 loss of " + Quoted(summary.baseline), "nats a token"},
                      {},
                      0.0,
                      "dotted line: no difference"};
  const auto baseline =
      std::ranges::find(report.results.schemes, summary.baseline, &SchemeResult::name);
  for (std::size_t at : Order(summary)) {
    const SchemeSummary& scheme = summary.schemes[at];
    if (!scheme.loss) continue;
    const std::vector<SeedValue> values = LossesAt(report.results.schemes[at], kNonOverlapping, 1);
    losses.rows.push_back({scheme.name, at, Dots(values), *scheme.loss});
    if (!scheme.difference || scheme.name == summary.baseline) continue;
    differences.rows.push_back(
        {scheme.name, at, Dots(DifferencesBySeed(values, LossesAt(*baseline, kNonOverlapping, 1))),
         *scheme.difference});
  }
  const Html::Inside figures = html.In("div", {{"class", "figures"}});
  if (!losses.rows.empty()) {
    AddFigure(html, RenderSvg(losses),
              "Each dot is a seed, the upright stroke the mean, the line its 95 % interval (an "
              "arrow where it goes on). Further left is better.");
  }
  if (differences.rows.empty()) return;
  AddFigure(html, RenderSvg(differences),
            "Each dot compares two runs of the same seed. A line that stays left of 0 is better "
            "than the baseline, one that crosses 0 is undecided. Look here rather than at the "
            "losses: chance that moves both runs alike cancels out.");
}

}  // namespace

void AddSummarySection(Html& html, const Report& report) {
  const Summary& summary = report.summary;
  if (summary.schemes.empty()) {
    html.Element("p", "The document names no scheme.");
    return;
  }
  const std::vector<LengthColumns> columns = ColumnsOf(summary);
  {
    const Html::Inside box = InScrollBox(html, "Summary of all schemes");
    const Html::Inside table = html.In("table", {{"class", "pinned"}});
    AddCaption(html,
               "Held-out loss in nats a token, lowest first. 1\u00d7 is the training "
               "length, 2\u00d7 twice that.");
    AddHead(html, summary, columns);
    const Html::Inside body = html.In("tbody");
    for (std::size_t at : Order(summary)) AddRow(html, summary, at, columns);
  }
  if (!report.AnyFinished()) return;
  AddDrowningWarning(html, summary);
  AddNotes(html, summary);
  AddDots(html, report);
}

}  // namespace sextant::lab
