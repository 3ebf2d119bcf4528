// The palette's promises: contrast with the paper and distance between series, also for the colour
// blind.
#include "sextant/plot/palette.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace sextant::plot {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector Times(const Matrix& matrix, const Vector& vector) {
  Vector product{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) product[i] += matrix[i][j] * vector[j];
  }
  return product;
}

Vector LinearRgb(std::string_view hex) {
  Vector rgb{};
  for (int i = 0; i < 3; ++i) {
    const double part = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.;
    rgb[i] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

// WCAG 2.2, relative luminance and contrast ratio.
double Luminance(const Vector& rgb) { return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]; }
double Contrast(std::string_view a, std::string_view b) {
  const double first = Luminance(LinearRgb(a)) + 0.05, second = Luminance(LinearRgb(b)) + 0.05;
  return std::max(first, second) / std::min(first, second);
}

Vector OkLab(const Vector& rgb) {
  constexpr Matrix kToCones = {{{0.4122214708, 0.5363325363, 0.0514459929},
                                {0.2119034982, 0.6806995451, 0.1073969566},
                                {0.0883024619, 0.2817188376, 0.6299787005}}};
  constexpr Matrix kToLab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                              {1.9779984951, -2.4285922050, 0.4505937099},
                              {0.0259040371, 0.7827717662, -0.8086757660}}};
  Vector cones = Times(kToCones, rgb);
  for (double& cone : cones) cone = std::cbrt(std::max(0., cone));
  return Times(kToLab, cones);
}

// Machado et al. 2009, severity 1, on linear RGB.
constexpr Matrix kVisions[] = {
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
};

TEST(SeriesColor, ContrastsWithThePaper) {
  for (Theme theme : {Theme::kLight, Theme::kDark}) {
    for (std::size_t i = 0; i < kSeriesColors; ++i) {
      EXPECT_GE(Contrast(SeriesColor(i, theme), PaperColor(theme)), 3) << i;
    }
  }
}

TEST(SeriesColor, StaysApartUnderColourBlindness) {
  constexpr double kJustTold = 0.07;
  for (Theme theme : {Theme::kLight, Theme::kDark}) {
    for (const Matrix& vision : kVisions) {
      for (std::size_t i = 0; i < kSeriesColors; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const Vector a = OkLab(Times(vision, LinearRgb(SeriesColor(i, theme))));
          const Vector b = OkLab(Times(vision, LinearRgb(SeriesColor(j, theme))));
          EXPECT_GE(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), kJustTold) << i << " " << j;
        }
      }
    }
  }
}

TEST(SeriesLook, MarkersDifferAndSoDoPairsWithDashes) {
  std::set<std::pair<int, int>> markers;
  for (std::size_t i = 0; i < kSeriesColors; ++i) {
    const Marker marker = SeriesMarker(i);
    markers.emplace(static_cast<int>(marker.shape), static_cast<int>(marker.fill));
  }
  EXPECT_EQ(markers.size(), kSeriesColors);
  for (std::size_t i = 0; i < kSeriesColors; ++i) {
    EXPECT_EQ(SeriesMarker(i), SeriesMarker(i + kSeriesColors));
    EXPECT_NE(SeriesDash(i), SeriesDash(i + kSeriesColors));
  }
}

TEST(MapColor, DivergesFromNearWhite) {
  const Rgba low = MapColor(ColorMap::kDiverging, 0), middle = MapColor(ColorMap::kDiverging, 0.5),
             high = MapColor(ColorMap::kDiverging, 1);
  EXPECT_GT(low.blue, low.red);
  EXPECT_GT(high.red, high.blue);
  EXPECT_GT(std::min({middle.red, middle.green, middle.blue}), 240);
  EXPECT_EQ(MapColor(ColorMap::kDiverging, 7), high);
}

TEST(MapColor, SequentialGetsLighter) {
  int before = -1;
  for (int i = 0; i <= 20; ++i) {
    const Rgba color = MapColor(ColorMap::kSequential, i / 20.);
    const int lightness = 2 * color.red + 7 * color.green + color.blue;
    EXPECT_GT(lightness, before);
    before = lightness;
  }
}

TEST(NearestTerminalColor, FindsCubeAndGreys) {
  EXPECT_EQ(NearestTerminalColor({255, 0, 0}), 196);
  EXPECT_EQ(NearestTerminalColor({255, 255, 255}), 231);
  EXPECT_EQ(NearestTerminalColor({128, 128, 128}), 244);
}

}  // namespace
}  // namespace sextant::plot
