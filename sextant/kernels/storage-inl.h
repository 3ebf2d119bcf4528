// float32, bfloat16 and float16 in memory as vectors of floats, for each SIMD target. Included
// inside Highway's foreach_target only.
#if defined(SEXTANT_KERNELS_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEXTANT_KERNELS_STORAGE_INL_H_
#undef SEXTANT_KERNELS_STORAGE_INL_H_
#else
#define SEXTANT_KERNELS_STORAGE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sextant/kernels/heads.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DU32 = hn::RebindToUnsigned<DF>;
using VU32 = hn::Vec<DU32>;
using DU16 = hn::Rebind<std::uint16_t, DF>;

HWY_INLINE VF LoadFloats(const float* from) { return hn::LoadU(DF(), from); }
HWY_INLINE void StoreFloats(VF v, float* to) { hn::StoreU(v, DF(), to); }

HWY_INLINE VU32 Load16(const void* from) {
  return hn::PromoteTo(DU32(), hn::LoadU(DU16(), static_cast<const std::uint16_t*>(from)));
}
HWY_INLINE void Store16(VU32 bits, void* to) {
  const hn::RebindToSigned<DF> signed_lanes;
  hn::StoreU(hn::DemoteTo(DU16(), hn::BitCast(signed_lanes, bits)), DU16(),
             static_cast<std::uint16_t*>(to));
}

// The bits of v whose upper half is v rounded to bfloat16, ties to even (Highway's own demotion
// truncates). A NaN must have no bit set in its lower half, or it may become another number.
HWY_INLINE VU32 RoundedToUpperHalf(VF v) {
  const DU32 d;
  const VU32 bits = hn::BitCast(d, v);
  const VU32 odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  return hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFF)));
}
// v, where every NaN is the one that arithmetic makes.
HWY_INLINE VF WithPlainNan(VF v) {
  return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(DF(), hn::Set(DU32(), 0x7FC00000)), v);
}

HWY_INLINE VF LoadFloats(const Bf16* from) {
  return hn::BitCast(DF(), hn::ShiftLeft<16>(Load16(from)));
}
HWY_INLINE void StoreFloats(VF v, Bf16* to) {
  Store16(hn::ShiftRight<16>(RoundedToUpperHalf(WithPlainNan(v))), to);
}

// Highway's float16 is the machine's own from AVX2 on and on ARM; elsewhere it truncates and knows
// neither infinities nor NaN, so the bits are made here.
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64
using DF16 = hn::Rebind<hwy::float16_t, DF>;
HWY_INLINE VF LoadFloats(const F16* from) {
  return hn::PromoteTo(DF(), hn::LoadU(DF16(), reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE void StoreFloats(VF v, F16* to) {
  hn::StoreU(hn::DemoteTo(DF16(), v), DF16(), reinterpret_cast<hwy::float16_t*>(to));
}
#else
HWY_INLINE VF LoadFloats(const F16* from) {
  const DU32 d;
  const VU32 bits = Load16(from);
  const VU32 size = hn::And(bits, hn::Set(d, 0x7FFF));
  // Exponents differ by 112; the product makes subnormal numbers normal.
  const VF scaled = hn::Mul(hn::BitCast(DF(), hn::ShiftLeft<13>(size)), hn::Set(DF(), 0x1p112f));
  const VU32 endless = hn::Or(hn::BitCast(d, scaled), hn::Set(d, 0x7F800000));
  const VU32 value =
      hn::IfThenElse(hn::Gt(size, hn::Set(d, 0x7BFF)), endless, hn::BitCast(d, scaled));
  return hn::BitCast(DF(), hn::Or(value, hn::ShiftLeft<16>(hn::Xor(bits, size))));
}
HWY_INLINE void StoreFloats(VF v, F16* to) {
  const DU32 d;
  const VU32 bits = hn::BitCast(d, v);
  const VU32 size = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
  const VU32 odd = hn::And(hn::ShiftRight<13>(size), hn::Set(d, 1));
  const VU32 normal =
      hn::ShiftRight<13>(hn::Add(hn::Add(size, odd), hn::Set(d, 0xFFFu - (112u << 23))));
  // Adding 1/2 leaves the multiples of the smallest subnormal number, rounded.
  const VU32 half = hn::Set(d, 0x3F000000);
  const VU32 subnormal =
      hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(DF(), size), hn::BitCast(DF(), half))), half);
  const VU32 endless =
      hn::IfThenElse(hn::Gt(size, hn::Set(d, 0x7F800000)), hn::Set(d, 0x7E00), hn::Set(d, 0x7C00));
  const VU32 finite = hn::IfThenElse(hn::Lt(size, hn::Set(d, 113u << 23)), subnormal, normal);
  const VU32 value = hn::IfThenElse(hn::Gt(size, hn::Set(d, 0x477FFFFF)), endless, finite);
  Store16(hn::Or(value, hn::ShiftRight<16>(hn::Xor(bits, size))), to);
}
#endif

// A vector, or the last `count` numbers of a row, which are fewer and go through a buffer.
template <class T>
HWY_INLINE VF LoadUpTo(const T* from, Index count) {
  if (count >= Index(hn::Lanes(DF()))) return LoadFloats(from);
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy(from, from + count, buffer);
  return LoadFloats(buffer);
}
template <class T>
HWY_INLINE void StoreUpTo(VF v, Index count, T* to) {
  if (count >= Index(hn::Lanes(DF()))) return StoreFloats(v, to);
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
  StoreFloats(v, buffer);
  std::copy(buffer, buffer + count, to);
}

#if !HWY_MEM_OPS_MIGHT_FAULT
HWY_INLINE VF LoadUpTo(const float* from, Index count) {
  const DF d;
  if (count >= Index(hn::Lanes(d))) return LoadFloats(from);
  return hn::MaskedLoad(hn::FirstN(d, std::size_t(count)), d, from);
}
HWY_INLINE void StoreUpTo(VF v, Index count, float* to) {
  const DF d;
  if (count >= Index(hn::Lanes(d))) return StoreFloats(v, to);
  hn::BlendedStore(v, hn::FirstN(d, std::size_t(count)), d, to);
}
#endif

// `count` numbers to floats and back; whole vectors of floats are written and read.
template <class T>
HWY_INLINE void ReadFloats(const T* from, Index count, float* to) {
  const Index lanes = Index(hn::Lanes(DF()));
  for (Index i = 0; i < count; i += lanes) StoreFloats(LoadUpTo(from + i, count - i), to + i);
}
template <class T>
HWY_INLINE void WriteFloats(const float* from, Index count, T* to) {
  const Index lanes = Index(hn::Lanes(DF()));
  for (Index i = 0; i < count; i += lanes) StoreUpTo(LoadFloats(from + i), count - i, to + i);
}

#if HWY_TARGET != HWY_SCALAR
// A vector of bfloat16 is two of floats without moving a lane: the numbers at odd places are the
// upper halves of its 32-bit lanes, those at even places the lower halves shifted up.
using DPacked = hn::Repartition<std::uint16_t, DF>;

HWY_INLINE VU32 LoadPacked(const Bf16* from) {
  return hn::BitCast(DU32(), hn::LoadU(DPacked(), reinterpret_cast<const std::uint16_t*>(from)));
}
HWY_INLINE VF EvenOf(VU32 packed) { return hn::BitCast(DF(), hn::ShiftLeft<16>(packed)); }
HWY_INLINE VF OddOf(VU32 packed) {
  return hn::BitCast(DF(), hn::And(packed, hn::Set(DU32(), 0xFFFF0000)));
}
// Rounds to nearest even in 16-bit lanes. A NaN must have no bit set in its lower half, as those
// have that arithmetic makes of bfloat16 and plain NaN.
HWY_INLINE void StorePacked(VF even, VF odd, Bf16* to) {
  const DU32 d32;
  const DPacked d;
  const VU32 low = hn::BitCast(d32, even), high = hn::BitCast(d32, odd);
  const auto kept = hn::OddEven(hn::BitCast(d, high), hn::BitCast(d, hn::ShiftRight<16>(low)));
  const auto lost = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<16>(high)), hn::BitCast(d, low));
#if HWY_TARGET <= HWY_AVX3
  // Masks are registers of their own there. To be rounded up: more than half is lost, or half of it
  // and the last bit kept is odd.
  const auto one = hn::Set(d, 1);
  const auto up = hn::Gt(hn::OrAnd(lost, kept, one), hn::Set(d, 0x8000));
  const auto rounded = hn::IfThenElse(up, hn::Add(kept, one), kept);
#else
  // The upper bit of the average, (lost + 0x7FFF + last bit kept) / 2, is the carry.
  const auto half = hn::OrAnd(hn::Set(d, 0x7FFE), kept, hn::Set(d, 1));
  const auto rounded = hn::Add(kept, hn::ShiftRight<15>(hn::AverageRound(lost, half)));
#endif
  hn::StoreU(rounded, d, reinterpret_cast<std::uint16_t*>(to));
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#endif  // SEXTANT_KERNELS_STORAGE_INL_H_
