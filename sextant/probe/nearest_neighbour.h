// Whether a token is still itself after a position was added to its embedding.
#pragma once

#include "sextant/core/view.h"

namespace sextant {

enum class Nearness { kCosine, kEuclidean };

struct NearestNeighbour {
  Index pairs = 0;                                  // tokens x positions tested
  Index itself = 0;                                 // of these, where no other token is nearer
  double share = 0;                                 // itself / pairs
  Index token = -1, position = -1, taken_for = -1;  // the first pair that is not, else -1
};

// For tokens 0 .. tested-1 and every position: is tokens[t] the row of `tokens` nearest to
// tokens[t] + positions[p], among all rows? A tie counts as itself; by cosine, rows of norm 0 are
// never nearest.
//   tokens     [vocabulary, d]
//   positions  [rows, d]
// In double; O(tested * vocabulary * (d + rows) + rows * vocabulary * d) time, allocates
// rows * vocabulary numbers. Throws Error for different widths, nothing to test, or `tested` above
// the vocabulary.
NearestNeighbour NearestAfterAdding(View<const double, 2> tokens, View<const double, 2> positions,
                                    Index tested, Nearness nearness);

}  // namespace sextant
