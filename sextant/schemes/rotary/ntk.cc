// Changes of base.
#include "sextant/schemes/rotary/ntk.h"

#include <algorithm>

#include "sextant/schemes/rotary/linear.h"
#include "sextant/schemes/rotary/ramp.h"

namespace sextant {
namespace {

// The turns over original_length where the two ramps of NTK by parts begin and end.
constexpr double kNtkFast = 1.25, kNtkSlow = 0.75, kKeptFast = 16, kKeptSlow = 2;

}  // namespace

Frequencies NtkFrequencies::at(int rotated_dims, std::int64_t length, Numerics numerics) const {
  return DefaultFrequencies{NtkBase(base, alpha, rotated_dims)}.at(rotated_dims, length, numerics);
}

Frequencies NtkFixedFrequencies::at(int rotated_dims, std::int64_t length,
                                    Numerics numerics) const {
  Frequencies result = LinearFrequencies{base * factor, std::pow(factor, 2.0 / rotated_dims)}.at(
      rotated_dims, length, numerics);
  return result;
}

Frequencies NtkMixedFrequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  Frequencies result;
  result.base = base;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    using Real = decltype(real);
    const Real b = Real(mixed_b);
    const Real a = std::log(Real(factor)) / Real(std::pow(rotated_dims / 2, mixed_b));
    std::vector<Real> frequencies = PowerFrequencies<Real>(base, rotated_dims, rotated_dims / 2);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      frequencies[i] /= std::exp(a * std::pow(Real(i + 1), b));
    }
    return frequencies;
  });
  return result;
}

Frequencies DynamicFrequencies::at(int rotated_dims, std::int64_t length, Numerics numerics) const {
  const double original = original_length, now = std::max(double(length), original);
  const double stretch = alpha > 1 ? alpha : factor * now / original - (factor - 1);
  return DefaultFrequencies{NtkBase(base, stretch, rotated_dims)}.at(rotated_dims, length,
                                                                     numerics);
}

Frequencies DynamicLinearFrequencies::at(int rotated_dims, std::int64_t length,
                                         Numerics numerics) const {
  const double original = original_length, now = std::max(double(length), original);
  return LinearFrequencies{base, now / original}.at(rotated_dims, length, numerics);
}

void NtkByPartsFrequencies::check(std::string_view where, int rotated_dims) const {
  CheckNtkWidth(where, rotated_dims);
  CheckOriginalLength(where, original_length);
  for (const Ramp& ramp : {Ramp{kNtkFast, kNtkSlow}, Ramp{kKeptFast, kKeptSlow}}) {
    CheckRamp(where, ramp, base, original_length, rotated_dims);
  }
}

Frequencies NtkByPartsFrequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  Frequencies result;
  result.base = base;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    using Real = decltype(real);
    const int pairs = rotated_dims / 2;
    const std::vector<Real> kept = PowerFrequencies<Real>(base, rotated_dims, pairs);
    std::vector<Real> frequencies =
        PowerFrequencies<Real>(NtkBase(base, factor, rotated_dims), rotated_dims, pairs);
    const auto to_linear = RampOf<Real>({kNtkFast, kNtkSlow}, base, original_length, rotated_dims);
    const auto to_ntk = RampOf<Real>({kKeptFast, kKeptSlow}, base, original_length, rotated_dims);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const Real of_ntk = (1 - to_linear.ramp[i]) * Real(ntk_factor);
      const Real of_kept = (1 - to_ntk.ramp[i]) * Real(extrapolation_factor);
      const Real linear = kept[i] / Real(factor);
      const Real stretched = linear * (1 - of_ntk) + frequencies[i] * of_ntk;
      frequencies[i] = stretched * (1 - of_kept) + kept[i] * of_kept;
    }
    return frequencies;
  });
  return result;
}

}  // namespace sextant
