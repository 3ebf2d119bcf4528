// How series look, and the colours of heat maps.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "sextant/plot/png.h"

namespace sextant::plot {

enum class Theme { kLight, kDark };

inline constexpr std::size_t kSeriesColors = 12;

// "#rrggbb" of series 0, 1, ...: the same hues in both themes, at least 3:1 against the paper,
// apart also under the three kinds of colour blindness. Repeats after kSeriesColors.
std::string_view SeriesColor(std::size_t series, Theme theme);

// The colour of the paper that the series' colours are made for.
std::string_view PaperColor(Theme theme);

// An entry of the terminal's 256 colours near the series' colour, readable on black and on white.
int TerminalSeriesColor(std::size_t series);

// A stroke-dasharray, empty for a solid line. With MarkerShape's, pairs repeat after 12 series.
std::string_view SeriesDash(std::size_t series);

enum class MarkerShape { kCircle, kSquare, kTriangle, kDiamond, kWedge, kCross, kPlus, kStar };
enum class MarkerFill { kFull, kHollow };
struct Marker {
  MarkerShape shape = MarkerShape::kCircle;
  MarkerFill fill = MarkerFill::kFull;

  bool operator==(const Marker&) const = default;
};
Marker SeriesMarker(std::size_t series);

// kDiverging: blue, near white, orange, for numbers around 0. kSequential: dark violet to yellow
// (viridis), lightness rising.
enum class ColorMap { kDiverging, kSequential };

// The colour at `part` of the map's length; beyond 0..1 the colour of the end.
Rgba MapColor(ColorMap map, double part);

// The entry of the terminal's 6x6x6 cube and grey ramp (16..255) nearest to `color`.
int NearestTerminalColor(const Rgba& color);

}  // namespace sextant::plot
