// Which bucket a distance falls in: T5's rule as a table of integer thresholds.
#pragma once

#include <cstdint>
#include <vector>

namespace sextant {

enum class T5Direction { kCausal, kBidirectional };

// bucket(distance), distance = key - query. Of n buckets a side, the first n/2 hold one distance
// each; the rest grow geometrically up to max_distance:
//   bucket(m) = n/2 + floor(ln(m / (n/2)) / ln(max_distance / (n/2)) * (n - n/2)),  at most n - 1
// Causal: keys after the query share bucket 0. Bidirectional: they use the upper half of the
// buckets. The thresholds are integers found in extended precision, so no rounding of a logarithm
// decides. Source: Raffel et al. 2020, arXiv 1910.10683, released code.
class T5Buckets {
 public:
  // Throws Error where the sizes leave no room (odd bidirectional count, max_distance too small).
  T5Buckets(int buckets, int max_distance, T5Direction direction);

  int operator()(std::int64_t distance) const;

  // The smallest number of positions that each bucket of one side holds.
  const std::vector<std::int64_t>& starts() const { return threshold_; }

 private:
  T5Direction direction_;
  int side_ = 0;                         // buckets a side
  std::vector<std::int64_t> threshold_;  // smallest distance of bucket i
};

}  // namespace sextant
