// What a frequency rule of a rotary scheme gives, and the steps its rules share.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sextant/core/parameter.h"

namespace sextant {

// How angles are computed.
//   kExact      in double, so that a table is off by its last rounding alone
//   kAsTrained  by the float32 steps of the released Hugging Face code, errors and all
enum class Numerics { kExact, kAsTrained };

// How fast each channel pair turns, and what a rule does to scores. With kAsTrained the inv_freq
// are float32 numbers.
struct Frequencies {
  std::vector<double> inv_freq;    // [pairs] radians a position
  double magnitude = 1;            // a factor on cos and sin: scores change by its square
  double softmax_multiplier = 1;   // a factor on the softmax scale
  double base = 0;                 // the base in effect; 0 where there is none
  std::vector<double> ramp;        // [pairs] 0: kept, 1: divided by the factor; empty: no ramp
  std::vector<double> ramp_ends;   // the two ends in pairs, before rounding and clamping
  std::vector<double> ramp_range;  // the two ends as used
};

// inv_freq[i] = base^(-2i / width) for the first `pairs` pairs. Real is double, or float for the
// float32 steps 1 / base^(2i / width).
template <class Real>
std::vector<Real> PowerFrequencies(double base, int width, int pairs) {
  std::vector<Real> frequencies;
  for (int i = 0; i < pairs; ++i) {
    const Real exponent = Real(2 * i) / Real(width);
    frequencies.push_back(std::is_same_v<Real, double> ? std::pow(Real(base), -exponent)
                                                       : 1 / std::pow(Real(base), exponent));
  }
  return frequencies;
}

// make(Real()) for the Real that `numerics` asks for, as doubles.
template <class Make>
std::vector<double> InNumerics(Numerics numerics, const Make& make) {
  if (numerics == Numerics::kExact) return make(double());
  const std::vector<float> rounded = make(float());
  return {rounded.begin(), rounded.end()};
}

// Fields that several rules have.
void AddBaseField(auto& field, double& base) {
  field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength, theta");
}
void AddFactorField(auto& field, double& factor) {
  field("factor", factor, 1, 1e6, "how many times longer the context becomes");
}
void AddOriginalLengthField(auto& field, int& original_length) {
  field("original_length", original_length, 0, 1 << 30,
        "positions trained on before the context was stretched; 0: not stated, which is an error",
        "context");
}

// Throws Error unless the length was stated, or followed the model's context.
void CheckOriginalLength(std::string_view where, int original_length);
// Throws Error unless there are 4 channels: the exponent d / (d - 2) has no value for 2.
void CheckNtkWidth(std::string_view where, int rotated_dims);

// How many times base^(d/(d-2)) grows: the change of base that stretches the slowest pair by
// `factor` and leaves the fastest alone.
double NtkBase(double base, double factor, int rotated_dims);

// Whether scores, by distance from 0 on, fall with it: rank correlation below -0.5.
bool FallsWithDistance(std::span<const double> scores);
constexpr int kDecayDistances = 256;  // over which the claim of decay is made

}  // namespace sextant
