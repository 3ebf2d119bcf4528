// Whether two positions are ever encoded alike.
#pragma once

#include "sextant/probe/subject.h"

namespace sextant {

// What two positions are compared by.
enum class Fingerprint {
  kEncodedKey,  // the seeded key with the position written into it: rows added, pairs turned
  kScores,      // of a scheme that leaves keys alone: scores of four contents, every head, seen
                // from the query at the last position
};

// The two positions hardest to tell apart.
struct Uniqueness {
  Fingerprint measured_on = Fingerprint::kEncodedKey;
  double smallest_distance = 0;        // Euclidean, of the fingerprints; 0: some are encoded alike
  std::int64_t first = 0, second = 0;  // the earliest pair at that distance (ties to 1e-12)
};

// Over all pairs of positions 0 .. positions-1 (2..4096). For additive rows the distance is that of
// the rows themselves. Throws Error where the scheme ends before, and as ProbeScores.
Uniqueness ClosestPositions(const Scheme& scheme, const ProbeSettings& settings,
                            Index positions = 100);

// Fingerprints [positions, numbers] of keys at 0 .. positions-1 by scores: `contents` seeded pairs
// of query and key, every head, the query at `query_position`.
Array<double, 2> ScoreFingerprints(const Subject& subject, const ProbeSettings& settings,
                                   Index positions, std::int64_t query_position, Index contents);

}  // namespace sextant
