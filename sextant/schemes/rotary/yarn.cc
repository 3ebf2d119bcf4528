// YaRN's blend and its two corrections of scores.
#include "sextant/schemes/rotary/yarn.h"

namespace sextant {
namespace {

// g(s, m): what the paper multiplies queries and keys by, so that entropy stays as it was.
double Sharpening(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

}  // namespace

void YarnFrequencies::check(std::string_view where, int rotated_dims) const {
  CheckOriginalLength(where, original_length);
  CheckRamp(where, {beta_fast, beta_slow, ramp_ends}, base, original_length, rotated_dims);
}

Frequencies YarnFrequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  const Ramp ramp{beta_fast, beta_slow, ramp_ends};
  Frequencies result;
  result.base = base;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    using Real = decltype(real);
    const RampTable<Real> table = RampOf<Real>(ramp, base, original_length, rotated_dims);
    std::vector<Real> frequencies;
    for (int i = 0; i < rotated_dims / 2; ++i) {
      const Real power = std::pow(Real(base), Real(2 * i) / Real(rotated_dims));
      const Real kept = 1 / power, divided = 1 / (Real(factor) * power);
      const Real of_kept = (1 - table.ramp[std::size_t(i)]) * Real(extrapolation_factor);
      frequencies.push_back(divided * (1 - of_kept) + kept * of_kept);
    }
    return frequencies;
  });
  const RampTable<double> table = RampOf<double>(ramp, base, original_length, rotated_dims);
  result.ramp = table.ramp;
  result.ramp_ends = {table.raw_low, table.raw_high};
  result.ramp_range = {table.low, table.high};
  if (attention_factor > 0) {
    result.magnitude = attention_factor;
  } else if (mscale > 0 && mscale_all_dim > 0) {
    result.magnitude = Sharpening(factor, mscale) / Sharpening(factor, mscale_all_dim);
  } else {
    result.magnitude = Sharpening(factor, 1);
  }
  if (softmax == YarnSoftmax::kDeepSeek) {
    result.softmax_multiplier = std::pow(Sharpening(factor, mscale_all_dim), 2);
  }
  return result;
}

void DynamicYarnFrequencies::check(std::string_view where, int rotated_dims) const {
  CheckOriginalLength(where, original_length);
  CheckRamp(where, {beta_fast, beta_slow}, base, original_length, rotated_dims);
}

Frequencies DynamicYarnFrequencies::at(int rotated_dims, std::int64_t length,
                                       Numerics numerics) const {
  YarnFrequencies yarn;
  yarn.base = base;
  yarn.factor = std::max(double(length) / original_length, 1.0);
  yarn.original_length = original_length;
  yarn.beta_fast = beta_fast;
  yarn.beta_slow = beta_slow;
  yarn.extrapolation_factor = extrapolation_factor;
  return yarn.at(rotated_dims, length, numerics);
}

}  // namespace sextant
