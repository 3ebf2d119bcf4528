// Reduction, ranges and labels of matrices.
#include "sextant/plot/matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

Array<double, 2> Matrix(Index rows, Index columns, std::vector<double> values) {
  Array<double, 2> matrix({rows, columns});
  matrix.values() = std::move(values);
  return matrix;
}

Heatmap MapOf(const Array<double, 2>& matrix, ColorMap colors) {
  return {.title = "t", .values = matrix.view(), .colors = colors};
}

TEST(Reduce, AveragesBlocksAndSaysSo) {
  const Array<double, 2> matrix = Matrix(3, 4, {1, 3, 5, 7, 1, 3, 5, 7, 10, 20, 30, 40});
  const ReducedMatrix reduced = Reduce(matrix, 2, 2);
  EXPECT_EQ(reduced.values.values(), (std::vector<double>{2, 6, 15, 35}));
  EXPECT_EQ(ReductionNote(reduced), "each cell is the mean of 2 x 2 values");
}

TEST(Reduce, KeepsWhatFits) {
  const Array<double, 2> matrix = Matrix(2, 2, {1, 2, 3, 4});
  const ReducedMatrix reduced = Reduce(matrix, 2, 5);
  EXPECT_EQ(reduced.values.values(), matrix.values());
  EXPECT_EQ(ReductionNote(reduced), "");
}

TEST(Reduce, LeavesOutWhatIsNotFinite) {
  const Array<double, 2> matrix = Matrix(1, 4, {1, NAN, -INFINITY, NAN});
  const ReducedMatrix reduced = Reduce(matrix, 1, 2);
  EXPECT_EQ(reduced.values(0, 0), 1);
  EXPECT_TRUE(std::isnan(reduced.values(0, 1)));
}

TEST(FactsOf, FindsExtremesAndGaps) {
  const MatrixFacts facts = FactsOf(Matrix(2, 3, {4, NAN, -2, 9, INFINITY, 0}));
  EXPECT_EQ(facts.finite, 4);
  EXPECT_EQ(facts.missing, 2);
  EXPECT_EQ(facts.least.value, -2);
  EXPECT_EQ(facts.least.column, 2);
  EXPECT_EQ(facts.most.value, 9);
  EXPECT_EQ(facts.most.row, 1);
}

TEST(ColorRange, DivergingIsCentredOnZero) {
  const Array<double, 2> matrix = Matrix(1, 2, {1, 5});
  const Heatmap map = MapOf(matrix, ColorMap::kDiverging);
  const Range range = ColorRange(map, FactsOf(matrix));
  EXPECT_EQ(range.low, -5);
  EXPECT_EQ(range.high, 5);
}

TEST(ColorRange, IsNeverEmpty) {
  for (const std::vector<double>& values :
       std::vector<std::vector<double>>{{0, 0}, {3, 3}, {NAN, NAN}, {-1e300, 1e308}}) {
    for (ColorMap colors : {ColorMap::kDiverging, ColorMap::kSequential}) {
      for (std::optional<double> from : {std::optional<double>(), std::optional<double>(7)}) {
        const Array<double, 2> matrix = Matrix(1, 2, values);
        Heatmap map = MapOf(matrix, colors);
        map.from = from;
        const Range range = ColorRange(map, FactsOf(matrix));
        EXPECT_LT(range.low, range.high);
      }
    }
  }
}

TEST(CellTicks, LabelCells) {
  const std::vector<Tick> ticks = CellTicks({.first = -64, .step = 2}, 65, 4);
  ASSERT_GE(ticks.size(), 3u);
  EXPECT_EQ(ticks.front().label, "-50");
  EXPECT_DOUBLE_EQ(ticks.front().value, 7);
  EXPECT_EQ(CellTicks({.names = {"a", "b", "c", "d"}}, 4, 2).back().label, "c");
  EXPECT_EQ(CellTicks({.first = 5}, 1, 4).front().label, "5");
  EXPECT_TRUE(CellTicks({}, 0, 4).empty());
}

TEST(CellTicks, FallOnCellsThatCanBeToldApart) {
  for (Index cells : {2, 3, 7, 48, 60}) {
    for (double step : {1., 0.3, -2., 16.}) {
      for (const Tick& tick : CellTicks({.first = 1, .step = step}, cells, 6)) {
        EXPECT_NEAR(tick.value, std::round(tick.value), 1e-6);
        EXPECT_GE(tick.value, -1e-6);
        EXPECT_LE(tick.value, static_cast<double>(cells - 1) + 1e-6);
      }
    }
  }
}

TEST(CheckHeatmap, RefusesMisuse) {
  const Array<double, 2> matrix = Matrix(1, 2, {1, 5});
  Heatmap map = MapOf(matrix, ColorMap::kSequential);
  EXPECT_NO_THROW(CheckHeatmap(map));
  map.title.clear();
  EXPECT_THROW(CheckHeatmap(map), Error);
  map = MapOf(matrix, ColorMap::kSequential);
  map.columns.names = {"one"};
  EXPECT_THROW(CheckHeatmap(map), Error);
  map = MapOf(matrix, ColorMap::kSequential);
  map.rows.step = 0;
  EXPECT_THROW(CheckHeatmap(map), Error);
  map = MapOf(matrix, ColorMap::kSequential);
  map.from = map.to = 1;
  EXPECT_THROW(CheckHeatmap(map), Error);
  map.to = NAN;
  EXPECT_THROW(CheckHeatmap(map), Error);
}

}  // namespace
}  // namespace sextant::plot
