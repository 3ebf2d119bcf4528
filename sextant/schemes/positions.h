// Positions of grids: which row and column a position means to a scheme of images.
#pragma once

#include "sextant/schemes/scheme.h"

namespace sextant {

struct GridCell {
  std::int64_t row, column;
};

// The cell of position n: axes 0 and 1 are row and column; a lone axis counts cells row by row over
// `width` columns.
GridCell CellOf(const Positions& positions, Index n, std::int64_t width);

}  // namespace sextant
