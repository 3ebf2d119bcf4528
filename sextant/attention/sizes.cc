// Sizes compared, with both in the message.
#include "sextant/attention/sizes.h"

#include <algorithm>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::int64_t kMaxDistances = std::int64_t{1} << 26;

[[noreturn]] void Fail(const std::string& rule) { throw Error("attention", rule); }

struct Range {
  std::int64_t first = 0, last = -1;
};
Range RangeBetween(const Positions& queries, const Positions& keys) {
  if (queries.count() == 0 || keys.count() == 0) return {};
  const auto at_queries = queries.values[0].span(), at_keys = keys.values[0].span();
  const auto [q_min, q_max] = std::minmax_element(at_queries.begin(), at_queries.end());
  const auto [k_min, k_max] = std::minmax_element(at_keys.begin(), at_keys.end());
  Range range;
  if (__builtin_sub_overflow(*k_min, *q_max, &range.first) ||
      __builtin_sub_overflow(*k_max, *q_min, &range.last)) {
    Fail("positions must lie within 2^26 of each other");
  }
  return range;
}

Distances Listed(const Range& range) {
  if (range.last < range.first) return {};
  std::int64_t apart = 0;
  if (__builtin_sub_overflow(range.last, range.first, &apart) || apart >= kMaxDistances) {
    Fail("positions must lie within 2^26 of each other, got distances from " +
         std::to_string(range.first) + " to " + std::to_string(range.last));
  }
  return {range.first, apart + 1};
}

}  // namespace

void CheckSizes(const Scheme& scheme, Weights weights, const AttentionSizes& sizes) {
  const Shape<3>&q = sizes.query, &k = sizes.key;
  if (k != sizes.value) Fail("key and value must have the same shape");
  if (q[2] != k[2]) {
    Fail("query and key must have the same head_dim, got " + std::to_string(q[2]) + " and " +
         std::to_string(k[2]));
  }
  if (k[0] == 0 || q[0] % k[0] != 0) {
    Fail("query heads must be a multiple of key heads, got " + std::to_string(q[0]) + " and " +
         std::to_string(k[0]));
  }
  if (sizes.query_positions != q[1] || sizes.key_positions != k[1]) {
    Fail("every query and key needs one position, got " + std::to_string(sizes.query_positions) +
         " for " + std::to_string(q[1]) + " queries and " + std::to_string(sizes.key_positions) +
         " for " + std::to_string(k[1]) + " keys");
  }
  const bool biased = scheme.offers(Hook::kDistanceBias) || scheme.offers(Hook::kTileBias);
  if (biased && scheme.bias_heads() != q[0]) {
    Fail(scheme.name() + " has a bias for " + std::to_string(scheme.bias_heads()) +
         " heads, the queries have " + std::to_string(q[0]));
  }
  if (!scheme.layer_pattern().empty()) {
    Fail("a model's layers differ; ask for one of the schemes of " + scheme.name());
  }
  CheckWeights(scheme, weights);
}

void CheckWeights(const Scheme& scheme, Weights weights) {
  const std::vector<WeightInfo> declared = scheme.weights();
  bool fits = weights.size() == declared.size();
  for (std::size_t w = 0; fits && w < declared.size(); ++w) {
    fits = Index(weights[w].size()) == declared[w].elements();
  }
  if (!fits) Fail(scheme.name() + " needs weights in the shapes it declares");
}

void CheckVectorSizes(const Scheme& scheme, const DistanceVectorTables& vectors, Index heads,
                      Index head_dim) {
  for (const Array<double, 3>* table : {&vectors.key, &vectors.query, &vectors.value}) {
    if (table->empty()) continue;
    if (table->extent(2) == head_dim && (table->extent(0) == 1 || table->extent(0) == heads)) {
      continue;
    }
    Fail(scheme.name() + " has vectors for " + std::to_string(table->extent(0)) + " heads of " +
         std::to_string(table->extent(2)) + " channels, the queries have " + std::to_string(heads) +
         " of " + std::to_string(head_dim));
  }
  for (const Array<double, 2>* bias : {&vectors.content_bias, &vectors.position_bias}) {
    if (bias->empty() || bias->shape() == Shape<2>{heads, head_dim}) continue;
    Fail(scheme.name() + " has bias vectors for " + std::to_string(bias->extent(0)) +
         " heads, the queries have " + std::to_string(heads));
  }
}

Distances DistancesBetween(const Positions& queries, const Positions& keys) {
  return Listed(RangeBetween(queries, keys));
}

Distances DistancesShown(const AttentionMask& mask, const Positions& queries,
                         const Positions& keys) {
  Range range = RangeBetween(queries, keys);
  if (mask.causal) range.last = std::min<std::int64_t>(range.last, 0);
  if (mask.window > 0) {
    range.first = std::max(range.first, 1 - mask.window);
    range.last = std::min(range.last, mask.window - 1);
  }
  return Listed(range);
}

}  // namespace sextant
