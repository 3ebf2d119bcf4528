// The rotary kernel for every SIMD target of the machine, by Highway's run-time dispatch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/rotate.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "sextant/core/error.h"
#include "sextant/kernels/rotate.h"

#ifndef SEXTANT_KERNELS_ROTATE_ONCE
#define SEXTANT_KERNELS_ROTATE_ONCE
namespace sextant {
constexpr Index kMostPairs = 2048;  // of a block
}
#endif

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DU16 = hn::Rebind<std::uint16_t, DF>;
using DU32 = hn::Rebind<std::uint32_t, DF>;

HWY_INLINE VF LoadFloats(const float* from) { return hn::LoadU(DF(), from); }
HWY_INLINE void StoreFloats(VF v, float* to) { hn::StoreU(v, DF(), to); }

HWY_INLINE VF LoadFloats(const Bf16* from) {
  const auto bits = hn::LoadU(DU16(), reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU32(), bits)));
}
// Highway's demotion to bfloat16 truncates, so the rounding to nearest even is done here.
HWY_INLINE void StoreFloats(VF v, Bf16* to) {
  const DU32 d32;
  const auto bits = hn::BitCast(d32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFF)));
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000));
  const auto kept = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(
      hn::DemoteTo(DU16(), hn::BitCast(hn::Rebind<std::int32_t, DF>(), hn::ShiftRight<16>(kept))),
      DU16(), reinterpret_cast<std::uint16_t*>(to));
}

using DF16 = hn::Rebind<hwy::float16_t, DF>;
HWY_INLINE VF LoadFloats(const F16* from) {
  return hn::PromoteTo(DF(), hn::LoadU(DF16(), reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE void StoreFloats(VF v, F16* to) {
  hn::StoreU(hn::DemoteTo(DF16(), v), DF16(), reinterpret_cast<hwy::float16_t*>(to));
}

// The last channels, fewer than a vector, go through a buffer of one.
template <class T>
HWY_INLINE VF LoadSome(const T* from, std::size_t count) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy(from, from + count, buffer);
  return LoadFloats(buffer);
}
template <class T>
HWY_INLINE void StoreSome(VF v, std::size_t count, T* to) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
  StoreFloats(v, buffer);
  std::copy(buffer, buffer + count, to);
}

// One token: a row of cosines and signed sines over all its heads.
struct Row {
  const float* cos;
  const float* sin;
  float sign;  // of the sines
};

template <class T>
HWY_INLINE void TurnPair(VF cos, VF sin, const T* x0, const T* x1, T* y0, T* y1) {
  const VF a = LoadFloats(x0), b = LoadFloats(x1);
  StoreFloats(hn::MulSub(a, cos, hn::Mul(b, sin)), y0);
  StoreFloats(hn::MulAdd(a, sin, hn::Mul(b, cos)), y1);
}

// `vectors` of pairs at `i` of a block in halves: their table stays in registers over the heads.
template <int vectors, class T>
HWY_INLINE void TurnHalves(const HeadsOf<const T>& in, const HeadsOf<T>& out, Index token,
                           Index block, Index pairs, Index i, const Row& row) {
  const Index lanes = Index(hn::Lanes(DF()));
  VF cos[vectors], sin[vectors];
  const VF sign = hn::Set(DF(), row.sign);
  for (int v = 0; v < vectors; ++v) {
    cos[v] = LoadFloats(row.cos + i + v * lanes);
    sin[v] = hn::Mul(sign, LoadFloats(row.sin + i + v * lanes));
  }
  for (Index h = 0; h < in.heads; ++h) {
    const T* x = in.data + token * in.token_stride + h * in.head_stride + block + i;
    T* y = out.data + token * out.token_stride + h * out.head_stride + block + i;
    hwy::Prefetch(x + 6 * in.head_stride);
    hwy::Prefetch(x + 6 * in.head_stride + pairs);
    for (int v = 0; v < vectors; ++v) {
      const Index at = v * lanes;
      TurnPair(cos[v], sin[v], x + at, x + at + pairs, y + at, y + at + pairs);
    }
  }
}

template <class T>
HWY_INLINE void TurnHalvesEnd(const HeadsOf<const T>& in, const HeadsOf<T>& out, Index token,
                              Index block, Index pairs, Index i, const Row& row) {
  const auto left = std::size_t(pairs - i);
  const VF cos = LoadSome(row.cos + i, left);
  const VF sin = hn::Mul(hn::Set(DF(), row.sign), LoadSome(row.sin + i, left));
  for (Index h = 0; h < in.heads; ++h) {
    const T* x = in.data + token * in.token_stride + h * in.head_stride + block + i;
    T* y = out.data + token * out.token_stride + h * out.head_stride + block + i;
    const VF a = LoadSome(x, left), b = LoadSome(x + pairs, left);
    StoreSome(hn::MulSub(a, cos, hn::Mul(b, sin)), left, y);
    StoreSome(hn::MulAdd(a, sin, hn::Mul(b, cos)), left, y + pairs);
  }
}

template <class T>
void HalvesToken(const HeadsOf<const T>& in, const HeadsOf<T>& out, Index token, Index block,
                 Index pairs, const Row& row) {
  const Index lanes = Index(hn::Lanes(DF()));
  Index i = 0;
  for (; i + 4 * lanes <= pairs; i += 4 * lanes) {
    TurnHalves<4>(in, out, token, block, pairs, i, row);
  }
  for (; i + 2 * lanes <= pairs; i += 2 * lanes) {
    TurnHalves<2>(in, out, token, block, pairs, i, row);
  }
  for (; i + lanes <= pairs; i += lanes) TurnHalves<1>(in, out, token, block, pairs, i, row);
  if (i < pairs) TurnHalvesEnd(in, out, token, block, pairs, i, row);
}

// Adjacent pairs: y = x [c0 c0 c1 c1 ..] + swapped x [-s0 s0 -s1 s1 ..].
constexpr Index kSpread = 256;  // channels whose spread table is made at a time

template <class T>
void AdjacentToken(const HeadsOf<const T>& in, const HeadsOf<T>& out, Index token, Index block,
                   Index pairs, const Row& row) {
  const Index lanes = Index(hn::Lanes(DF()));
  HWY_ALIGN float cos[kSpread + HWY_MAX_BYTES], sin[kSpread + HWY_MAX_BYTES];
  for (Index start = 0; start < 2 * pairs; start += kSpread) {
    const Index width = std::min(kSpread, 2 * pairs - start);
    for (Index c = 0; c < width; c += 2) {
      const float s = row.sign * row.sin[(start + c) / 2];
      cos[c] = cos[c + 1] = row.cos[(start + c) / 2];
      sin[c] = -s;
      sin[c + 1] = s;
    }
    for (Index h = 0; h < in.heads; ++h) {
      const T* x = in.data + token * in.token_stride + h * in.head_stride + block + start;
      T* y = out.data + token * out.token_stride + h * out.head_stride + block + start;
      hwy::Prefetch(x + 6 * in.head_stride);
      Index c = 0;
      for (; c + lanes <= width; c += lanes) {
        const VF a = LoadFloats(x + c);
        StoreFloats(
            hn::MulAdd(hn::Reverse2(DF(), a), LoadFloats(sin + c), hn::Mul(a, LoadFloats(cos + c))),
            y + c);
      }
      if (c == width) continue;
      const auto left = std::size_t(width - c);
      const VF a = LoadSome(x + c, left);
      const VF turned = hn::MulAdd(hn::Reverse2(DF(), a), LoadSome(sin + c, left),
                                   hn::Mul(a, LoadSome(cos + c, left)));
      StoreSome(turned, left, y + c);
    }
  }
}

// Any order read and any written: through a row of floats, a pair at a time.
template <class T>
void ReorderToken(const HeadsOf<const T>& in, const HeadsOf<T>& out, Index token, Index block,
                  Index pairs, const TurnedChannels& channels, const Row& row) {
  static thread_local float even[kMostPairs + HWY_MAX_BYTES], odd[kMostPairs + HWY_MAX_BYTES];
  const bool reads_halves = channels.read == PairOrder::kHalves;
  const bool writes_halves = channels.write == PairOrder::kHalves;
  const auto place = [&](const T* x, Index pair, Index part, bool halves) {
    return halves ? x + part * pairs + pair : x + 2 * pair + part;
  };
  for (Index h = 0; h < in.heads; ++h) {
    const T* x = in.data + token * in.token_stride + h * in.head_stride + block;
    T* y = out.data + token * out.token_stride + h * out.head_stride + block;
    for (Index i = 0; i < pairs; ++i) {
      even[i] = hn::GetLane(LoadSome(place(x, i, 0, reads_halves), 1));
      odd[i] = hn::GetLane(LoadSome(place(x, i, 1, reads_halves), 1));
    }
    for (Index i = 0; i < pairs; ++i) {
      const float cos = row.cos[i], sin = row.sign * row.sin[i];
      const float y0 = even[i] * cos - odd[i] * sin, y1 = even[i] * sin + odd[i] * cos;
      StoreSome(hn::Set(DF(), y0), 1, y + (place(x, i, 0, writes_halves) - x));
      StoreSome(hn::Set(DF(), y1), 1, y + (place(x, i, 1, writes_halves) - x));
    }
  }
}

template <class T>
void CopyOthers(const HeadsOf<const T>& in, const HeadsOf<T>& out, Index token,
                const TurnedChannels& channels) {
  if (in.data == out.data) return;
  const Index last = channels.first + channels.rotated;
  for (Index h = 0; h < in.heads; ++h) {
    const T* x = in.data + token * in.token_stride + h * in.head_stride;
    T* y = out.data + token * out.token_stride + h * out.head_stride;
    std::copy(x, x + channels.first, y);
    std::copy(x + last, x + in.head_dim, y + last);
  }
}

template <class T>
void RotateTokens(const HeadsOf<const T>& in, const HeadsOf<T>& out, const TurnTable& table,
                  const TurnedChannels& channels, float sign, Index begin, Index end) {
  const Index width = channels.rotated / channels.blocks, pairs = width / 2;
  for (Index token = begin; token < end; ++token) {
    CopyOthers(in, out, token, channels);
    for (Index b = 0; b < channels.blocks; ++b) {
      const Index at = token * table.row_stride + b * pairs, block = channels.first + b * width;
      const Row row{table.cos + at, table.sin + at, sign};
      // A vector of one lane has no neighbour to exchange with.
      const bool adjacent = channels.read == PairOrder::kAdjacent;
      if (channels.read != channels.write || (adjacent && HWY_TARGET == HWY_SCALAR)) {
        ReorderToken(in, out, token, block, pairs, channels, row);
      } else if (!adjacent) {
        HalvesToken(in, out, token, block, pairs, row);
      } else {
        AdjacentToken(in, out, token, block, pairs, row);
      }
    }
  }
}

void RotateF32(const HeadsOf<const float>& in, const HeadsOf<float>& out, const TurnTable& table,
               const TurnedChannels& channels, float sign, Index begin, Index end) {
  RotateTokens(in, out, table, channels, sign, begin, end);
}
void RotateBf16(const HeadsOf<const Bf16>& in, const HeadsOf<Bf16>& out, const TurnTable& table,
                const TurnedChannels& channels, float sign, Index begin, Index end) {
  RotateTokens(in, out, table, channels, sign, begin, end);
}
void RotateF16(const HeadsOf<const F16>& in, const HeadsOf<F16>& out, const TurnTable& table,
               const TurnedChannels& channels, float sign, Index begin, Index end) {
  RotateTokens(in, out, table, channels, sign, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(RotateF32);
HWY_EXPORT(RotateBf16);
HWY_EXPORT(RotateF16);

namespace {

constexpr Index kTaskBytes = Index{64} << 10;

template <class T>
void Check(const HeadsOf<const T>& in, const HeadsOf<T>& out, const TurnTable& table,
           const TurnedChannels& channels) {
  const auto fail = [](const std::string& rule) { throw Error("rotate", rule); };
  if (in.tokens != out.tokens || in.heads != out.heads || in.head_dim != out.head_dim) {
    fail("input and output must have the same shape");
  }
  if (in.tokens < 0 || in.heads < 0) fail("counts must not be negative");
  if (channels.blocks < 1 || channels.rotated < 0 ||
      channels.rotated % (2 * channels.blocks) != 0) {
    fail("every block must have an even width, got " + std::to_string(channels.rotated) +
         " channels in " + std::to_string(channels.blocks) + " blocks");
  }
  if (channels.first < 0 || channels.first + channels.rotated > in.head_dim) {
    fail("the " + std::to_string(channels.rotated) + " channels from " +
         std::to_string(channels.first) + " on pass the head's " + std::to_string(in.head_dim));
  }
  if (channels.rotated / channels.blocks > 2 * kMostPairs) {
    fail("a block must have at most " + std::to_string(2 * kMostPairs) + " channels, got " +
         std::to_string(channels.rotated / channels.blocks));
  }
  if (table.row_stride < channels.rotated / 2) {
    fail("rows of the table must hold " + std::to_string(channels.rotated / 2) + " pairs, got " +
         std::to_string(table.row_stride));
  }
  const bool in_place = static_cast<const void*>(in.data) == static_cast<const void*>(out.data);
  if (in_place && (in.token_stride != out.token_stride || in.head_stride != out.head_stride)) {
    fail("in place, input and output must have the same strides");
  }
}

template <class T, class Kernel>
void Run(Kernel kernel, const HeadsOf<const T>& in, const HeadsOf<T>& out, const TurnTable& table,
         TurnedChannels channels, TurnDirection direction, Executor& executor) {
  if (direction == TurnDirection::kBack) std::swap(channels.read, channels.write);
  Check(in, out, table, channels);
  if (in.tokens == 0 || in.heads == 0 || in.head_dim == 0) return;
  const float sign = direction == TurnDirection::kBack ? -1.0f : 1.0f;
  const Index token_bytes = in.heads * in.head_dim * Index(sizeof(T));
  const Index step = std::max<Index>(1, kTaskBytes / token_bytes);
  const Index tasks = (in.tokens + step - 1) / step;
  const auto piece = [&](Index task) {
    kernel(in, out, table, channels, sign, task * step, std::min(in.tokens, (task + 1) * step));
  };
  if (tasks == 1) return piece(0);
  executor.Run(tasks, piece);
}

}  // namespace

void Rotate(const HeadsOf<const float>& in, const HeadsOf<float>& out, const TurnTable& table,
            const TurnedChannels& channels, TurnDirection direction, Executor& executor) {
  Run(HWY_DYNAMIC_DISPATCH(RotateF32), in, out, table, channels, direction, executor);
}
void Rotate(const HeadsOf<const Bf16>& in, const HeadsOf<Bf16>& out, const TurnTable& table,
            const TurnedChannels& channels, TurnDirection direction, Executor& executor) {
  Run(HWY_DYNAMIC_DISPATCH(RotateBf16), in, out, table, channels, direction, executor);
}
void Rotate(const HeadsOf<const F16>& in, const HeadsOf<F16>& out, const TurnTable& table,
            const TurnedChannels& channels, TurnDirection direction, Executor& executor) {
  Run(HWY_DYNAMIC_DISPATCH(RotateF16), in, out, table, channels, direction, executor);
}

}  // namespace sextant
#endif  // HWY_ONCE
