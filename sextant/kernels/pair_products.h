// Products of bfloat16 pairs with float32 sums, on processors that have an instruction for them.
#pragma once

#include <cstdint>

#include "sextant/core/view.h"

namespace sextant {

// Two bfloat16 numbers, the first in the low half.
using Pair = std::uint32_t;

// Rows of pairs.
struct PairRows {
  const Pair* data;
  Index stride;
};

// Whether this processor multiplies pairs (AVX512_BF16), and SIMD is not held back below it.
bool PairProductsServed();

// What a product starts from.
enum class PairStart { kZero, kSums };

//   c [count, columns] = start + sum over p of a[i, p] . b[p, j],  a pair's product being
//   a0 b0 + a1 b1
// a [count, pairs]; b [pairs, columns]; columns is a multiple of 16. Sums in float32, in an order
// that depends on the shape alone; subnormal numbers count as 0. Only where PairProductsServed().
void PairProduct(PairRows a, Index count, Index pairs, PairRows b, PairStart start, float* c,
                 Index c_stride, Index columns);

// Rounds count floats (a multiple of 32) to nearest even, two to a pair.
void RoundToPairs(const float* from, Index count, Pair* to);

}  // namespace sextant
