// Layout of line charts: title, plot, axes, legend.
#include "sextant/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/plot/marks.h"
#include "sextant/plot/palette.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr double kPlotHeight = 250;
constexpr double kYPadding = 0.05;
constexpr int kTicks = 6;
constexpr int kOctaves = 9;

// The plot's area in the figure and its axes.
struct Frame {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  AxisMap x;
  AxisMap y;
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
};

std::vector<double> AllX(const Chart& chart) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    values.insert(values.end(), series.x.begin(), series.x.end());
  }
  for (const Guide& guide : chart.guides) values.push_back(guide.x);
  return values;
}

std::vector<double> AllY(const Chart& chart) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    for (const std::vector<double>* part : {&series.y, &series.low, &series.high}) {
      values.insert(values.end(), part->begin(), part->end());
    }
  }
  return values;
}

Frame MakeFrame(const Chart& chart, double top) {
  const Range x_range = ShownRange(chart.x, AllX(chart), 0, "chart x");
  const Range y_range = ShownRange(chart.y, AllY(chart), kYPadding, "chart y");
  std::vector<Tick> y_ticks = Ticks(chart.y.scale, y_range, kTicks);
  double label_width = 0;
  for (const Tick& tick : y_ticks) {
    label_width = std::max(label_width, TextWidth(tick.label, kLabelSize));
  }
  const double last_label = TextWidth(NumberText(x_range.high), kLabelSize);
  const double left = 10 + label_width;
  const double right = kFigureWidth - std::clamp(last_label / 2, 14., 40.);
  const double bottom = top + kPlotHeight;
  const AxisMap x(chart.x.scale, x_range, left, right);
  const AxisMap y(chart.y.scale, y_range, bottom, top);
  const int most = chart.x.scale == Scale::kLog2 ? kOctaves : kTicks;
  return {left, right, top, bottom, x, y, FittingTicks(x, most, kLabelSize), std::move(y_ticks)};
}

void DrawGridLine(Svg& svg, double x1, double y1, double x2, double y2) {
  svg.Empty("line", {{"class", "sx-grid"},
                     {"x1", x1},
                     {"y1", y1},
                     {"x2", x2},
                     {"y2", y2},
                     {"stroke", "#dde1e6"}});
}

void DrawTickLabel(Svg& svg, double x, double y, std::string_view anchor, std::string_view label) {
  svg.Element("text", {{"class", "sx-tick"}, {"x", x}, {"y", y}, {"text-anchor", anchor}}, label);
}

void DrawAxes(Svg& svg, const Frame& frame) {
  for (const Tick& tick : frame.y_ticks) {
    const double place = frame.y(tick.value);
    DrawGridLine(svg, frame.left, place, frame.right, place);
    DrawTickLabel(svg, frame.left - 5, place + 5, "end", tick.label);
  }
  for (const Tick& tick : frame.x_ticks) {
    const double half = TextWidth(tick.label, kLabelSize) / 2;
    const double place = frame.x(tick.value);
    DrawGridLine(svg, place, frame.top, place, frame.bottom);
    const double middle = std::min(place, kFigureWidth - 2 - half);
    DrawTickLabel(svg, middle, frame.bottom + 18, "middle", tick.label);
  }
  svg.Empty("path",
            {{"class", "sx-axis"},
             {"d", fmt::format("M{0} {1}V{2}H{3}", SvgNumber(frame.left), SvgNumber(frame.top),
                               SvgNumber(frame.bottom), SvgNumber(frame.right))},
             {"fill", "none"},
             {"stroke", "#59616b"}});
}

void DrawLine(Svg& svg, std::size_t at, std::string_view path) {
  svg.Empty("path", {{"class", "sx-line"},
                     {"d", path},
                     {"fill", "none"},
                     {"stroke", "currentColor"},
                     {"stroke-width", 1.9},
                     {"stroke-linejoin", "round"},
                     {"stroke-dasharray", SeriesDash(at).empty() ? "none" : SeriesDash(at)}});
}

void OpenSeries(Svg& svg, std::size_t at) {
  svg.Open("g", {{"class", fmt::format("sx-s{}", at % kSeriesColors + 1)},
                 {"color", SeriesColor(at, Theme::kLight)}});
}

void DrawBands(Svg& svg, const Chart& chart, const Frame& frame) {
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const PathData band = BandPath(chart.series[at], frame.x, frame.y);
    if (band.empty()) continue;
    OpenSeries(svg, at);
    svg.Empty("path", {{"class", "sx-band"},
                       {"d", band.text()},
                       {"fill", "currentColor"},
                       {"fill-opacity", 0.16}});
    svg.Close();
  }
}

void DrawSeries(Svg& svg, const Chart& chart, const Frame& frame, std::string_view clip) {
  svg.Open("g", {{"clip-path", clip}});
  DrawBands(svg, chart, frame);
  svg.Close();
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const Series& series = chart.series[at];
    OpenSeries(svg, at);
    svg.Element("title", {}, series.name);
    const PathData line = LinePath(series, frame.x, frame.y);
    if (!line.empty()) {
      svg.Open("g", {{"clip-path", clip}});
      DrawLine(svg, at, line.text());
      svg.Close();
    }
    DrawMarkers(svg, series, at, chart.series.size(), frame.x, frame.y);
    svg.Close();
  }
}

void DrawGuides(Svg& svg, const Chart& chart, const Frame& frame) {
  double line = 0;
  for (const Guide& guide : chart.guides) {
    if (!frame.x.InRange(guide.x)) continue;
    const double place = frame.x(guide.x);
    svg.Empty("line", {{"class", "sx-axis"},
                       {"x1", place},
                       {"y1", frame.top},
                       {"x2", place},
                       {"y2", frame.bottom},
                       {"stroke", "#59616b"},
                       {"stroke-width", 1.5},
                       {"stroke-dasharray", "2 3"}});
    const bool on_left = place > (frame.left + frame.right) / 2;
    const double room = on_left ? place - frame.left - 5 : frame.right - place - 5;
    svg.Element("text",
                {{"class", "sx-halo"},
                 {"x", on_left ? place - 5 : place + 5},
                 {"y", frame.top + 14 + line},
                 {"text-anchor", on_left ? "end" : "start"},
                 {"paint-order", "stroke"},
                 {"stroke", "#fff"},
                 {"stroke-width", 4},
                 {"stroke-linejoin", "round"}},
                Shorten(guide.label, room, kLabelSize));
    line += kLineHeight;
  }
}

void DrawLegend(Figure& figure, const Chart& chart) {
  constexpr double kSwatch = 34, kGap = 14, kLeft = 4, kRow = 21;
  double x = kLeft;
  figure.Skip(6);
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const std::string name =
        Shorten(chart.series[at].name, kFigureWidth - kSwatch - 2 * kLeft - 5, kLabelSize);
    const double width = kSwatch + 5 + TextWidth(name, kLabelSize);
    if (x > kLeft && x + width > kFigureWidth - kLeft) {
      x = kLeft;
      figure.Skip(kRow);
    }
    const double middle = figure.bottom() + kRow / 2;
    OpenSeries(figure.body(), at);
    DrawLine(figure.body(), at,
             fmt::format("M{} {}h{}", SvgNumber(x), SvgNumber(middle), SvgNumber(kSwatch)));
    DrawMarker(figure.body(), SeriesMarker(at), x + kSwatch / 2, middle);
    figure.body().Close();
    figure.body().Element("text", {{"class", "sx-name"}, {"x", x + kSwatch + 5}, {"y", middle + 5}},
                          name);
    x += width + kGap;
  }
  if (!chart.series.empty()) figure.Skip(kRow);
}

std::size_t PointsShown(const Series& series, const Chart& chart) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    shown += HasPlace(chart.x.scale, series.x[i]) && HasPlace(chart.y.scale, series.y[i]);
  }
  return shown;
}

bool AnyPoint(const Chart& chart) {
  return std::ranges::any_of(chart.series,
                             [&](const Series& series) { return PointsShown(series, chart) > 0; });
}

std::string DescribeSeries(const Series& series, const Chart& chart) {
  const std::size_t shown = PointsShown(series, chart);
  if (shown == 0) return series.name + ": no points.";
  std::size_t first = series.y.size(), last = 0, least = 0;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!HasPlace(chart.x.scale, series.x[i]) || !HasPlace(chart.y.scale, series.y[i])) continue;
    if (first == series.y.size()) first = least = i;
    if (series.y[i] < series.y[least]) least = i;
    last = i;
  }
  const auto at = [&](std::size_t i) {
    return fmt::format("{} at {}", NumberText(series.y[i]), NumberText(series.x[i]));
  };
  if (shown == 1) return fmt::format("{}: {}.", series.name, at(first));
  std::string text = fmt::format("{}: from {} to {}", series.name, at(first), at(last));
  if (least != first && least != last) text += ", lowest " + at(least);
  if (shown < series.y.size()) text += fmt::format(", {} points left out", series.y.size() - shown);
  return text + ".";
}

std::string ScaleWords(const Axis& axis) {
  if (axis.scale == Scale::kLinear) return "";
  return axis.scale == Scale::kLog2 ? " (log 2 scale)" : " (log scale)";
}

}  // namespace

void CheckSeries(const Chart& chart) {
  for (const Series& series : chart.series) {
    const std::size_t points = series.x.size();
    const auto check = [&](const char* what, std::size_t got) {
      if (got == points) return;
      throw Error("chart", fmt::format("{} of series \"{}\" must hold as many values as its x, {}, "
                                       "got {}",
                                       what, series.name, points, got));
    };
    check("y", series.y.size());
    if (series.low.empty() && series.high.empty()) continue;
    check("low", series.low.size());
    check("high", series.high.size());
  }
}

std::string Describe(const Chart& chart) {
  CheckSeries(chart);
  constexpr std::size_t kMost = 12;
  std::string text = chart.summary.empty() ? "" : chart.summary + " ";
  text += fmt::format("Line chart of {}{} against {}{}, {} series.", AxisTitle(chart.y),
                      ScaleWords(chart.y), AxisTitle(chart.x), ScaleWords(chart.x),
                      chart.series.size());
  for (const Guide& guide : chart.guides) {
    text += fmt::format(" Line at {}: {}.", NumberText(guide.x), guide.label);
  }
  for (std::size_t at = 0; at < std::min(kMost, chart.series.size()); ++at) {
    text += " " + DescribeSeries(chart.series[at], chart);
  }
  if (chart.series.size() > kMost) {
    text += fmt::format(" And {} more.", chart.series.size() - kMost);
  }
  return text;
}

std::string RenderSvg(const Chart& chart, Embedding embedding) {
  Figure figure("chart", chart.title, Describe(chart), embedding);
  figure.AddText(AxisTitle(chart.y));
  figure.Skip(6);
  const Frame frame = MakeFrame(chart, figure.bottom());
  Svg& svg = figure.body();
  svg.Open("clipPath", {{"id", figure.Id("clip")}});
  svg.Empty("rect", {{"x", frame.left},
                     {"y", frame.top - 1},
                     {"width", frame.right - frame.left},
                     {"height", kPlotHeight + 2}});
  svg.Close();
  DrawAxes(svg, frame);
  DrawSeries(svg, chart, frame, "url(#" + figure.Id("clip") + ")");
  DrawGuides(svg, chart, frame);
  if (!AnyPoint(chart)) {
    svg.Element("text",
                {{"x", (frame.left + frame.right) / 2},
                 {"y", frame.top + kPlotHeight / 2},
                 {"text-anchor", "middle"}},
                "no data");
  }
  figure.Skip(kPlotHeight + 24);
  figure.AddCentredText(AxisTitle(chart.x), frame.left, frame.right);
  DrawLegend(figure, chart);
  return figure.Finish();
}

}  // namespace sextant::plot
