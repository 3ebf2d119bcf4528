// Sinusoids of distances and a linear map by head.
#include "sextant/schemes/vectors/projection.h"

#include <cmath>

namespace sextant {

Array<double, 2> ConcatenatedSinusoids(std::span<const double> numbers, Index width, double base) {
  Array<double, 2> rows({Index(numbers.size()), width});
  for (Index i = 0; i < width / 2; ++i) {
    const double frequency = std::pow(base, -2.0 * double(i) / double(width));
    for (Index n = 0; n < rows.extent(0); ++n) {
      const double angle = numbers[std::size_t(n)] * frequency;
      rows(n, i) = std::sin(angle);
      rows(n, width / 2 + i) = std::cos(angle);
    }
  }
  return rows;
}

Array<double, 3> Project(View<const double, 3> projection, View<const double, 2> rows) {
  Array<double, 3> projected({projection.extent(0), rows.extent(0), projection.extent(1)});
  for (Index h = 0; h < projected.extent(0); ++h) {
    for (Index n = 0; n < projected.extent(1); ++n) {
      const auto row = rows[n].span();
      for (Index c = 0; c < projected.extent(2); ++c) {
        const auto w = projection[h][c].span();
        double sum = 0;
        for (std::size_t m = 0; m < row.size(); ++m) sum += w[m] * row[m];
        projected(h, n, c) = sum;
      }
    }
  }
  return projected;
}

void ProjectBack(View<const double, 3> projection, View<const double, 2> rows,
                 View<const double, 3> d_projected, View<double, 3> d_projection,
                 View<double, 2> d_rows) {
  for (Index h = 0; h < projection.extent(0); ++h) {
    for (Index n = 0; n < rows.extent(0); ++n) {
      const auto row = rows[n].span();
      for (Index c = 0; c < projection.extent(1); ++c) {
        const double d = d_projected(h, n, c);
        const auto w = projection[h][c].span();
        const auto d_w = d_projection[h][c].span();
        for (std::size_t m = 0; m < row.size(); ++m) d_w[m] += d * row[m];
        if (d_rows.elements() == 0) continue;
        const auto d_row = d_rows[n].span();
        for (std::size_t m = 0; m < row.size(); ++m) d_row[m] += d * w[m];
      }
    }
  }
}

DistanceVectorTables ProjectedSinusoids::Tables(Weights weights,
                                                std::span<const double> behind) const {
  DistanceVectorTables tables;
  for (std::size_t n = 0; n < behind.size(); ++n) tables.row.push_back(std::int32_t(n));
  tables.key = Project({weights[0].data(), {heads, head_dim, width}},
                       ConcatenatedSinusoids(behind, width, base));
  tables.content_bias = Array<double, 2>({heads, head_dim});
  tables.content_bias.values() = weights[1];
  tables.position_bias = Array<double, 2>({heads, head_dim});
  tables.position_bias.values() = weights[2];
  return tables;
}

void ProjectedSinusoids::Back(Weights weights, std::span<const double> behind,
                              const DistanceVectorTables& d_tables,
                              WeightGradients d_weights) const {
  const Shape<3> shape = {heads, head_dim, width};
  ProjectBack({weights[0].data(), shape}, ConcatenatedSinusoids(behind, width, base), d_tables.key,
              {d_weights[0].data(), shape});
  AddTo(d_tables.content_bias.values(), d_weights[1]);
  AddTo(d_tables.position_bias.values(), d_weights[2]);
}

}  // namespace sextant
