// The logarithmic buckets of DeBERTa v2.
#include "sextant/schemes/vectors/deberta_buckets.h"

#include <cmath>
#include <cstdlib>

namespace sextant {

std::int64_t DebertaBucket(std::int64_t relative, int buckets, int max_relative) {
  const std::int64_t middle = buckets / 2, size = std::abs(relative);
  if (size <= middle) return relative;
  const long double m = static_cast<long double>(middle);
  const long double part = std::log(static_cast<long double>(size) / m) /
                           std::log(static_cast<long double>(max_relative - 1) / m) * (m - 1);
  const long double whole = std::round(part);
  const bool is_whole = std::abs(part - whole) <= 1e-13L * (1 + whole);
  const std::int64_t bucket = middle + std::int64_t(is_whole ? whole : std::ceil(part));
  return relative < 0 ? -bucket : bucket;
}

}  // namespace sextant
