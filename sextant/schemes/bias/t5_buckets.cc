// The thresholds of T5's buckets.
#include "sextant/schemes/bias/t5_buckets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "sextant/core/error.h"

namespace sextant {

T5Buckets::T5Buckets(int buckets, int max_distance, T5Direction direction) : direction_(direction) {
  if (direction == T5Direction::kBidirectional && (buckets % 2 != 0 || buckets < 4)) {
    throw Error(
        "t5", "bidirectional buckets must be even and at least 4, got " + std::to_string(buckets));
  }
  side_ = direction == T5Direction::kBidirectional ? buckets / 2 : buckets;
  const int exact = side_ / 2;
  if (max_distance <= exact) {
    throw Error("t5",
                "max_distance must be above " + std::to_string(exact) + " with " +
                    std::to_string(buckets) + " buckets, got " + std::to_string(max_distance),
                "the first half of the buckets holds one distance each");
  }
  for (int bucket = 0; bucket < side_; ++bucket) {
    if (bucket <= exact) {
      threshold_.push_back(bucket);
      continue;
    }
    // The smallest m with m >= exact * (max_distance / exact)^step. Where that power is a whole
    // number, the last bits of the logarithm must not push it past itself.
    const long double step =
        static_cast<long double>(bucket - exact) / static_cast<long double>(side_ - exact);
    const long double edge = exact * std::pow(static_cast<long double>(max_distance) / exact, step);
    threshold_.push_back(static_cast<std::int64_t>(std::ceil(edge * (1 - 1e-15L))));
  }
}

int T5Buckets::operator()(std::int64_t distance) const {
  int first = 0;
  if (distance > 0) {
    if (direction_ == T5Direction::kCausal) return 0;
    first = side_;
  }
  const std::int64_t magnitude = std::abs(distance);
  const auto above = std::upper_bound(threshold_.begin(), threshold_.end(), magnitude);
  return first + static_cast<int>(above - threshold_.begin()) - 1;
}

}  // namespace sextant
