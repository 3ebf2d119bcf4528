// Packs keys, values and tables of vectors for attention's products, for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/attention_pack.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "sextant/kernels/attention_plan.h"
#include "sextant/kernels/heads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

constexpr Index kSide = 4;  // of the squares that are turned over

HWY_INLINE void TransposeSquare(const float* from, Index stride, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (Index r = 0; r < kSide; ++r) {
    for (Index c = 0; c < kSide; ++c) to[c * kPanel + r] = from[r * stride + c];
  }
#else
  const hn::CappedTag<float, kSide> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride);
  const auto c = hn::LoadU(d, from + 2 * stride), e = hn::LoadU(d, from + 3 * stride);
  const auto low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto low1 = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto high1 = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low, low1)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low, low1)), d, to + kPanel);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high, high1)), d, to + 2 * kPanel);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high, high1)), d, to + 3 * kPanel);
#endif
}

// panel [dim, kPanel] := the transpose of rows [kPanel, width].
void Transpose(const float* rows, Index width, Index dim, float* panel) {
  for (Index r = 0; r < kPanel; r += kSide) {
    const float* from = rows + r * width;
    Index c = 0;
    for (; c + kSide <= dim; c += kSide) {
      TransposeSquare(from + c, width, panel + c * kPanel + r);
    }
    for (; c < dim; ++c) {
      for (Index n = 0; n < kSide; ++n) panel[c * kPanel + r + n] = from[n * width + c];
    }
  }
}

// The largest |row|^2 of a panel; maybe NaN where there is one.
float LongestSquare(const float* panel, Index dim) {
  const DF d;
  VF longest = hn::Zero(d);
  for (Index r = 0; r < kPanel; r += Index(hn::Lanes(d))) {
    VF square = hn::Zero(d);
    for (Index c = 0; c < dim; ++c) {
      const VF x = hn::LoadU(d, panel + c * kPanel + r);
      square = hn::MulAdd(x, x, square);
    }
    longest = hn::Max(longest, square);
  }
  return hn::GetLane(hn::MaxOfLanes(d, longest));
}

bool AllFinite(const float* x, Index count) {
  const DF d;
  VF zero = hn::Zero(d);  // NaN once a number is not finite
  for (Index n = 0; n < count; n += Index(hn::Lanes(d))) {
    zero = hn::MulAdd(hn::LoadU(d, x + n), hn::Zero(d), zero);
  }
  return hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)));
}

PackedRows Pack(const HeadsIn& from, Index head, Index first, Index count, float* rows,
                float* panels) {
  const Index dim = from.head_dim, width = RoundUp(dim, kPadding);
  PackedRows packed{rows, panels};
  const Floats panel_rows = rows == nullptr ? Floats(kPanel * width) : Floats();
  float longest = 0;
  for (Index n = 0; n < count; n += kPanel) {
    const Index here = std::min(kPanel, count - n);
    float* read = rows == nullptr ? panel_rows.get() : rows + n * width;
    ReadTokens(from, head, first + n, here, width, read);
    std::fill(read + here * width, read + kPanel * width, 0.0f);
    packed.finite = packed.finite && AllFinite(read, here * width);
    if (panels == nullptr) continue;
    float* panel = panels + n * dim;
    Transpose(read, width, dim, panel);
    longest = std::max(longest, LongestSquare(panel, dim));
  }
  packed.longest = std::sqrt(longest);
  return packed;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(Pack);

PackedRows PackTokens(const HeadsIn& from, Index head, Index first, Index count, float* rows,
                      float* panels) {
  return HWY_DYNAMIC_DISPATCH(Pack)(from, head, first, count, rows, panels);
}

}  // namespace sextant
#endif  // HWY_ONCE
