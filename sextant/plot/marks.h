// The marks of a series in SVG: line, band and markers.
#pragma once

#include <cstddef>
#include <string>

#include "sextant/plot/axis.h"
#include "sextant/plot/chart.h"
#include "sextant/plot/palette.h"
#include "sextant/plot/svg.h"

namespace sextant::plot {

// The line with its gaps. Of many points in the same unit of width only the first, lowest, highest
// and last are kept.
PathData LinePath(const Series& series, const AxisMap& x, const AxisMap& y);

// The area between low and high, one closed outline a run of points; empty without a band. On a log
// axis a low that is not above 0 counts as the axis' end.
PathData BandPath(const Series& series, const AxisMap& x, const AxisMap& y);

// One marker around (x, y), in the current colour.
void DrawMarker(Svg& svg, Marker marker, double x, double y);

// The markers of `series`, the number `at` of `count`. Points alone between gaps always get one.
void DrawMarkers(Svg& svg, const Series& series, std::size_t at, std::size_t count,
                 const AxisMap& x, const AxisMap& y);

}  // namespace sextant::plot
