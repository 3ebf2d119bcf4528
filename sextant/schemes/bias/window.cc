// Cells of a window, and what to say of positions outside it.
#include "sextant/schemes/bias/window.h"

#include "sextant/core/error.h"

namespace sextant {

GridCell Window::At(std::string_view scheme, const Positions& positions, Index n) const {
  const GridCell cell = CellOf(positions, n, width);
  if (cell.row >= 0 && cell.row < height && cell.column >= 0 && cell.column < width) return cell;
  const std::string size = std::to_string(height) + " x " + std::to_string(width);
  const std::string hint =
      "give height and width of the whole window or image, and start the "
      "positions of each window at 0";
  if (positions.axes() >= 2) {
    throw Error(scheme,
                "row " + std::to_string(cell.row) + ", column " + std::to_string(cell.column) +
                    " is outside the window of " + size + " cells",
                hint);
  }
  throw Error(scheme,
              "position " + std::to_string(positions.values(0, n)) + " is outside the window of " +
                  size + " cells (0 to " + std::to_string(height * width - 1) + ", row by row)",
              hint);
}

std::vector<GridCell> Window::All(std::string_view scheme, const Positions& positions) const {
  std::vector<GridCell> cells;
  for (Index n = 0; n < positions.count(); ++n) cells.push_back(At(scheme, positions, n));
  return cells;
}

}  // namespace sextant
