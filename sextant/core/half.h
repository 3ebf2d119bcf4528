// Rounding doubles to the formats models compute in.
#pragma once

namespace sextant {

// The nearest number of each format, ties to even, in one rounding from double; past the largest
// finite number infinity, below the smallest subnormal zero; NaN stays NaN.
//   bf16: 8 significant bits, exponents of float32; f16: 11 bits, largest 65504; f32: 24 bits
double RoundToBf16(double value);
double RoundToF16(double value);
double RoundToF32(double value);

}  // namespace sextant
