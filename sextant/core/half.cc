// Rounding by scaling: the format's step at a number becomes 1, and whole numbers are rounded to.
#include "sextant/core/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

// A format of `digits` bits whose normal numbers run from 2^smallest to below 2^(largest + 1).
struct Format {
  int digits, smallest, largest;

  int ExponentBits() const { return 16 - digits; }
  // Exponent of the step between neighbours at numbers of this exponent.
  int Step(int exponent) const { return std::max(exponent, smallest) - (digits - 1); }
};
constexpr Format kF32{24, -126, 127}, kBf16{8, -126, 127}, kF16{11, -14, 15};

double Round(const Format& format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int step = format.Step(std::ilogb(value));
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  const bool overflows = std::abs(rounded) >= std::ldexp(1.0, format.largest + 1);
  return overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

// Sign, exponent and fraction of 16 bits: the exponent's largest value means infinity or NaN, its
// smallest subnormal numbers.
std::uint16_t Bits(const Format& format, double value) {
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const unsigned fraction_bits = unsigned(format.digits - 1);
  const unsigned infinity = ((1u << format.ExponentBits()) - 1) << fraction_bits;
  if (std::isnan(value)) return std::uint16_t(sign | infinity | 1u << (fraction_bits - 1));
  const double rounded = std::abs(Round(format, value));
  if (std::isinf(rounded)) return std::uint16_t(sign | infinity);
  if (rounded == 0) return std::uint16_t(sign);
  const int exponent = std::ilogb(rounded);
  const unsigned steps = unsigned(std::ldexp(rounded, -format.Step(exponent)));
  // A normal number's leading bit adds 1 to the exponent field.
  const unsigned field = exponent < format.smallest ? 0 : unsigned(exponent - format.smallest);
  return std::uint16_t(sign | ((field << fraction_bits) + steps));
}

double FromBits(const Format& format, std::uint16_t bits) {
  const int fraction_bits = format.digits - 1;
  const int field = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  double value = 0;
  if (field == (1 << format.ExponentBits()) - 1) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {
    const int whole = field == 0 ? fraction : fraction + (1 << fraction_bits);
    value = std::ldexp(whole, format.smallest + std::max(field - 1, 0) - fraction_bits);
  }
  return std::copysign(value, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

}  // namespace

double RoundToF32(double value) { return Round(kF32, value); }
double RoundToBf16(double value) { return Round(kBf16, value); }
double RoundToF16(double value) { return Round(kF16, value); }

std::uint16_t Bf16Bits(double value) { return Bits(kBf16, value); }
std::uint16_t F16Bits(double value) { return Bits(kF16, value); }

double FromBf16Bits(std::uint16_t bits) { return FromBits(kBf16, bits); }
double FromF16Bits(std::uint16_t bits) { return FromBits(kF16, bits); }

}  // namespace sextant
