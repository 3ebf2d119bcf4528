// One rounding from double to fewer bits.
#include "sextant/core/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

// `bits` significant bits; numbers below 2^smallest (the smallest normal one) lose bits one by one.
double Round(double value, int bits, int smallest, int largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), smallest);
  const double unit = std::ldexp(1.0, exponent - bits + 1);
  const double rounded = std::nearbyint(value / unit) * unit;
  if (std::abs(rounded) < std::ldexp(1.0, largest + 1)) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace

double RoundToBf16(double value) { return Round(value, 8, -126, 127); }
double RoundToF16(double value) { return Round(value, 11, -14, 15); }
double RoundToF32(double value) { return Round(value, 24, -126, 127); }

}  // namespace sextant
