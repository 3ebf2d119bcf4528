// Heat maps in SVG: shapes, images, gaps and words.
#include "sextant/plot/heatmap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

Array<double, 2> Waves(Index rows, Index columns) {
  Array<double, 2> matrix({rows, columns});
  for (Index i = 0; i < rows * columns; ++i) {
    matrix.values()[static_cast<std::size_t>(i)] = std::sin(static_cast<double>(i) * 0.1);
  }
  return matrix;
}

Heatmap MapOf(const Array<double, 2>& matrix) {
  return {.title = "Table",
          .rows = {.title = "position"},
          .columns = {.title = "dimension"},
          .values = matrix.view(),
          .value_title = "value"};
}

TEST(Heatmap, IsAnImageWithNameDescriptionAndLegend) {
  const Array<double, 2> matrix = Waves(4, 6);
  const std::string svg = RenderSvg(MapOf(matrix));
  EXPECT_NE(svg.find("role=\"img\""), svg.npos);
  EXPECT_NE(svg.find(">Table</title>"), svg.npos);
  EXPECT_NE(svg.find("<linearGradient"), svg.npos);
  EXPECT_NE(svg.find(">value</text>"), svg.npos);
  EXPECT_EQ(svg.find("<image"), svg.npos);
  EXPECT_EQ(svg.find("<pattern"), svg.npos);
}

TEST(Heatmap, DescribesItsExtremes) {
  Array<double, 2> matrix({2, 2});
  matrix.values() = {1, -2, NAN, 3};
  Heatmap map = MapOf(matrix);
  map.columns.names = {"a", "b"};
  EXPECT_EQ(
      Describe(map),
      "Heat map of value: 2 rows by 2 columns. Least -2 at position 0, dimension b; most 3 at "
      "position 1, dimension b. 1 cells hold no number.");
}

TEST(Heatmap, ManyCellsBecomeAnImage) {
  const Array<double, 2> matrix = Waves(128, 512);
  const std::string svg = RenderSvg(MapOf(matrix));
  EXPECT_NE(svg.find("href=\"data:image/png;base64,"), svg.npos);
  EXPECT_LT(svg.size(), 110000u);
  const Array<double, 2> square = Waves(100, 100);
  EXPECT_NE(RenderSvg(MapOf(square)).find("pixelated"), std::string::npos);
}

TEST(Heatmap, HugeMatricesAreAveragedAndSaySo) {
  const Array<double, 2> matrix = Waves(600, 1600);
  EXPECT_NE(RenderSvg(MapOf(matrix)).find("each cell is the mean of 2 x 3 values"),
            std::string::npos);
}

TEST(Heatmap, CellsWithoutANumberAreHatched) {
  Array<double, 2> matrix = Waves(4, 6);
  matrix(0, 0) = -INFINITY;
  const std::string svg = RenderSvg(MapOf(matrix));
  EXPECT_NE(svg.find("<pattern"), svg.npos);
  EXPECT_NE(svg.find(">no number</text>"), svg.npos);
}

TEST(Heatmap, ValuesBeyondTheBarAreSaid) {
  const Array<double, 2> matrix = Waves(4, 6);
  Heatmap map = MapOf(matrix);
  map.to = 0.1;
  map.from = -0.1;
  EXPECT_NE(RenderSvg(map).find("beyond the bar"), std::string::npos);
}

TEST(Heatmap, DrawsOddMatrices) {
  const Array<double, 2> none({0, 5});
  EXPECT_NE(RenderSvg(MapOf(none)).find("no cells"), std::string::npos);
  Array<double, 2> one({1, 1});
  one(0, 0) = NAN;
  EXPECT_NE(RenderSvg(MapOf(one)).find("no number"), std::string::npos);
  Array<double, 2> wide({1, 20000});
  wide(0, 3) = 1e308;
  wide(0, 4) = -1e308;
  const std::string svg = RenderSvg(MapOf(wide));
  EXPECT_EQ(svg.find("nan"), svg.npos);
  const Array<double, 2> tall({5000, 2});
  EXPECT_FALSE(RenderSvg(MapOf(tall)).empty());
}

TEST(Heatmap, EscapesNames) {
  const Array<double, 2> matrix = Waves(1, 2);
  Heatmap map = MapOf(matrix);
  map.columns.names = {"<script>", "&"};
  EXPECT_EQ(RenderSvg(map).find("<script"), std::string::npos);
}

}  // namespace
}  // namespace sextant::plot
