// Eigenvectors of a Gram matrix by cyclic Jacobi rotations.
#include "sextant/probe/spectrum.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr Index kMaxSide = 4096;
constexpr double kRounding = 1e-8;  // the square root of what a Gram matrix resolves

Array<double, 2> Centred(View<const double, 2> table) {
  const Index rows = table.extent(0), width = table.extent(1);
  Array<double, 2> centred({rows, width});
  for (Index c = 0; c < width; ++c) {
    double mean = 0;
    for (Index r = 0; r < rows; ++r) mean += table(r, c) / double(rows);
    for (Index r = 0; r < rows; ++r) centred(r, c) = table(r, c) - mean;
  }
  return centred;
}

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Makes symmetric `a` diagonal; row i of `vectors` becomes the eigenvector of a(i, i). Golub and
// Van Loan, Matrix Computations, section 8.5.
void Diagonalise(Array<double, 2>& a, Array<double, 2>& vectors) {
  constexpr int kMaxSweeps = 60;
  const Index n = a.extent(0);
  vectors = Array<double, 2>({n, n});
  for (Index i = 0; i < n; ++i) vectors(i, i) = 1;
  const auto turn = [n](double* x, double* y, double c, double s) {
    for (Index k = 0; k < n; ++k) {
      const double was = x[k];
      x[k] = c * was - s * y[k];
      y[k] = s * was + c * y[k];
    }
  };
  double largest = 0;
  for (Index i = 0; i < n; ++i) largest = std::max(largest, std::abs(a(i, i)));
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMaxSweeps; ++sweep) {
    turned = false;
    for (Index p = 0; p + 1 < n; ++p) {
      for (Index q = p + 1; q < n; ++q) {
        if (std::abs(a(p, q)) <= 1e-16 * largest) continue;
        turned = true;
        const double tau = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = std::copysign(1 / (std::abs(tau) + std::hypot(1, tau)), tau);
        const double c = 1 / std::hypot(1, t), s = t * c;
        const double app = a(p, p) - t * a(p, q), aqq = a(q, q) + t * a(p, q);
        turn(&a(p, 0), &a(q, 0), c, s);
        a(p, p) = app;
        a(q, q) = aqq;
        a(p, q) = a(q, p) = 0;
        // Rows stay contiguous; columns follow by symmetry.
        for (Index k = 0; k < n; ++k) {
          if (k == p || k == q) continue;
          a(k, p) = a(p, k);
          a(k, q) = a(q, k);
        }
        turn(&vectors(p, 0), &vectors(q, 0), c, s);
      }
    }
  }
}

Index Holding(const std::vector<double>& singular_values, double share) {
  double all = 0, sum = 0;
  for (double value : singular_values) all += value * value;
  if (all == 0) return 0;
  Index count = 0;
  for (double value : singular_values) {
    sum += value * value;
    ++count;
    if (sum >= share * all) break;
  }
  return count;
}

Array<double, 2> Transposed(const Array<double, 2>& table) {
  Array<double, 2> transposed({table.extent(1), table.extent(0)});
  for (Index r = 0; r < table.extent(0); ++r) {
    for (Index c = 0; c < table.extent(1); ++c) transposed(c, r) = table(r, c);
  }
  return transposed;
}

}  // namespace

Spectrum SpectrumOf(View<const double, 2> table) {
  const Index rows = table.extent(0), width = table.extent(1), side = std::min(rows, width);
  if (side < 1 || side > kMaxSide) {
    throw Error("spectrum", "the shorter side of a table must be from 1 to " +
                                std::to_string(kMaxSide) + ", got " + std::to_string(rows) + " x " +
                                std::to_string(width));
  }
  const Array<double, 2> centred = Centred(table);
  for (double value : centred.values()) {
    if (!std::isfinite(value)) throw Error("spectrum", "a table must hold finite numbers");
  }
  const Array<double, 2> short_side = rows < width ? centred : Transposed(centred);
  Array<double, 2> gram({side, side}), vectors;
  for (Index i = 0; i < side; ++i) {
    for (Index j = 0; j <= i; ++j) {
      gram(i, j) = gram(j, i) = Dot(short_side.view()[i].span(), short_side.view()[j].span());
    }
  }
  Diagonalise(gram, vectors);
  std::vector<Index> order(static_cast<std::size_t>(side));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return gram(a, a) > gram(b, b); });
  Spectrum spectrum;
  spectrum.directions = Array<double, 2>({side, width});
  for (Index i = 0; i < side; ++i) {
    const Index from = order[static_cast<std::size_t>(i)];
    const double singular = std::sqrt(std::max(0.0, gram(from, from)));
    spectrum.singular_values.push_back(singular);
    const auto vector = vectors.view()[from].span();
    const auto direction = spectrum.directions.view()[i].span();
    if (rows >= width) {
      std::copy(vector.begin(), vector.end(), direction.begin());
    } else if (singular > kRounding * spectrum.singular_values[0]) {
      // From a left singular vector to the right one: v = A^T u / sigma.
      for (Index r = 0; r < rows; ++r) {
        for (Index c = 0; c < width; ++c) {
          direction[static_cast<std::size_t>(c)] +=
              centred(r, c) * vector[static_cast<std::size_t>(r)] / singular;
        }
      }
    }
  }
  spectrum.holding_90 = Holding(spectrum.singular_values, 0.90);
  spectrum.holding_99 = Holding(spectrum.singular_values, 0.99);
  return spectrum;
}

double ShareWithin(const Spectrum& spectrum, Index count, View<const double, 2> other) {
  if (other.extent(1) != spectrum.directions.extent(1) || count < 0 ||
      count > spectrum.directions.extent(0)) {
    throw Error("spectrum", "the other table must be " +
                                std::to_string(spectrum.directions.extent(1)) +
                                " wide and the directions at most " +
                                std::to_string(spectrum.directions.extent(0)) + ", got " +
                                std::to_string(other.extent(1)) + " and " + std::to_string(count));
  }
  const Array<double, 2> centred = Centred(other);
  double all = 0, within = 0;
  for (Index r = 0; r < centred.extent(0); ++r) {
    const auto row = centred.view()[r].span();
    all += Dot(row, row);
    for (Index i = 0; i < count; ++i) {
      const double along = Dot(row, spectrum.directions.view()[i].span());
      within += along * along;
    }
  }
  return all == 0 ? 0 : within / all;
}

}  // namespace sextant
