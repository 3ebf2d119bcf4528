// Products of bfloat16 pairs on the tiles of AMX, on processors and systems that have them.
#pragma once

#include "sextant/kernels/pair_products.h"

namespace sextant {

// Whether the processor has AMX-TILE and AMX-BF16 and the system lets this process use them: Linux
// is asked to, once (arch_prctl, ARCH_REQ_XCOMP_PERM); others are not, so that tiles are not served
// there.
bool TileProductsServed();

// Whether tiles should be faster than AVX512_BF16 for rows a [count, pairs]: an estimate, never
// timed. For each vector of columns vdpbf16ps takes count * pairs instructions, one a cycle;
// TDPBF16PS takes 16 cycles for up to 16 rows of 16 pairs (Intel's peak of 1024 operations a
// cycle), and setting tiles up is taken for 200 cycles, shared by at least four vectors.
constexpr bool TilesPay(Index count, Index pairs) { return count * pairs >= 128; }

// A PairKernels::product. Neither reads nor writes past its shapes, allocates nothing, needs no
// alignment, and leaves the thread's tiles released. Sums of 16 pairs are added up first, the low
// halves' products apart from the high halves', each by fused multiply-adds. Only where
// TileProductsServed().
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter
// "Programming with Intel AMX", and volume 2, TDPBF16PS.
void TileProduct(PairRows a, Index count, Index pairs, PairPanels b, PairStart start, float* c,
                 Index c_stride, Index columns);

}  // namespace sextant
