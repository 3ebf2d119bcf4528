// Traces of encoded unit vectors.
#include "sextant/probe/drift.h"

#include <cmath>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "sextant/probe/subject.h"

namespace sextant {
namespace {

// Every unit vector of a head, turned at every position: [channels, n, head_dim].
Array<double, 3> TurnedUnits(const Scheme& scheme, const Positions& positions, Index head_dim) {
  if (!scheme.offers(Hook::kRotary)) {
    throw Error(scheme.name(), "turns no vectors", "compare rotary schemes");
  }
  Array<double, 3> units({head_dim, positions.count(), head_dim});
  for (Index c = 0; c < head_dim; ++c) {
    for (Index n = 0; n < positions.count(); ++n) units(c, n, c) = 1;
  }
  const Subject subject = MakeSubject(scheme, 1);
  Rotate(scheme, subject.weights, positions, Side::kQuery, units);
  return units;
}

}  // namespace

std::vector<double> ExpectedCosines(const Scheme& one, const Scheme& other,
                                    const Positions& positions, Index head_dim) {
  std::vector<double> cosines;
  for (Index n = 0; n < positions.count(); ++n) {
    const std::int64_t position = positions.values(0, n);
    const PositionList at(std::span<const std::int64_t>(&position, 1), positions.length);
    const Array<double, 3> a = TurnedUnits(one, at, head_dim), b = TurnedUnits(other, at, head_dim);
    double cross = 0, square_a = 0, square_b = 0;
    for (std::size_t i = 0; i < a.values().size(); ++i) {
      cross += a.values()[i] * b.values()[i];
      square_a += a.values()[i] * a.values()[i];
      square_b += b.values()[i] * b.values()[i];
    }
    cosines.push_back(cross / std::sqrt(square_a * square_b));
  }
  return cosines;
}

}  // namespace sextant
