// Rows of numbers between float32 and 16-bit storage.
#pragma once

#include "sextant/kernels/heads.h"

namespace sextant {

// to[i] = from[i] for `count` numbers, exactly, subnormal ones too; `from` and `to` lie apart. No
// more than `count` are read or written. Allocates nothing.
void WidenRow(const Bf16* from, Index count, float* to);
void WidenRow(const F16* from, Index count, float* to);

// to[i] = from[i] rounded once to nearest even, to subnormal numbers, zeros and infinities too
// (past 65504 by half a step, float16 is infinite); NaN stays NaN, with any bits. The same bits on
// every target but for NaN. Else as WidenRow.
void NarrowRow(const float* from, Index count, Bf16* to);
void NarrowRow(const float* from, Index count, F16* to);

// Whether none of `count` numbers is infinite or NaN.
bool AllFinite(const float* row, Index count);
bool AllFinite(const Bf16* row, Index count);
bool AllFinite(const F16* row, Index count);

}  // namespace sextant
