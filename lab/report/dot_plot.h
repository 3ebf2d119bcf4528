// Dots in rows: every seed of each scheme, with mean and interval.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/report/statistics.h"
#include "sextant/plot/axis.h"

namespace sextant::lab {

struct DotRow {
  std::string name;
  std::size_t series = 0;  // its number in the other figures, for the colour
  std::vector<double> dots;
  Estimate estimate;
};

struct DotPlot {
  std::string title;
  plot::Axis x;
  std::vector<DotRow> rows;
  std::optional<double> reference = {};  // a vertical line
  std::string reference_label = {};
};

// The plot as one <svg> for a page that has plot::FigureCss. The dots set the scale; an interval
// that reaches far beyond them is cut and ends in an arrow.
std::string RenderSvg(const DotPlot& plot);

}  // namespace sextant::lab
