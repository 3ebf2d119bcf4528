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

// Columns of pairs cut into panels one behind the other, each [pairs, width].
struct PairPanels {
  const Pair* data;
  Index width;
};

// What a product starts from.
enum class PairStart { kZero, kSums };

// One way to multiply pairs.
struct PairKernels {
  //   c [count, columns] = start + sum over p of a[i, p] . b[p, j],  a pair's product being
  //   a0 b0 + a1 b1
  // a [count, pairs]; b [columns / width][pairs, width]; width is a multiple of 16 and divides
  // columns; c overlaps neither. Sums in float32, in an order that depends on the shape and the
  // kernel alone; subnormal numbers count as 0. The largest error is pairs 2^-23 of the sizes of
  // start and products added up, and 2^-125 a pair.
  void (*product)(PairRows a, Index count, Index pairs, PairPanels b, PairStart start, float* c,
                  Index c_stride, Index columns);
  // Rounds count floats (a multiple of 32) to nearest even, two to a pair.
  void (*round)(const float* from, Index count, Pair* to);
};

// AVX512_BF16's. Only where PairProductsServed().
extern const PairKernels kVectorPairs;
// The same, but large products on AMX's tiles (tile_products.h). Only where TileProductsServed()
// too.
extern const PairKernels kTilePairs;

// The fastest that processor and system serve and SIMD is not held back below; null where there is
// none.
const PairKernels* BestPairKernels();

// Whether this processor multiplies pairs (AVX512_BF16), and SIMD is not held back below it.
bool PairProductsServed();

}  // namespace sextant
