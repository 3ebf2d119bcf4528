// Probe results for people and programs.
#include "sextant/cli/probe_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sextant/cli/table_layout.h"
#include "sextant/plot/chart.h"
#include "sextant/plot/terminal.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostCharts = 4;

std::string AnchorText(const ProbeSettings& settings) {
  std::string text;
  for (std::int64_t anchor : settings.anchors) {
    text += (text.empty() ? "" : ", ") + std::to_string(anchor);
  }
  return text;
}

// Head 0, by anchor and offset.
View<const double, 2> HeadZero(const ScoreProbe& probe) { return probe.scores.view()[0]; }

// The label, with the head whose scores are shown where there are several.
std::string NameOf(const ProbedScheme& scheme) {
  const Index heads = scheme.probe.scores.extent(0);
  return scheme.label + (heads > 1 ? fmt::format(" (head 0 of {})", heads) : "");
}

// One curve an anchor, or one for all where they agree.
void AddSeries(const ProbedScheme& scheme, const ProbeSettings& settings, bool named,
               plot::Chart& chart) {
  const View<const double, 2> scores = HeadZero(scheme.probe);
  const Index curves = scheme.probe.relative ? 1 : scores.extent(0);
  for (Index a = 0; a < curves; ++a) {
    plot::Series series;
    series.name = named ? NameOf(scheme) + ", " : "";
    series.name += scheme.probe.relative
                       ? "every anchor"
                       : "query at " + std::to_string(settings.anchors[std::size_t(a)]);
    for (Index o = 0; o < settings.offsets; ++o) {
      series.x.push_back(double(o));
      series.y.push_back(scores(a, o));
    }
    chart.series.push_back(std::move(series));
  }
}

plot::Chart ChartOf(std::span<const ProbedScheme> schemes, const ProbeSettings& settings) {
  plot::Chart chart;
  chart.title = schemes.size() == 1 ? NameOf(schemes[0]) + ": score by offset" : "Score by offset";
  chart.x.title = "key position - query position";
  chart.y.title = "scaled score";
  chart.summary =
      fmt::format("The score of one query and one key of {} channels (seed {}) for queries at {}.",
                  settings.head_dim, settings.seed, AnchorText(settings));
  for (const ProbedScheme& scheme : schemes) {
    AddSeries(scheme, settings, schemes.size() > 1, chart);
  }
  return chart;
}

std::string ReadoutText(const std::vector<ProbedScheme>& schemes) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Add({"scheme", "range", "anchor spread", "|q| after/before", "relative"});
  for (const ProbedScheme& scheme : schemes) {
    const ScoreProbe& probe = scheme.probe;
    table.Add({scheme.label, ShortNumber(probe.range), ShortNumber(probe.anchor_spread, 3),
               fmt::format("{:.6f}", probe.norm_ratio), probe.relative ? "yes" : "no"});
  }
  return table.Text();
}

std::string Judged(const Requirement& requirement, const std::string& number) {
  return (requirement.holds ? "yes " : "no  ") + number;
}

std::string RequirementText(const std::vector<ProbedScheme>& schemes,
                            const ProbeSettings& settings) {
  TextTable table({Align::kLeft});
  table.Add({"scheme", "tells apart", "any length", "bounded", "decays"});
  for (const ProbedScheme& scheme : schemes) {
    const std::vector<Requirement>& all = scheme.report.requirements;
    table.Add({scheme.label,
               Judged(all[0], fmt::format("{} of {}", all[0].number, settings.offsets)),
               Judged(all[1], all[1].holds ? "2^20 tried" : fmt::format("up to {}", all[1].number)),
               Judged(all[2], ShortNumber(all[2].number, 3) + "x"),
               Judged(all[3], fmt::format("{:.2f}", all[3].number))});
  }
  return table.Text() +
         "  tells apart: keys the query after them scores apart; any length: the largest position\n"
         "  with a value; bounded: largest score over what content can reach, up to distance "
         "1024;\n"
         "  decays: rank correlation of offset and score of equal vectors\n";
}

std::string TermText(const ProbedScheme& scheme) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.Add({"  term", "range", "anchor spread", "relative"});
  for (const TermProbe& term : scheme.terms) {
    std::string name = term.name;
    name.replace(name.find('_'), 1, " . ");
    const auto [low, high] =
        std::minmax_element(term.scores.values().begin(), term.scores.values().end());
    table.Add({"  " + name, ShortNumber(*high - *low), ShortNumber(term.anchor_spread, 3),
               term.relative ? "yes" : "no"});
  }
  return scheme.label + ", the four terms of (q + p_i) . (k + p_j)\n" + table.Text();
}

std::string FactText(const ProbedScheme& scheme) {
  const Uniqueness& closest = scheme.closest;
  std::string text = fmt::format(
      "{}: of the first {} positions, {} and {} are closest, {} apart ({})\n", scheme.label,
      scheme.compared, closest.first, closest.second, ShortNumber(closest.smallest_distance),
      closest.measured_on == Fingerprint::kEncodedKey ? "encoded key" : "scores");
  if (scheme.probe.range == 0 && scheme.report.requirements[0].number > 1) {
    text += scheme.label +
            ": every key after the query scores the same; only keys before it are told apart\n";
  }
  if (!scheme.pairs.empty()) {
    text += fmt::format("{}: pairs repeat after {} to {} positions\n", scheme.label,
                        ShortNumber(scheme.pairs.front().wavelength),
                        ShortNumber(scheme.pairs.back().wavelength));
  }
  return text;
}

std::string ScoreText(const ProbedScheme& scheme, const ProbeSettings& settings) {
  TextTable table({Align::kRight});
  std::vector<std::string> header = {"offset"};
  for (std::int64_t anchor : settings.anchors) header.push_back("at " + std::to_string(anchor));
  table.Add(header);
  const View<const double, 2> scores = HeadZero(scheme.probe);
  for (Index o = 0; o < settings.offsets; ++o) {
    std::vector<std::string> row = {std::to_string(o)};
    for (Index a = 0; a < scores.extent(0); ++a) row.push_back(fmt::format("{:.4f}", scores(a, o)));
    table.Add(std::move(row));
  }
  return NameOf(scheme) + ": scaled score by offset and position of the query\n" + table.Text();
}

}  // namespace

std::string ProbeText(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings,
                      ProbeForm form, const Session& session) {
  std::string text = fmt::format(
      "One query and one key of {} channels (seed {}), the query at {}, the key 0..{} after it\n\n",
      settings.head_dim, settings.seed, AnchorText(settings), settings.offsets - 1);
  text += ReadoutText(schemes) + "\n" + RequirementText(schemes, settings);
  std::string note;
  for (const ProbedScheme& scheme : schemes) note = std::max(note, scheme.report.note);
  if (!note.empty()) text += "  " + note + "\n";
  for (const ProbedScheme& scheme : schemes) {
    if (!scheme.terms.empty()) text += "\n" + TermText(scheme);
  }
  text += "\n";
  for (const ProbedScheme& scheme : schemes) {
    if (scheme.compared >= 2) text += FactText(scheme);
  }
  if (form == ProbeForm::kNumbers) {
    for (const ProbedScheme& scheme : schemes) text += "\n" + ScoreText(scheme, settings);
    return text;
  }
  if (schemes.size() > kMostCharts) {
    return text + "\nCurves: ask for at most 4 schemes, or add --svg FILE\n";
  }
  plot::TerminalStyle style{.height = 16};
  style.color = session.color ? plot::TerminalColor::k256 : plot::TerminalColor::kNone;
  for (const ProbedScheme& scheme : schemes) {
    const plot::Chart chart = ChartOf({&scheme, 1}, settings);
    text += "\n" + plot::RenderTerminal(chart, style);
  }
  return text;
}

Json ProbeJson(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings) {
  Json list = Json::array();
  for (const ProbedScheme& scheme : schemes) list.push_back(ToJson(scheme, settings));
  return list;
}

std::string ProbeSvg(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings) {
  return plot::RenderSvg(ChartOf(schemes, settings));
}

}  // namespace sextant::cli
