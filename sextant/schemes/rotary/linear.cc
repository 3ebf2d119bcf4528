// Powers of one base, divided.
#include "sextant/schemes/rotary/linear.h"

#include "sextant/core/error.h"

namespace sextant {
namespace {

// base^(-2i / width) / factor for the first `turning` of width / 2 pairs, 0 for the rest.
Frequencies DividedPowers(double base, int width, int turning, double factor, Numerics numerics) {
  Frequencies result;
  result.base = base;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    using Real = decltype(real);
    std::vector<Real> frequencies = PowerFrequencies<Real>(base, width, turning);
    for (Real& frequency : frequencies) frequency /= Real(factor);
    frequencies.resize(std::size_t(width / 2));
    return frequencies;
  });
  return result;
}

}  // namespace

Frequencies DefaultFrequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  return DividedPowers(base, rotated_dims, rotated_dims / 2, 1, numerics);
}

Frequencies LinearFrequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  return DividedPowers(base, rotated_dims, rotated_dims / 2, factor, numerics);
}

void ProportionalFrequencies::check(std::string_view where, int rotated_dims) const {
  if (TurningPairs(rotated_dims) >= 1) return;
  throw Error(where,
              "frequencies.fraction must leave a pair of " + std::to_string(rotated_dims) +
                  " channels to turn, got " + ToText(fraction),
              "the smallest fraction is " + ToText(2.0 / rotated_dims) +
                  "; for no rotation at all use the scheme none");
}

Frequencies ProportionalFrequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  return DividedPowers(base, rotated_dims, TurningPairs(rotated_dims), factor, numerics);
}

}  // namespace sextant
