// Heat maps of matrices as SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sextant/core/view.h"
#include "sextant/plot/figure.h"
#include "sextant/plot/palette.h"

namespace sextant::plot {

// The rows or columns: `names`, one each, or else numbers, `step` apart from `first`.
struct CellAxis {
  std::string title = {};
  double first = 0;
  double step = 1;
  std::vector<std::string> names = {};
};

// Cell (row, column) shows values(row, column); row 0 is at the top. The view must stay valid while
// the heat map is used. Numbers that are not finite are hatched.
struct Heatmap {
  std::string title = {};
  CellAxis rows = {};
  CellAxis columns = {};
  View<const double, 2> values = {};
  std::string value_title = {};            // what the colours mean, with the unit
  ColorMap colors = ColorMap::kDiverging;  // kDiverging is centred on 0, whatever the range
  std::optional<double> from = {};         // the values at the ends of the colours: those of the
  std::optional<double> to = {};           // matrix where not given; values beyond get the ends
  std::string summary = {};  // what the map shows, before the numbers in its description
};

// The heat map as one <svg> element that scales with its container. Up to 6000 cells are shapes,
// more are an inline PNG; a matrix beyond 512 x 768 is averaged in blocks, which the figure says. A
// matrix without cells gives a figure that says so. Throws Error where the title is empty, names do
// not match the matrix, a step is 0 or not finite, or from is not below to.
std::string RenderSvg(const Heatmap& map, Embedding embedding = Embedding::kStandAlone);

// The map in words: its size, range and extremes. Throws as RenderSvg does.
std::string Describe(const Heatmap& map);

}  // namespace sextant::plot
