// Layout of dot plots: names on the left, a row each, the axis below.
#include "lab/report/dot_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/report/number_text.h"
#include "sextant/plot/figure.h"
#include "sextant/plot/palette.h"
#include "sextant/plot/text_layout.h"

namespace sextant::lab {
namespace {

using plot::Svg;

constexpr double kRowHeight = 27;
constexpr double kLongestName = 150;
constexpr double kRightMargin = 16;
constexpr double kPadding = 0.06;
constexpr int kTicks = 5;
constexpr double kFarthest = 0.6;  // of the dots' extent, that intervals are followed beyond them

struct Frame {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  plot::AxisMap x;
};

// The extent of the dots and the reference, and of intervals as far as they are shown.
plot::Range RangeOf(const DotPlot& plot) {
  std::vector<double> values;
  for (const DotRow& row : plot.rows) values.insert(values.end(), row.dots.begin(), row.dots.end());
  if (plot.reference) values.push_back(*plot.reference);
  plot::Range dots = plot::ShownRange(plot.x, values, 0, "dot plot");
  const double beyond = kFarthest * (dots.high - dots.low);
  const plot::Range farthest{dots.low - beyond, dots.high + beyond};
  for (const DotRow& row : plot.rows) {
    if (!row.estimate.HasInterval()) continue;
    values.push_back(std::max(row.estimate.low, farthest.low));
    values.push_back(std::min(row.estimate.high, farthest.high));
  }
  return plot::ShownRange(plot.x, values, kPadding, "dot plot");
}

void DrawAxis(plot::Figure& figure, const DotPlot& plot, const Frame& frame) {
  Svg& svg = figure.body();
  double free_from = 0;
  for (const plot::Tick& tick : plot::Ticks(plot.x.scale, frame.x.range(), kTicks)) {
    const double place = frame.x(tick.value);
    svg.Empty("line", {{"class", "sx-grid"},
                       {"x1", place},
                       {"y1", frame.top},
                       {"x2", place},
                       {"y2", frame.bottom},
                       {"stroke", "#dde1e6"}});
    const double half = plot::TextWidth(tick.label, plot::kLabelSize) / 2;
    if (place - half < free_from) continue;
    free_from = place + half + 6;
    svg.Element(
        "text",
        {{"class", "sx-tick"}, {"x", place}, {"y", frame.bottom + 18}, {"text-anchor", "middle"}},
        tick.label);
  }
  if (!plot.reference || !frame.x.InRange(*plot.reference)) return;
  const double place = frame.x(*plot.reference);
  svg.Empty("line", {{"class", "sx-axis"},
                     {"x1", place},
                     {"y1", frame.top},
                     {"x2", place},
                     {"y2", frame.bottom},
                     {"stroke", "#59616b"},
                     {"stroke-width", 1.5},
                     {"stroke-dasharray", "2 3"}});
}

// An arrow head at the edge of the plot: the interval goes on.
void DrawArrow(Svg& svg, double edge, double y, double towards) {
  plot::PathData path;
  path.MoveTo(edge, y);
  path.LineTo(edge - towards * 7, y - 5);
  path.LineTo(edge - towards * 7, y + 5);
  path.Close();
  svg.Empty("path", {{"d", path.text()}, {"fill", "currentColor"}});
}

void DrawInterval(Svg& svg, const Estimate& estimate, const Frame& frame, double y) {
  if (!estimate.HasInterval()) return;
  const double low = std::max(frame.x(estimate.low), frame.left);
  const double high = std::min(frame.x(estimate.high), frame.right);
  svg.Empty("line", {{"x1", low},
                     {"y1", y},
                     {"x2", high},
                     {"y2", y},
                     {"stroke", "currentColor"},
                     {"stroke-width", 2}});
  if (frame.x(estimate.low) < frame.left) DrawArrow(svg, frame.left, y, -1);
  if (frame.x(estimate.high) > frame.right) DrawArrow(svg, frame.right, y, 1);
}

void DrawRow(Svg& svg, const DotRow& row, const Frame& frame, double y) {
  const std::string name = plot::Shorten(row.name, frame.left - 12, plot::kLabelSize);
  svg.Element("text", {{"x", frame.left - 8}, {"y", y + 5}, {"text-anchor", "end"}}, name);
  svg.Open("g", {{"class", fmt::format("sx-s{}", row.series % plot::kSeriesColors + 1)},
                 {"color", plot::SeriesColor(row.series, plot::Theme::kLight)}});
  DrawInterval(svg, row.estimate, frame, y);
  for (double dot : row.dots) {
    svg.Empty("circle", {{"cx", frame.x(dot)},
                         {"cy", y},
                         {"r", 4},
                         {"fill", "currentColor"},
                         {"fill-opacity", 0.75}});
  }
  const double mean = frame.x(row.estimate.mean);
  svg.Empty("line", {{"x1", mean},
                     {"y1", y - 9},
                     {"x2", mean},
                     {"y2", y + 9},
                     {"stroke", "currentColor"},
                     {"stroke-width", 2.5}});
  svg.Close();
}

std::string DescribeRow(const DotRow& row) {
  const Estimate& estimate = row.estimate;
  if (!estimate.HasInterval())
    return fmt::format(" {}: {}.", row.name, RoundText(estimate.mean, 4));
  return fmt::format(" {}: mean {}, interval {} to {}, {}.", row.name, RoundText(estimate.mean, 4),
                     RoundText(estimate.low, 4), RoundText(estimate.high, 4),
                     Counted(estimate.count, "seed"));
}

std::string Describe(const DotPlot& plot) {
  std::string text = fmt::format("Dot plot of {}.", plot::AxisTitle(plot.x));
  for (const DotRow& row : plot.rows) text += DescribeRow(row);
  return text;
}

}  // namespace

std::string RenderSvg(const DotPlot& plot) {
  plot::Figure figure("dot plot", plot.title, Describe(plot), plot::Embedding::kInPage);
  double names = 0;
  for (const DotRow& row : plot.rows) {
    names = std::max(names, plot::TextWidth(row.name, plot::kLabelSize));
  }
  const double left = std::min(names, kLongestName) + 12;
  const double right = plot::kFigureWidth - kRightMargin, top = figure.bottom();
  const double bottom = top + kRowHeight * static_cast<double>(plot.rows.size());
  const Frame frame{left, right, top, bottom,
                    plot::AxisMap(plot.x.scale, RangeOf(plot), left, right)};
  DrawAxis(figure, plot, frame);
  double y = top + kRowHeight / 2;
  for (const DotRow& row : plot.rows) {
    DrawRow(figure.body(), row, frame, y);
    y += kRowHeight;
  }
  figure.Skip(bottom - top + 24);
  figure.AddCentredText(plot::AxisTitle(plot.x), 4, plot::kFigureWidth - 4);
  if (plot.reference && !plot.reference_label.empty()) {
    figure.AddCentredText(plot.reference_label, 4, plot::kFigureWidth - 4);
  }
  return figure.Finish();
}

}  // namespace sextant::lab
