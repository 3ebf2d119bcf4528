// One number of any storage, to double and back: for tests and benchmarks, which know it by its
// type.
#pragma once

#include "sextant/core/half.h"
#include "sextant/kernels/heads.h"

namespace sextant {

// Exactly.
inline double ToDouble(float value) { return value; }
inline double ToDouble(Bf16 value) { return FromBf16Bits(value.bits); }
inline double ToDouble(F16 value) { return FromF16Bits(value.bits); }

// Rounded once to nearest even.
inline void Set(double value, float& to) { to = float(value); }
inline void Set(double value, Bf16& to) { to.bits = Bf16Bits(value); }
inline void Set(double value, F16& to) { to.bits = F16Bits(value); }

}  // namespace sextant
