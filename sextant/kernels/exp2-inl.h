// 2^x of vectors, the one exponential of attention's kernels, for each SIMD target. Included
// inside Highway's foreach_target only.
#if defined(SEXTANT_KERNELS_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEXTANT_KERNELS_EXP2_INL_H_
#undef SEXTANT_KERNELS_EXP2_INL_H_
#else
#define SEXTANT_KERNELS_EXP2_INL_H_
#endif

#include <hwy/highway.h>

#include "sextant/core/view.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;

constexpr float kLog2E = 1.44269504088896341f;

HWY_INLINE Index Lanes() { return Index(hn::Lanes(DF())); }

// 2^x for x <= 0, off by 2e-7 of it; 0 below -126, so that no denormals are made. NaN stays.
HWY_INLINE VF Exp2(VF x) {
  const DF d;
  const DI di;
  const VF whole = hn::Round(hn::Max(x, hn::Set(d, -127.0f)));
  const VF r = hn::Sub(x, whole);
  VF p = hn::Set(d, 1.5403530e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3333558e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.6181291e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.5504109e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.4022651e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.9314718e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0f)), hn::Mul(p, hn::BitCast(d, exponent)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#endif  // SEXTANT_KERNELS_EXP2_INL_H_
