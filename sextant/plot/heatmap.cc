// Layout of heat maps: title, cells, labels, legend.
#include "sextant/plot/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sextant/plot/matrix.h"
#include "sextant/plot/png.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr Index kMostRows = 512;
constexpr Index kMostColumns = 768;
constexpr Index kMostShapes = 6000;
constexpr double kRightMargin = 10;
constexpr double kLongestName = 130;
constexpr double kSharpCell = 1.5;
constexpr int kLevels = 255;
constexpr std::uint8_t kMissing = 255;

struct Area {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

// Colour levels by cell, row by row.
struct Levels {
  Index rows = 0;
  Index columns = 0;
  std::vector<std::uint8_t> values;
};

double LevelPart(int level) { return level / (kLevels - 1.); }

Levels LevelsOf(View<const double, 2> values, Range range) {
  Levels levels{values.extent(0), values.extent(1), {}};
  for (Index row = 0; row < levels.rows; ++row) {
    for (Index column = 0; column < levels.columns; ++column) {
      const double value = values(row, column);
      const double part = (value / 2 - range.low / 2) / (range.high / 2 - range.low / 2);
      levels.values.push_back(std::isfinite(value) ? static_cast<std::uint8_t>(std::lround(
                                                         std::clamp(part, 0., 1.) * (kLevels - 1)))
                                                   : kMissing);
    }
  }
  return levels;
}

std::string Hex(const Rgba& color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

// One path for all cells of a colour, neighbours in a row joined.
void DrawShapes(Svg& svg, const Levels& levels, ColorMap colors, const Area& area) {
  std::array<std::string, kLevels> paths;
  for (Index row = 0; row < levels.rows; ++row) {
    for (Index column = 0; column < levels.columns;) {
      const auto line = levels.values.begin() + row * levels.columns;
      const std::uint8_t level = line[column];
      const Index start = column;
      while (column < levels.columns && line[column] == level) ++column;
      if (level == kMissing) continue;
      const Index width = column - start;
      paths[level] += fmt::format("M{} {}h{}v1h-{}z", start, row, width, width);
    }
  }
  svg.Open("g", {{"shape-rendering", "crispEdges"},
                 {"transform",
                  fmt::format("translate({} {}) scale({:.6g} {:.6g})", SvgNumber(area.left),
                              SvgNumber(area.top), area.width / static_cast<double>(levels.columns),
                              area.height / static_cast<double>(levels.rows))}});
  for (int level = 0; level < kLevels; ++level) {
    const std::string& path = paths[static_cast<std::size_t>(level)];
    if (path.empty()) continue;
    svg.Empty("path", {{"d", path}, {"fill", Hex(MapColor(colors, LevelPart(level)))}});
  }
  svg.Close();
}

void DrawImage(Svg& svg, const Levels& levels, ColorMap colors, const Area& area) {
  IndexedImage image{
      static_cast<int>(levels.columns), static_cast<int>(levels.rows), levels.values, {}};
  for (int level = 0; level < kLevels; ++level) {
    image.palette.push_back(MapColor(colors, LevelPart(level)));
  }
  image.palette.push_back({0, 0, 0, 0});
  // Enlarged cells keep sharp edges; cells smaller than a pixel are better smoothed than skipped.
  const bool enlarged = area.width >= kSharpCell * static_cast<double>(levels.columns) &&
                        area.height >= kSharpCell * static_cast<double>(levels.rows);
  svg.Empty("image", {{"x", area.left},
                      {"y", area.top},
                      {"width", area.width},
                      {"height", area.height},
                      {"preserveAspectRatio", "none"},
                      {"image-rendering", enlarged ? "pixelated" : "auto"},
                      {"href", "data:image/png;base64," + Base64(EncodePng(image))}});
}

void DefineHatch(Svg& svg, const std::string& id) {
  svg.Open("pattern",
           {{"id", id}, {"patternUnits", "userSpaceOnUse"}, {"width", 6}, {"height", 6}});
  svg.Empty("path", {{"class", "sx-hatch"},
                     {"d", "M-1 1L1-1M0 6L6 0M5 7L7 5"},
                     {"stroke", "#59616b"},
                     {"stroke-width", 1}});
  svg.Close();
}

void DrawRect(Svg& svg, const Area& area, std::string_view fill) {
  svg.Empty("rect", {{"class", "sx-axis"},
                     {"x", area.left},
                     {"y", area.top},
                     {"width", area.width},
                     {"height", area.height},
                     {"fill", fill},
                     {"stroke", "#59616b"}});
}

double RowLabelWidth(const Heatmap& map) {
  double width = 0;
  for (const Tick& tick : CellTicks(map.rows, map.values.extent(0), 8)) {
    width = std::max(width, TextWidth(tick.label, kLabelSize));
  }
  return std::min(width, kLongestName);
}

Area MakeArea(const Heatmap& map, double top) {
  const auto rows = static_cast<double>(map.values.extent(0));
  const auto columns = static_cast<double>(map.values.extent(1));
  const double left = 10 + RowLabelWidth(map);
  const double width = kFigureWidth - kRightMargin - left;
  const double least = std::min(140., 24 * rows);
  return {left, top, width, std::clamp(width * rows / columns, least, 400.)};
}

void DrawTick(Svg& svg, double x, double y, std::string_view anchor, std::string_view label) {
  svg.Element("text", {{"class", "sx-tick"}, {"x", x}, {"y", y}, {"text-anchor", anchor}}, label);
}

void DrawRowLabels(Svg& svg, const Heatmap& map, const Area& area) {
  const Index rows = map.values.extent(0);
  const int wanted = static_cast<int>(std::clamp(area.height / 20, 1., 8.));
  for (const Tick& tick : CellTicks(map.rows, rows, wanted)) {
    const double place = (tick.value + 0.5) / static_cast<double>(rows) * area.height;
    DrawTick(svg, area.left - 5, area.top + place + 5, "end",
             Shorten(tick.label, kLongestName, kLabelSize));
  }
}

void DrawColumnLabels(Svg& svg, const Heatmap& map, const Area& area) {
  const Index columns = map.values.extent(1);
  double widest = 24;
  for (const std::string& name : map.columns.names) {
    widest = std::max(widest, TextWidth(name, kLabelSize));
  }
  widest = std::min(widest, kLongestName);
  const int wanted = static_cast<int>(std::clamp(area.width / (widest + 6), 1., 24.));
  double free_from = 0;
  for (const Tick& tick : CellTicks(map.columns, columns, std::min(wanted, 9))) {
    const std::string label = Shorten(tick.label, kLongestName, kLabelSize);
    const double half = TextWidth(label, kLabelSize) / 2;
    const double middle =
        area.left + (tick.value + 0.5) / static_cast<double>(columns) * area.width;
    const double place = std::clamp(middle, half + 2, kFigureWidth - half - 2);
    if (place - half < free_from) continue;
    DrawTick(svg, place, area.top + area.height + 17, "middle", label);
    free_from = place + half + 4;
  }
}

void DrawBar(Figure& figure, const Heatmap& map, Range range) {
  constexpr double kHeight = 14;
  const Area bar{24, figure.bottom() + 4, 270, kHeight};
  Svg& svg = figure.body();
  svg.Open("linearGradient", {{"id", figure.Id("bar")}});
  constexpr int kStops = 16;
  for (int i = 0; i <= kStops; ++i) {
    const double part = i / static_cast<double>(kStops);
    svg.Empty("stop", {{"offset", fmt::format("{}%", SvgNumber(100 * part))},
                       {"stop-color", Hex(MapColor(map.colors, part))}});
  }
  svg.Close();
  DrawRect(svg, bar, "url(#" + figure.Id("bar") + ")");
  const AxisMap place(Scale::kLinear, range, bar.left, bar.left + bar.width);
  for (const Tick& tick : FittingTicks(place, 5, kLabelSize)) {
    const double x = place(tick.value);
    svg.Empty("line", {{"class", "sx-axis"},
                       {"x1", x},
                       {"y1", bar.top + kHeight},
                       {"x2", x},
                       {"y2", bar.top + kHeight + 4},
                       {"stroke", "#59616b"}});
    DrawTick(svg, x, bar.top + kHeight + 18, "middle", tick.label);
  }
}

void DrawLegend(Figure& figure, const Heatmap& map, const MatrixFacts& facts, Range range) {
  figure.Skip(8);
  figure.AddText(map.value_title);
  DrawBar(figure, map, range);
  if (facts.missing > 0) {
    const Area swatch{318, figure.bottom() + 4, 14, 14};
    DrawRect(figure.body(), swatch, "url(#" + figure.Id("hatch") + ")");
    figure.body().Element("text", {{"x", swatch.left + 19}, {"y", swatch.top + 12}}, "no number");
  }
  figure.Skip(40);
  const bool beyond = facts.least.value < range.low || facts.most.value > range.high;
  if (facts.finite > 0 && beyond)
    figure.AddText("values beyond the bar have the colour of its end");
}

void DrawCells(Figure& figure, const Heatmap& map, const MatrixFacts& facts, Range range) {
  const ReducedMatrix reduced = Reduce(map.values, kMostRows, kMostColumns);
  const Levels levels = LevelsOf(reduced.values, range);
  const Area area = MakeArea(map, figure.bottom());
  Svg& svg = figure.body();
  if (facts.missing > 0) {
    DefineHatch(svg, figure.Id("hatch"));
    DrawRect(svg, area, "url(#" + figure.Id("hatch") + ")");
  }
  if (levels.rows * levels.columns <= kMostShapes) {
    DrawShapes(svg, levels, map.colors, area);
  } else {
    DrawImage(svg, levels, map.colors, area);
  }
  DrawRect(svg, area, "none");
  DrawRowLabels(svg, map, area);
  DrawColumnLabels(svg, map, area);
  figure.Skip(area.height + 22);
  figure.AddCentredText(map.columns.title, area.left, area.left + area.width);
  figure.AddCentredText(ReductionNote(reduced), area.left, area.left + area.width);
}

std::string Place(const Heatmap& map, const Extreme& extreme) {
  return fmt::format("{} at {} {}, {} {}", NumberText(extreme.value),
                     map.rows.title.empty() ? "row" : map.rows.title,
                     CellLabel(map.rows, extreme.row),
                     map.columns.title.empty() ? "column" : map.columns.title,
                     CellLabel(map.columns, extreme.column));
}

std::string DescribeFacts(const Heatmap& map, const MatrixFacts& facts) {
  std::string text = map.summary.empty() ? "" : map.summary + " ";
  text += fmt::format("Heat map of {}: {} rows by {} columns",
                      map.value_title.empty() ? map.title : map.value_title, map.values.extent(0),
                      map.values.extent(1));
  if (facts.finite == 0) return text + ", no number to show.";
  text += fmt::format(". Least {}; most {}.", Place(map, facts.least), Place(map, facts.most));
  if (facts.missing > 0) text += fmt::format(" {} cells hold no number.", facts.missing);
  return text;
}

}  // namespace

std::string Describe(const Heatmap& map) {
  CheckHeatmap(map);
  return DescribeFacts(map, FactsOf(map.values));
}

std::string RenderSvg(const Heatmap& map, Embedding embedding) {
  CheckHeatmap(map);
  const MatrixFacts facts = FactsOf(map.values);
  const Range range = ColorRange(map, facts);
  Figure figure("heat map", map.title, DescribeFacts(map, facts), embedding);
  if (map.values.elements() == 0) {
    figure.AddText("no cells");
    return figure.Finish();
  }
  if (!map.rows.title.empty()) figure.AddText(map.rows.title + " ↓");
  figure.Skip(4);
  DrawCells(figure, map, facts, range);
  DrawLegend(figure, map, facts, range);
  return figure.Finish();
}

}  // namespace sextant::plot
