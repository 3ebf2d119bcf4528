// A window of image cells: which cell a position is, and which row of a table two cells read.
#pragma once

#include "sextant/schemes/positions.h"

namespace sextant {

// height x width cells. Positions of two axes are row and column; a lone axis counts the cells row
// by row.
struct Window {
  std::int64_t height, width;

  // The cell of position n. Throws Error, naming the scheme, where it lies outside.
  GridCell At(std::string_view scheme, const Positions& positions, Index n) const;
  std::vector<GridCell> All(std::string_view scheme, const Positions& positions) const;

  // Numbers of the differences query - key: (2 height - 1)(2 width - 1), rows first.
  Index differences() const { return (2 * height - 1) * (2 * width - 1); }
  Index Difference(const GridCell& query, const GridCell& key) const {
    return (query.row - key.row + height - 1) * (2 * width - 1) + query.column - key.column +
           width - 1;
  }
  // act(i, j, difference) for every query and key.
  template <class Do>
  void ForEach(std::string_view scheme, const Positions& queries, const Positions& keys,
               Do&& act) const {
    const std::vector<GridCell> at_queries = All(scheme, queries), at_keys = All(scheme, keys);
    for (std::size_t i = 0; i < at_queries.size(); ++i) {
      for (std::size_t j = 0; j < at_keys.size(); ++j) {
        act(Index(i), Index(j), Difference(at_queries[i], at_keys[j]));
      }
    }
  }
};

}  // namespace sextant
