// Nearest tokens by dot products: those of tokens with tokens and of positions with tokens suffice.
#include "sextant/probe/nearest_neighbour.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sextant/core/error.h"

namespace sextant {
namespace {

double Dot(View<const double, 1> a, View<const double, 1> b) {
  double sum = 0;
  for (Index c = 0; c < a.extent(0); ++c) sum += a(c) * b(c);
  return sum;
}

// How near x with x . u = `dot` is to u of norm `norm`, up to what is equal for all u:
// -|x - u|^2 / 2 + |x|^2 / 2 = x . u - |u|^2 / 2.
double NearnessOf(double dot, double norm, Nearness nearness) {
  if (nearness == Nearness::kEuclidean) return dot - norm * norm / 2;
  return norm > 0 ? dot / norm : -std::numeric_limits<double>::infinity();
}

}  // namespace

NearestNeighbour NearestAfterAdding(View<const double, 2> tokens, View<const double, 2> positions,
                                    Index tested, Nearness nearness) {
  const Index vocabulary = tokens.extent(0), rows = positions.extent(0);
  if (tokens.extent(1) != positions.extent(1)) {
    throw Error("nearest", "tokens and positions must have the same width, got " +
                               std::to_string(tokens.extent(1)) + " and " +
                               std::to_string(positions.extent(1)));
  }
  if (tested < 1 || tested > vocabulary || rows < 1) {
    throw Error("nearest", "tested must be from 1 to the " + std::to_string(vocabulary) +
                               " tokens, with at least one position, got " +
                               std::to_string(tested) + " and " + std::to_string(rows));
  }
  const std::size_t size = static_cast<std::size_t>(vocabulary);
  std::vector<double> norm(size), of_token(size);
  Array<double, 2> of_position({rows, vocabulary});
  for (Index u = 0; u < vocabulary; ++u) {
    norm[static_cast<std::size_t>(u)] = std::sqrt(Dot(tokens[u], tokens[u]));
    for (Index p = 0; p < rows; ++p) of_position(p, u) = Dot(positions[p], tokens[u]);
  }
  NearestNeighbour found;
  for (Index t = 0; t < tested; ++t) {
    for (Index u = 0; u < vocabulary; ++u) {
      of_token[static_cast<std::size_t>(u)] = Dot(tokens[t], tokens[u]);
    }
    for (Index p = 0; p < rows; ++p) {
      const auto near = [&](Index u) {
        const std::size_t at = static_cast<std::size_t>(u);
        return NearnessOf(of_token[at] + of_position(p, u), norm[at], nearness);
      };
      Index nearest = t;
      double best = near(t);
      for (Index u = 0; u < vocabulary; ++u) {
        if (const double candidate = near(u); candidate > best) {
          nearest = u;
          best = candidate;
        }
      }
      ++found.pairs;
      if (nearest == t) {
        ++found.itself;
      } else if (found.token < 0) {
        found.token = t;
        found.position = p;
        found.taken_for = nearest;
      }
    }
  }
  found.share = double(found.itself) / double(found.pairs);
  return found;
}

}  // namespace sextant
