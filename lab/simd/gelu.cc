// GELU for every SIMD target of the machine, by Highway's run-time dispatch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lab/simd/gelu.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include <numbers>

#include "lab/simd/gelu.h"
#include "sextant/kernels/exp2-inl.h"
#include "sextant/kernels/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// Phi(u), and e^(-u^2/2), which its derivative has too.
struct Normal {
  VF below, bell;
};

// Of x = |u| / sqrt 2 and t = 1 / (1 + 0.3 x): Phi(-|u|) = t P(t) e^(-x^2), P by a weighted fit to
// erfc(x) e^(x^2) / (2 t) for x to 9.5, off by 2e-8 of it.
HWY_INLINE Normal NormalOf(VF u) {
  const DF d;
  const VF one = hn::Set(d, 1.0f);
  const VF bell = Exp2(hn::Mul(hn::Mul(u, u), hn::Set(d, -0.5f * std::numbers::log2e_v<float>)));
  const VF t = hn::Div(one, hn::MulAdd(hn::Abs(u), hn::Set(d, 0.21213203f), one));
  VF p = hn::Set(d, -0.06471714f);
  p = hn::MulAdd(p, t, hn::Set(d, 0.24254873f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.25561426f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.27319869f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.046816417f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.10721847f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.074241135f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.085345978f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.084594807f));
  const VF tail = hn::Mul(hn::Mul(p, t), bell);
  return {hn::IfThenElse(hn::Lt(u, hn::Zero(d)), tail, hn::Sub(one, tail)), bell};
}

}  // namespace

void GeluForward(const float* u, Index count, float* out) {
  for (Index i = 0; i < count; i += Lanes()) {
    const Index left = count - i;
    const VF x = LoadUpTo(u + i, left);
    StoreUpTo(hn::Mul(x, NormalOf(x).below), left, out + i);
  }
}

void GeluForthAndBack(const float* u, Index count, float* out, float* d) {
  const VF per_root =
      hn::Set(DF(), std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>);
  for (Index i = 0; i < count; i += Lanes()) {
    const Index left = count - i;
    const VF x = LoadUpTo(u + i, left), by = LoadUpTo(d + i, left);
    const Normal normal = NormalOf(x);
    const VF slope = hn::MulAdd(hn::Mul(x, normal.bell), per_root, normal.below);
    StoreUpTo(hn::Mul(x, normal.below), left, out + i);
    StoreUpTo(hn::Mul(by, slope), left, d + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {

HWY_EXPORT(GeluForward);
HWY_EXPORT(GeluForthAndBack);

namespace lab {

void Gelu(const float* u, Index count, float* out) {
  HWY_DYNAMIC_DISPATCH(GeluForward)(u, count, out);
}

void GeluBackward(const float* u, Index count, float* out, float* d) {
  HWY_DYNAMIC_DISPATCH(GeluForthAndBack)(u, count, out, d);
}

}  // namespace lab
}  // namespace sextant
#endif
