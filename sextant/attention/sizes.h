// Whether a scheme, its weights and the heads of a call go together.
#pragma once

#include "sextant/attention/mask.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

// [heads, tokens, head_dim] of queries, keys and values, and how many positions came with them.
struct AttentionSizes {
  Shape<3> query, key, value;
  Index query_positions = 0, key_positions = 0;
};

// Throws Error where sizes differ, heads cannot be grouped, the scheme was made for other heads, a
// position is missing, the scheme is one by layer, or weights are not as declared.
void CheckSizes(const Scheme& scheme, Weights weights, const AttentionSizes& sizes);

// Throws Error unless there is a list for each declared weight, as long as declared.
void CheckWeights(const Scheme& scheme, Weights weights);

// Throws Error where vectors were made for other heads.
void CheckVectorSizes(const Scheme& scheme, const DistanceVectorTables& vectors, Index heads,
                      Index head_dim);

// The smallest range that holds every distance between a key and a query; none without keys or
// queries. Throws Error where it is longer than 2^26.
Distances DistancesBetween(const Positions& queries, const Positions& keys);

// Those of them that a mask may show: its rule and window cut the range, its lists do not.
Distances DistancesShown(const AttentionMask& mask, const Positions& queries,
                         const Positions& keys);

}  // namespace sextant
