// What heat maps in SVG and on a terminal share: smaller matrices, ranges of colours, labels of
// cells.
#pragma once

#include <string>
#include <vector>

#include "sextant/core/view.h"
#include "sextant/plot/axis.h"
#include "sextant/plot/heatmap.h"

namespace sextant::plot {

// A matrix whose cells are means of blocks of another (of fewer values at the far edges). Values
// that are not finite count for nothing; a block of them alone gives NaN.
struct ReducedMatrix {
  Array<double, 2> values;
  Index block_rows = 1;
  Index block_columns = 1;
};

// At most `most_rows` x `most_columns` cells, both at least 1.
ReducedMatrix Reduce(View<const double, 2> values, Index most_rows, Index most_columns);

// "each cell is the mean of 4 x 8 values", empty where none was averaged.
std::string ReductionNote(const ReducedMatrix& matrix);

// A finite cell, or none.
struct Extreme {
  double value = 0;
  Index row = 0;
  Index column = 0;
};

struct MatrixFacts {
  Index finite = 0;
  Index missing = 0;
  Extreme least;
  Extreme most;
};
MatrixFacts FactsOf(View<const double, 2> values);

// The values at the ends of the colours; see Heatmap.
Range ColorRange(const Heatmap& map, const MatrixFacts& facts);

// Throws as RenderSvg does.
void CheckHeatmap(const Heatmap& map);

// The label of one row or column.
std::string CellLabel(const CellAxis& axis, Index cell);

// About `wanted` labels; a tick's value is the place of the cell in 0 .. cells-1.
std::vector<Tick> CellTicks(const CellAxis& axis, Index cells, int wanted);

}  // namespace sextant::plot
