// Line charts as SVG: named series with bands, on linear or log axes.
#pragma once

#include <string>
#include <vector>

#include "sextant/plot/axis.h"
#include "sextant/plot/figure.h"

namespace sextant::plot {

// kSome: at every point of a short series, else here and there along the line.
enum class Markers { kSome, kAll, kNone };

// Points in the order of the line. A point without a place on the axes (NaN, infinite, not above 0
// on a log axis) leaves a gap. `low` and `high` bound a band around the line, or are empty.
struct Series {
  std::string name = {};
  std::vector<double> x = {};
  std::vector<double> y = {};
  std::vector<double> low = {};
  std::vector<double> high = {};
  Markers markers = Markers::kSome;
};

// A vertical line across the chart, e.g. at the trained length.
struct Guide {
  double x = 0;
  std::string label = {};
};

struct Chart {
  std::string title = {};
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  std::vector<Guide> guides = {};
  std::string summary = {};  // what the chart shows, before the numbers in its description
};

// The chart as one <svg> element that scales with its container. Series differ by colour, dash and
// marker; long ones are thinned to what a screen shows, keeping their extremes. No series, or none
// with a point, gives an empty frame that says so. Throws Error where the title is empty, vectors
// of a series differ in length, one of low and high is missing, or an axis ends before it starts.
std::string RenderSvg(const Chart& chart, Embedding embedding = Embedding::kStandAlone);

// The chart in words: its axes, and for each series where it starts, ends and is lowest. Throws as
// RenderSvg does.
std::string Describe(const Chart& chart);

// Throws as RenderSvg does for the series of the chart.
void CheckSeries(const Chart& chart);

}  // namespace sextant::plot
