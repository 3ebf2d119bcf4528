// Means over seeds with Student's 95 % interval, and paired differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sextant::lab {

// A mean of some values. low and high bound the 95 % interval of Student's t around the mean; one
// value has none, and they are NaN.
struct Estimate {
  double mean = 0;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  double least = 0;  // of the values
  double greatest = 0;
  std::size_t count = 0;

  bool HasInterval() const { return low <= high; }
  double HalfWidth() const { return (high - low) / 2; }
};

// A figure of the run with that seed.
struct SeedValue {
  std::int64_t seed = 0;
  double value = 0;
};

// P(T <= t) of Student's t with `degrees` of freedom, any number above 0.
double StudentProbability(double t, double degrees);

// The t that P(T <= t) equals `probability`, to 1e-9 of itself. Throws Error where probability is
// not between 0 and 1 or degrees not above 0.
double StudentQuantile(double probability, double degrees);

// Throws Error where there is no value or one is not finite.
Estimate MeanWithInterval(std::span<const double> values);
Estimate MeanWithInterval(std::span<const SeedValue> values);

// values - baseline for each seed that both have, by seed; a seed given twice counts once, as first
// given.
std::vector<SeedValue> DifferencesBySeed(std::span<const SeedValue> values,
                                         std::span<const SeedValue> baseline);

// The mean of them. Throws Error where there is no seed in common or a value is not finite.
Estimate PairedDifference(std::span<const SeedValue> values, std::span<const SeedValue> baseline);

}  // namespace sextant::lab
