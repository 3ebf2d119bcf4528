// Loss while training, by position and by length, each with its difference to the baseline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/report/expectations.h"
#include "lab/report/number_text.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

constexpr const char* kBand =
    "The line is the mean over seeds, the band reaches from the lowest to the highest seed.";

struct Point {
  double x = 0;
  std::optional<Estimate> value;
};

// A series for each scheme with a finished run, so that colours are the same in every figure.
template <class PointsOf>
std::vector<plot::Series> SeriesOf(const Summary& summary, PointsOf points_of) {
  std::vector<plot::Series> all;
  for (const SchemeSummary& scheme : summary.schemes) {
    if (scheme.seeds.empty()) continue;
    plot::Series series{scheme.name, {}, {}};
    for (const Point& point : points_of(scheme)) {
      if (!point.value) continue;
      series.x.push_back(point.x);
      series.y.push_back(point.value->mean);
      series.low.push_back(point.value->least);
      series.high.push_back(point.value->greatest);
    }
    all.push_back(std::move(series));
  }
  return all;
}

bool AnyPoint(const plot::Chart& chart) {
  return std::ranges::any_of(chart.series,
                             [](const plot::Series& series) { return !series.x.empty(); });
}

// Says `missing` where the chart would be empty.
void AddChartOrWords(Html& html, const plot::Chart& chart, const std::string& caption,
                     const char* missing) {
  if (AnyPoint(chart)) {
    AddChart(html, chart, caption);
  } else {
    html.Element("p", {{"class", "muted"}}, missing);
  }
}

plot::Axis DifferenceAxis(const Summary& summary) {
  return {"loss \u2212 loss of " + Quoted(summary.baseline), "nats a token"};
}

// Tokens where every point of every scheme has them, else steps.
bool CurvesHaveTokens(const Summary& summary) {
  return std::ranges::all_of(summary.schemes, [](const SchemeSummary& scheme) {
    return std::ranges::all_of(scheme.curve,
                               [](const CurveSummary& point) { return point.tokens.has_value(); });
  });
}

// The middle of the position numbers from + 1 .. to on a log scale.
double MiddleOf(const PositionSummary& position) {
  return std::sqrt(static_cast<double>(position.from + 1) * static_cast<double>(position.to));
}

std::vector<plot::Guide> TrainedLength(const Results& results) {
  if (results.context <= 0) return {};
  return {{static_cast<double>(results.context), "trained length"}};
}

std::string LengthCaption(const std::string& protocol) {
  if (protocol == kNonOverlapping) {
    return std::string(
               "Follow each line to the right of the trained length: flat is good, rising "
               "means the scheme fails beyond what it was trained on. A gentle fall "
               "belongs to the protocol, since longer windows have fewer tokens with "
               "little before them. ") +
           kBand;
  }
  return std::string(
             "The same target tokens at every length, only the context before them grows. "
             "A line that falls uses the longer context, a flat one ignores it, a rising "
             "one is harmed by it. ") +
         kBand;
}

}  // namespace

void AddCurveSection(Html& html, const Report& report) {
  const Summary& summary = report.summary;
  const bool tokens = CurvesHaveTokens(summary);
  const plot::Axis x{tokens ? "tokens trained on" : "training steps", ""};
  const auto place = [tokens](const CurveSummary& point) {
    return tokens ? *point.tokens : static_cast<double>(point.step);
  };
  plot::Chart losses{"Held-out loss while training", x, {"held-out loss", "nats a token"}};
  losses.series = SeriesOf(summary, [&](const SchemeSummary& scheme) {
    std::vector<Point> points;
    for (const CurveSummary& point : scheme.curve) points.push_back({place(point), point.loss});
    return points;
  });
  plot::Chart differences{"The same, less the loss of " + Quoted(summary.baseline), x,
                          DifferenceAxis(summary)};
  differences.series = SeriesOf(summary, [&](const SchemeSummary& scheme) {
    std::vector<Point> points;
    for (const CurveSummary& point : scheme.curve) {
      points.push_back({place(point), point.difference});
    }
    return points;
  });
  const Html::Inside figures = html.In("div", {{"class", "figures"}});
  AddChartOrWords(html, losses,
                  std::string("Lower is better; look at where the lines end. ") + kBand,
                  "No finished run holds a loss curve.");
  AddChartOrWords(html, differences,
                  "Below 0 is better than the baseline at that moment. Runs are compared in pairs "
                  "of the same seed; where a band holds 0, seeds disagree.",
                  "There is no difference to a baseline to draw.");
}

void AddPositionSection(Html& html, const Report& report) {
  const Summary& summary = report.summary;
  const plot::Axis x{"position in the window, the first is 1", "", plot::Scale::kLog2};
  plot::Chart losses{"Held-out loss by position", x, {"loss", "nats a token"}};
  losses.series = SeriesOf(summary, [](const SchemeSummary& scheme) {
    std::vector<Point> points;
    for (const PositionSummary& position : scheme.by_position) {
      points.push_back({MiddleOf(position), position.loss});
    }
    return points;
  });
  plot::Chart differences{"The same, less the loss of " + Quoted(summary.baseline), x,
                          DifferenceAxis(summary)};
  differences.series = SeriesOf(summary, [](const SchemeSummary& scheme) {
    std::vector<Point> points;
    for (const PositionSummary& position : scheme.by_position) {
      points.push_back({MiddleOf(position), position.difference});
    }
    return points;
  });
  const Html::Inside figures = html.In("div", {{"class", "figures"}});
  AddChartOrWords(html, losses,
                  std::string("The first tokens have nothing to go by; the further right, the "
                              "more context a token has. ") +
                      kBand,
                  "No finished run holds a loss by position.");
  AddChartOrWords(html, differences,
                  "Where in the window a scheme gains on the baseline (below 0) or loses to it. "
                  "Runs are compared in pairs of the same seed.",
                  "There is no difference to a baseline to draw.");
}

void AddLengthSection(Html& html, const Report& report) {
  const Summary& summary = report.summary;
  const std::vector<std::string> protocols = Protocols(summary);
  if (protocols.empty()) {
    html.Element("p", {{"class", "muted"}}, "No finished run was evaluated at any length.");
    return;
  }
  const Html::Inside figures = html.In("div", {{"class", "figures"}});
  for (const std::string& protocol : protocols) {
    plot::Chart chart{"Held-out loss by length, " + protocol,
                      {"tokens in a window", "", plot::Scale::kLog2},
                      {"loss", "nats a token"}};
    chart.guides = TrainedLength(report.results);
    chart.series = SeriesOf(summary, [&](const SchemeSummary& scheme) {
      std::vector<Point> points;
      for (const LengthSummary& length : scheme.lengths) {
        if (length.protocol != protocol || length.length <= 0) continue;
        points.push_back({static_cast<double>(length.length), length.loss});
      }
      std::ranges::sort(points, {}, &Point::x);
      return points;
    });
    AddChartOrWords(html, chart, LengthCaption(protocol), "No length has a loss.");
  }
}

}  // namespace sextant::lab
