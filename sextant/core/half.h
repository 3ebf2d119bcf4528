// Doubles rounded to the narrow formats of models: float32, bfloat16 and float16.
#pragma once

#include <cstdint>

namespace sextant {

// The nearest number of the format, ties to the even one, straight from double: rounding to float32
// on the way would round twice. Past the largest number by half a step or more: infinity. Below the
// smallest: subnormal numbers, then zero of the same sign. NaN stays NaN.
//   float32   24 bits, largest 3.4e38, smallest 1.4e-45
//   bfloat16   8 bits, largest 3.39e38, smallest 9.2e-41
//   float16   11 bits, largest 65504, smallest 6.0e-8
double RoundToF32(double value);
double RoundToBf16(double value);
double RoundToF16(double value);

// The 16 bits of the rounded number, sign first; NaN is the quiet one of its sign.
std::uint16_t Bf16Bits(double value);
std::uint16_t F16Bits(double value);

// The number that 16 bits stand for, exactly.
double FromBf16Bits(std::uint16_t bits);
double FromF16Bits(std::uint16_t bits);

}  // namespace sextant
