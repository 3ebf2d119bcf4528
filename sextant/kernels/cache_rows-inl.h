// Rows of a cache as vectors of float32, whatever their storage and width, for each SIMD target.
// Included by kernel files only, inside Highway's foreach_target.
#if defined(SEXTANT_KERNELS_CACHE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEXTANT_KERNELS_CACHE_ROWS_INL_H_
#undef SEXTANT_KERNELS_CACHE_ROWS_INL_H_
#else
#define SEXTANT_KERNELS_CACHE_ROWS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "sextant/kernels/exp2-inl.h"
#include "sextant/kernels/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

constexpr Index kLine = 64;  // bytes of a cache line

// Channels of a row in vectors. Where they do not fill the last one, it holds the last `Lanes()`
// channels with zeros for those that the vector before it holds too: nothing past a row is read.
struct Channels {
  explicit Channels(Index head_dim)
      : whole(head_dim / Lanes() * Lanes()),
        shift(whole == head_dim ? 0 : whole + Lanes() - head_dim) {}

  Index Place(Index channel) const { return channel < whole ? channel : channel + shift; }

  Index whole;  // channels in whole vectors
  Index shift;  // zeros that the last vector starts with; 0: there is none
};

template <class T>
HWY_INLINE VF LoadLast(const T* row, const Channels& channels) {
  if (channels.whole == 0) {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
    std::copy(row, row + Lanes() - channels.shift, buffer + channels.shift);
    return LoadFloats(buffer);
  }
  const VF all = LoadFloats(row + channels.whole - channels.shift);
  return hn::IfThenZeroElse(hn::FirstN(DF(), std::size_t(channels.shift)), all);
}

// Asks for a line in the second cache: in the first, what is at work would have to make room for
// it.
HWY_INLINE void Fetch(const std::byte* at) {
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  __builtin_prefetch(at, 0, 2);
#else
  hwy::Prefetch(at);
#endif
}

// Rows to fetch while others are worked on, `stride` bytes apart; none where `rows` is 0.
struct Ahead {
  const std::byte* first = nullptr;
  Index stride = 0, rows = 0;

  // Past the last row, the last again.
  HWY_INLINE const std::byte* Row(Index row) const {
    return first + std::min(row, rows - 1) * stride;
  }
  HWY_INLINE void SkipBytes(Index bytes) {
    if (rows > 0) first += bytes;
  }
  HWY_INLINE void FetchRow(Index row, Index bytes) const {
    const std::byte* at = Row(row);
    Index b = 0;
    for (; b + 4 * kLine <= bytes; b += 4 * kLine) {
      for (Index line = 0; line < 4; ++line) Fetch(at + b + line * kLine);
    }
    for (; b < bytes; b += kLine) Fetch(at + b);
  }
};

#if HWY_TARGET != HWY_SCALAR
template <class D, class V>
HWY_INLINE void StoreBlockSum(D d, V v, float* to) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    StoreBlockSum(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  } else {
    hn::StoreU(v, d, to);
  }
}
HWY_INLINE VF AddPairs(VF a, VF b) {
  return hn::Add(hn::InterleaveLower(DF(), a, b), hn::InterleaveUpper(DF(), a, b));
}
// to[j] = the sum of the lanes of sum[j].
HWY_INLINE void StoreSums(const VF (&sum)[4], float* to) {
  const DF d;
  const hn::Repartition<std::uint64_t, DF> pairs;
  const auto a = hn::BitCast(pairs, AddPairs(sum[0], sum[1]));
  const auto b = hn::BitCast(pairs, AddPairs(sum[2], sum[3]));
  StoreBlockSum(d,
                hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, a, b)),
                        hn::BitCast(d, hn::InterleaveUpper(pairs, a, b))),
                to);
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#endif  // SEXTANT_KERNELS_CACHE_ROWS_INL_H_
