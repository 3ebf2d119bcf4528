// Colours found by maximising the least OKLab distance between any two series under normal and
// simulated colour-blind vision (Machado et al. 2009), with hues fixed across the themes.
#include "sextant/plot/palette.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace sextant::plot {
namespace {

struct SeriesColors {
  std::string_view light;
  std::string_view dark;
  int terminal;
};

constexpr std::array<SeriesColors, kSeriesColors> kColors = {{
    {"#0790e8", "#0186bb", 32},
    {"#872605", "#c4545b", 130},
    {"#518f73", "#2ff8a3", 36},
    {"#7739f6", "#8d56ff", 99},
    {"#a88504", "#ebfe52", 142},
    {"#012a62", "#9dcafd", 68},
    {"#f82cb9", "#f006a8", 199},
    {"#895f31", "#c1840d", 137},
    {"#136d7a", "#b3fff5", 37},
    {"#4f1b13", "#fea543", 166},
    {"#252fb7", "#8196f7", 63},
    {"#3f454e", "#b1a89e", 245},
}};

constexpr std::array<std::string_view, 6> kDashes = {"", "9 4", "3 3", "11 4 3 4", "6 3", "14 4"};

constexpr std::array<MarkerShape, 8> kShapes = {
    MarkerShape::kCircle, MarkerShape::kSquare, MarkerShape::kTriangle, MarkerShape::kDiamond,
    MarkerShape::kWedge,  MarkerShape::kCross,  MarkerShape::kPlus,     MarkerShape::kStar};

constexpr std::array<Rgba, 9> kDivergingStops = {{{10, 58, 126},
                                                  {38, 102, 178},
                                                  {98, 156, 214},
                                                  {172, 206, 236},
                                                  {247, 247, 245},
                                                  {250, 205, 160},
                                                  {238, 154, 74},
                                                  {198, 96, 18},
                                                  {132, 52, 0}}};

constexpr std::array<Rgba, 9> kSequentialStops = {{{68, 1, 84},
                                                   {71, 44, 122},
                                                   {59, 81, 139},
                                                   {44, 113, 142},
                                                   {33, 144, 141},
                                                   {39, 173, 129},
                                                   {92, 200, 99},
                                                   {170, 220, 50},
                                                   {253, 231, 37}}};

std::uint8_t Between(std::uint8_t from, std::uint8_t to, double part) {
  return static_cast<std::uint8_t>(std::lround(from + part * (to - from)));
}

int Distance(const Rgba& a, int red, int green, int blue) {
  const int dr = a.red - red, dg = a.green - green, db = a.blue - blue;
  return 3 * dr * dr + 6 * dg * dg + db * db;
}

int CubeLevel(int step) { return step == 0 ? 0 : 55 + 40 * step; }

}  // namespace

std::string_view SeriesColor(std::size_t series, Theme theme) {
  const SeriesColors& colors = kColors[series % kSeriesColors];
  return theme == Theme::kLight ? colors.light : colors.dark;
}

std::string_view PaperColor(Theme theme) { return theme == Theme::kLight ? "#ffffff" : "#15181c"; }

int TerminalSeriesColor(std::size_t series) { return kColors[series % kSeriesColors].terminal; }

std::string_view SeriesDash(std::size_t series) {
  const std::size_t lap = series / kSeriesColors;
  return kDashes[(series + lap) % kDashes.size()];
}

Marker SeriesMarker(std::size_t series) {
  constexpr std::array<MarkerShape, 4> kHollow = {MarkerShape::kCircle, MarkerShape::kSquare,
                                                  MarkerShape::kTriangle, MarkerShape::kDiamond};
  const std::size_t at = series % kSeriesColors;
  if (at < kShapes.size()) return {kShapes[at], MarkerFill::kFull};
  return {kHollow[at - kShapes.size()], MarkerFill::kHollow};
}

Rgba MapColor(ColorMap map, double part) {
  const auto& stops = map == ColorMap::kDiverging ? kDivergingStops : kSequentialStops;
  const double place = std::clamp(part, 0., 1.) * static_cast<double>(stops.size() - 1);
  const std::size_t at = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double rest = place - static_cast<double>(at);
  const Rgba &from = stops[at], &to = stops[at + 1];
  return {Between(from.red, to.red, rest), Between(from.green, to.green, rest),
          Between(from.blue, to.blue, rest)};
}

int NearestTerminalColor(const Rgba& color) {
  int nearest = 16, least = Distance(color, 0, 0, 0);
  const auto consider = [&](int entry, int red, int green, int blue) {
    const int distance = Distance(color, red, green, blue);
    if (distance < least) std::tie(nearest, least) = std::pair(entry, distance);
  };
  for (int entry = 16; entry < 232; ++entry) {
    const int cube = entry - 16;
    consider(entry, CubeLevel(cube / 36), CubeLevel(cube / 6 % 6), CubeLevel(cube % 6));
  }
  for (int grey = 0; grey < 24; ++grey) {
    const int level = 8 + 10 * grey;
    consider(232 + grey, level, level, level);
  }
  return nearest;
}

}  // namespace sextant::plot
