// Pairwise distances of fingerprints.
#include "sextant/probe/uniqueness.h"

#include <cmath>
#include <limits>
#include <string>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr Index kContents = 4;
constexpr double kTie = 1e-12;

Array<double, 2> EncodedKeys(const Subject& subject, const ProbeSettings& settings,
                             Index positions) {
  const std::vector<double> key = SeededKey(settings.head_dim, settings.seed);
  const Array<double, 3> encoded =
      Encode(subject.scheme, subject.weights, PositionList::Range(0, positions), Side::kKey,
             RepeatVector(key, 1, positions));
  Array<double, 2> fingerprints({positions, settings.head_dim});
  fingerprints.values() = encoded.values();
  return fingerprints;
}

double Distance(View<const double, 1> a, View<const double, 1> b) {
  double sum = 0;
  for (Index c = 0; c < a.extent(0); ++c) sum += (a(c) - b(c)) * (a(c) - b(c));
  return std::sqrt(sum);
}

}  // namespace

Array<double, 2> ScoreFingerprints(const Subject& subject, const ProbeSettings& settings,
                                   Index positions, std::int64_t query_position, Index contents) {
  Array<double, 2> fingerprints({positions, contents * subject.heads});
  const std::vector<std::int64_t> keys = Consecutive(0, positions);
  for (Index c = 0; c < contents; ++c) {
    const std::uint64_t index = static_cast<std::uint64_t>(c);
    const Array<double, 2> scores =
        ScoresFrom(subject, SeededQuery(settings.head_dim, settings.seed, index), query_position,
                   SeededKey(settings.head_dim, settings.seed, index), keys,
                   std::max(positions, query_position + 1));
    for (Index h = 0; h < subject.heads; ++h) {
      for (Index p = 0; p < positions; ++p) {
        fingerprints(p, c * subject.heads + h) = scores(h, p);
      }
    }
  }
  return fingerprints;
}

Uniqueness ClosestPositions(const Scheme& scheme, const ProbeSettings& settings, Index positions) {
  CheckSettings(settings);
  if (positions < 2 || positions > 4096) {
    throw Error("probe", "positions to compare must be a whole number from 2 to 4096, got " +
                             std::to_string(positions));
  }
  const Subject subject = MakeSubject(scheme, settings.seed);
  const bool encodes = scheme.offers(Hook::kAdditive) || scheme.offers(Hook::kRotary);
  const Array<double, 2> fingerprints =
      encodes ? EncodedKeys(subject, settings, positions)
              : ScoreFingerprints(subject, settings, positions, positions - 1, kContents);
  Uniqueness closest;
  closest.measured_on = encodes ? Fingerprint::kEncodedKey : Fingerprint::kScores;
  closest.smallest_distance = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < positions; ++i) {
    for (Index j = i + 1; j < positions; ++j) {
      const double distance = Distance(fingerprints.view()[i], fingerprints.view()[j]);
      if (distance < closest.smallest_distance * (1 - kTie))
        closest = {closest.measured_on, distance, i, j};
    }
  }
  return closest;
}

}  // namespace sextant
