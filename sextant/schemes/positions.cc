// Positions made and read.
#include "sextant/schemes/positions.h"

namespace sextant {

GridCell CellOf(const Positions& positions, Index n, std::int64_t width) {
  if (positions.axes() >= 2) return {positions.values(0, n), positions.values(1, n)};
  const std::int64_t cell = positions.values(0, n);
  const std::int64_t row = cell >= 0 ? cell / width : -((width - 1 - cell) / width);
  return {row, cell - row * width};
}

}  // namespace sextant
