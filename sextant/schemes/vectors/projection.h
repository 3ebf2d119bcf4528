// What schemes of projected rows share: sinusoids of distances, a linear map by head, its gradient.
#pragma once

#include <span>

#include "sextant/schemes/scheme.h"

namespace sextant {

// R [numbers, width], width even: row n is [sin(x w_0) sin(x w_1) .. | cos(x w_0) cos(x w_1) ..] of
// the number x = numbers[n], with w_i = base^(-2i / width). Allocates the result. Computed in
// double. Source: Dai et al. 2019, arXiv 1901.02860, released code.
Array<double, 2> ConcatenatedSinusoids(std::span<const double> numbers, Index width, double base);

// projected(h, n, c) = sum_m projection(h, c, m) rows(n, m)
//   projection  [heads, head_dim, width]
//   rows        [n, width]
// Allocates the result, [heads, n, head_dim].
Array<double, 3> Project(View<const double, 3> projection, View<const double, 2> rows);

// Adds to d_projection and, unless it is empty, to d_rows what d_projected [heads, n, head_dim]
// sends back through Project. Shapes as there.
void ProjectBack(View<const double, 3> projection, View<const double, 2> rows,
                 View<const double, 3> d_projected, View<double, 3> d_projection,
                 View<double, 2> d_rows = {});

// The key vectors and biases of Transformer-XL and XLNet: a row a distance, R of the `behind`
// numbers (how far each key stands behind the query) projected by weights[0], and weights[1] and
// weights[2] as content and position bias [heads, head_dim].
struct ProjectedSinusoids {
  Index heads, head_dim, width;
  double base;

  DistanceVectorTables Tables(Weights weights, std::span<const double> behind) const;
  // Adds to d_weights what the gradients of the tables send back.
  void Back(Weights weights, std::span<const double> behind, const DistanceVectorTables& d_tables,
            WeightGradients d_weights) const;
};

}  // namespace sextant
