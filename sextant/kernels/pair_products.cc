// AVX512_BF16's vdpbf16ps by hand: Highway 1.0.3 has no target with it.
#include "sextant/kernels/pair_products.h"

#include <hwy/targets.h>

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

}  // namespace

bool PairProductsServed() {
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has && (hwy::SupportedTargets() & HWY_AVX3) != 0;
}

void PairProduct(PairRows a, Index count, Index pairs, PairRows b, PairStart start, float* c,
                 Index c_stride, Index columns) {
  Index at = 0;
  for (; at + 4 * kLanes <= columns; at += 4 * kLanes) {
    Columns<4>(a, count, pairs, {b.data + at, b.stride}, start, c + at, c_stride);
  }
  for (; at < columns; at += kLanes) {
    Columns<1>(a, count, pairs, {b.data + at, b.stride}, start, c + at, c_stride);
  }
}

SEXTANT_PAIRS void RoundToPairs(const float* from, Index count, Pair* to) {
  for (Index n = 0; n < count; n += 2 * kLanes) {
    const __m512bh both =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + n + kLanes), _mm512_loadu_ps(from + n));
    _mm512_storeu_si512(to + n / 2, reinterpret_cast<__m512i>(both));
  }
}

#else

bool PairProductsServed() { return false; }
void PairProduct(PairRows, Index, Index, PairRows, PairStart, float*, Index, Index) {}
void RoundToPairs(const float*, Index, Pair*) {}

#endif

}  // namespace sextant
