// Random attention inputs that own what an AttentionInput only views.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "sextant/attention/reference.h"
#include "sextant/core/random.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {

inline Array<double, 3> RandomHeads(const Shape<3>& shape, Random& random) {
  Array<double, 3> x(shape);
  for (double& value : x.values()) value = random.Normal();
  return x;
}

struct AttentionCase {
  // Positions are those given; `sequence_length` is that of the sequence they belong to.
  AttentionCase(const Shape<3>& queries, const Shape<3>& keys,
                std::vector<std::int64_t> query_positions, std::vector<std::int64_t> key_positions,
                std::int64_t sequence_length, std::uint64_t seed = 1)
      : at_queries(std::move(query_positions)),
        at_keys(std::move(key_positions)),
        length(sequence_length) {
    Random random(seed);
    query = RandomHeads(queries, random);
    key = RandomHeads(keys, random);
    value = RandomHeads(keys, random);
  }

  // The lists hold what the views of the returned input refer to, until the next call.
  AttentionInput Input() {
    query_list = PositionList(at_queries, length);
    key_list = PositionList(at_keys, length);
    AttentionMask mask;
    mask.causal = causal;
    mask.window = window;
    mask.key_valid = valid;
    mask.query_sequence = query_sequence;
    mask.key_sequence = key_sequence;
    return {query, key, value, query_list, key_list, mask, 0};
  }
  AttentionOutput Run(const Scheme& scheme, Weights weights) {
    return ReferenceAttention(scheme, weights, Input());
  }

  std::vector<std::int64_t> at_queries, at_keys;
  std::int64_t length;
  Array<double, 3> query, key, value;
  bool causal = false;
  std::int64_t window = 0;
  std::vector<std::uint8_t> valid;
  std::vector<std::int32_t> query_sequence, key_sequence;

 private:
  PositionList query_list = PositionList::Range(0, 0), key_list = query_list;
};

// The largest so far; a NaN stays.
inline void KeepLargest(double difference, double& largest) {
  if (std::isnan(difference) || difference > largest) largest = difference;
}

// The fewest key heads the scheme can be used with: additive rows of the width of all heads have no
// grouped form, as they are added before the heads are made.
inline Index KeyHeads(const Scheme& scheme, const Model& model) {
  const bool whole = scheme.offers(Hook::kAdditive) && scheme.model_dim() != model.head_dim;
  return whole ? model.heads : model.kv_heads;
}

// first, first + step, ... (count of them)
inline std::vector<std::int64_t> Steps(std::int64_t first, Index count, std::int64_t step = 1) {
  std::vector<std::int64_t> positions;
  for (Index n = 0; n < count; ++n) positions.push_back(first + n * step);
  return positions;
}

}  // namespace sextant::conformance
