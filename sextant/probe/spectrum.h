// How many directions a table of vectors spans.
#pragma once

#include <vector>

#include "sextant/core/view.h"

namespace sextant {

// The principal directions of a table's rows about their mean.
struct Spectrum {
  std::vector<double> singular_values;  // of the centred table, falling; min(rows, width) of them
  Array<double, 2> directions;          // [singular values, width], orthonormal rows; of a table
                                        // wider than long, 0 where its value is rounding
  Index holding_90 = 0;                 // fewest leading directions with 90 % of the variance
  Index holding_99 = 0;                 // and with 99 %; 0 where there is no variance
};

// Of table [rows, width], by Jacobi's rotations of the Gram matrix of its shorter side: values
// below 1e-8 of the largest are rounding. O(min(rows, width)^3) time. Throws Error for an empty
// table, one whose shorter side exceeds 4096, or numbers that are not finite.
Spectrum SpectrumOf(View<const double, 2> table);

// The share of the variance of `other` [rows, width], about its own mean, that lies within the
// first `count` directions. 0 where other has no variance. Throws Error where widths differ or
// count exceeds the directions.
double ShareWithin(const Spectrum& spectrum, Index count, View<const double, 2> other);

}  // namespace sextant
