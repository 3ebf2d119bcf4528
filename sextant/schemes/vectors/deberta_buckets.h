// Where DeBERTa puts a distance: the logarithmic buckets of its second version.
#pragma once

#include <cstdint>

namespace sextant {

// bucket(r), r = query - key, odd: bucket(-r) = -bucket(r). With middle = buckets / 2,
//   bucket(r) = r                                                            for 0 <= r <= middle
//   bucket(r) = middle + ceil(ln(r / middle) / ln((max_relative - 1) / middle) (middle - 1))
// above. It grows past `buckets` beyond max_relative: the caller clamps. buckets is even and from 2
// on, max_relative - 1 > buckets / 2. Computed in long double; a quotient within 1e-13 of a whole
// number counts as it. Source: He et al. 2021, arXiv 2006.03654, released code of DeBERTa v2.
std::int64_t DebertaBucket(std::int64_t relative, int buckets, int max_relative);

}  // namespace sextant
