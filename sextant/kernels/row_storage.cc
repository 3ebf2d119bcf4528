// Rows between storages for every SIMD target of the machine, by Highway's run-time dispatch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/row_storage.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include "sextant/kernels/row_storage.h"
#include "sextant/kernels/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

template <class From, class To>
HWY_INLINE void Convert(const From* from, Index count, To* to) {
  const Index lanes = Index(hn::Lanes(DF()));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) StoreFloats(LoadFloats(from + i), to + i);
  if (i < count) StoreUpTo(LoadUpTo(from + i, count - i), count - i, to + i);
}

// 0 times a number is 0, but for infinities and NaN.
template <class T>
HWY_INLINE bool Finite(const T* row, Index count) {
  const DF d;
  const VF zero = hn::Zero(d);
  VF sum = zero;
  for (Index i = 0; i < count; i += Index(hn::Lanes(d))) {
    sum = hn::MulAdd(LoadUpTo(row + i, count - i), zero, sum);
  }
  return hn::AllTrue(d, hn::Eq(sum, zero));
}

void WidenBf16(const Bf16* from, Index count, float* to) { Convert(from, count, to); }
void WidenF16(const F16* from, Index count, float* to) { Convert(from, count, to); }
void NarrowBf16(const float* from, Index count, Bf16* to) { Convert(from, count, to); }
void NarrowF16(const float* from, Index count, F16* to) { Convert(from, count, to); }

bool FiniteF32(const float* row, Index count) { return Finite(row, count); }
bool FiniteBf16(const Bf16* row, Index count) { return Finite(row, count); }
bool FiniteF16(const F16* row, Index count) { return Finite(row, count); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(WidenBf16);
HWY_EXPORT(WidenF16);
HWY_EXPORT(NarrowBf16);
HWY_EXPORT(NarrowF16);
HWY_EXPORT(FiniteF32);
HWY_EXPORT(FiniteBf16);
HWY_EXPORT(FiniteF16);

void WidenRow(const Bf16* from, Index count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenBf16)(from, count, to);
}
void WidenRow(const F16* from, Index count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenF16)(from, count, to);
}
void NarrowRow(const float* from, Index count, Bf16* to) {
  HWY_DYNAMIC_DISPATCH(NarrowBf16)(from, count, to);
}
void NarrowRow(const float* from, Index count, F16* to) {
  HWY_DYNAMIC_DISPATCH(NarrowF16)(from, count, to);
}

bool AllFinite(const float* row, Index count) {
  return HWY_DYNAMIC_DISPATCH(FiniteF32)(row, count);
}
bool AllFinite(const Bf16* row, Index count) {
  return HWY_DYNAMIC_DISPATCH(FiniteBf16)(row, count);
}
bool AllFinite(const F16* row, Index count) { return HWY_DYNAMIC_DISPATCH(FiniteF16)(row, count); }

}  // namespace sextant
#endif  // HWY_ONCE
