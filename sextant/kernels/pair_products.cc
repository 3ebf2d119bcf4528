// AVX512_BF16's vdpbf16ps by hand, for Highway 1.0.3 has no target with it, and the choice of
// kernel.
#include "sextant/kernels/pair_products.h"

#include <hwy/targets.h>

#include "sextant/kernels/tile_products.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define SEXTANT_HAS_PAIRS 1
#include <immintrin.h>
#endif

namespace sextant {

#ifdef SEXTANT_HAS_PAIRS
namespace {

#define SEXTANT_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

constexpr Index kLanes = 16;

template <int rows, int vectors>
SEXTANT_PAIRS inline void Tile(const Pair* a, Index a_stride, Index pairs, PairRows b,
                               PairStart start, float* c, Index c_stride) {
  __m512 sum[rows][vectors];
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      sum[r][v] = start == PairStart::kZero ? _mm512_setzero_ps()
                                            : _mm512_loadu_ps(c + r * c_stride + v * kLanes);
    }
  }
  for (Index p = 0; p < pairs; ++p) {
    __m512i right[vectors];
    for (int v = 0; v < vectors; ++v) {
      right[v] = _mm512_loadu_si512(b.data + p * b.stride + v * kLanes);
    }
    for (int r = 0; r < rows; ++r) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(a[r * a_stride + p]));
      for (int v = 0; v < vectors; ++v) {
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], reinterpret_cast<__m512bh>(left),
                                     reinterpret_cast<__m512bh>(right[v]));
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      _mm512_storeu_ps(c + r * c_stride + v * kLanes, sum[r][v]);
    }
  }
}

template <int vectors>
SEXTANT_PAIRS void Columns(PairRows a, Index count, Index pairs, PairRows b, PairStart start,
                           float* c, Index c_stride) {
  constexpr int kRows = 6;
  Index row = 0;
  for (; row + kRows <= count; row += kRows) {
    Tile<kRows, vectors>(a.data + row * a.stride, a.stride, pairs, b, start, c + row * c_stride,
                         c_stride);
  }
  for (; row < count; ++row) {
    Tile<1, vectors>(a.data + row * a.stride, a.stride, pairs, b, start, c + row * c_stride,
                     c_stride);
  }
}

void VectorProduct(PairRows a, Index count, Index pairs, PairPanels b, PairStart start, float* c,
                   Index c_stride, Index columns) {
  for (Index panel = 0; panel < columns;
       panel += b.width, b.data += pairs * b.width, c += b.width) {
    Index at = 0;
    for (; at + 4 * kLanes <= b.width; at += 4 * kLanes) {
      Columns<4>(a, count, pairs, {b.data + at, b.width}, start, c + at, c_stride);
    }
    for (; at < b.width; at += kLanes) {
      Columns<1>(a, count, pairs, {b.data + at, b.width}, start, c + at, c_stride);
    }
  }
}

SEXTANT_PAIRS void RoundToPairs(const float* from, Index count, Pair* to) {
  for (Index n = 0; n < count; n += 2 * kLanes) {
    const __m512bh both =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + n + kLanes), _mm512_loadu_ps(from + n));
    _mm512_storeu_si512(to + n / 2, reinterpret_cast<__m512i>(both));
  }
}

}  // namespace

bool PairProductsServed() {
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has && (hwy::SupportedTargets() & HWY_AVX3) != 0;
}

#else

namespace {
void VectorProduct(PairRows, Index, Index, PairPanels, PairStart, float*, Index, Index) {}
void RoundToPairs(const float*, Index, Pair*) {}
}  // namespace

bool PairProductsServed() { return false; }

#endif

namespace {

void LargeByTiles(PairRows a, Index count, Index pairs, PairPanels b, PairStart start, float* c,
                  Index c_stride, Index columns) {
  const auto product = TilesPay(count, pairs) ? TileProduct : VectorProduct;
  product(a, count, pairs, b, start, c, c_stride, columns);
}

}  // namespace

const PairKernels kVectorPairs{VectorProduct, RoundToPairs};
const PairKernels kTilePairs{LargeByTiles, RoundToPairs};

const PairKernels* BestPairKernels() {
  if (!PairProductsServed()) return nullptr;
  return TileProductsServed() ? &kTilePairs : &kVectorPairs;
}

}  // namespace sextant
