// Student's distribution by the incomplete beta function; its quantiles by bisection.
#include "lab/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

constexpr double kConfidence = 0.95;

// The continued fraction of the incomplete beta function, by Lentz's method (Numerical Recipes,
// section 6.4). Converges within about sqrt(max(a, b)) rounds where x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr int kMostRounds = 10000;
  constexpr double kTiny = 1e-300, kClose = 1e-15;
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostRounds; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d);
    c = away_from_0(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d);
    c = away_from_0(1 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < kClose) break;
  }
  return fraction;
}

// The regularized incomplete beta function I_x(a, b).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

std::map<std::int64_t, double> BySeed(std::span<const SeedValue> values) {
  std::map<std::int64_t, double> by_seed;
  for (const SeedValue& value : values) by_seed.emplace(value.seed, value.value);
  return by_seed;
}

}  // namespace

double StudentProbability(double t, double degrees) {
  const double tail = 0.5 * IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t > 0 ? 1 - tail : tail;
}

double StudentQuantile(double probability, double degrees) {
  if (!(probability > 0 && probability < 1)) {
    throw Error("statistics",
                fmt::format("probability must be between 0 and 1, got {}", probability));
  }
  if (!(degrees > 0)) {
    throw Error("statistics", fmt::format("degrees of freedom must be above 0, got {}", degrees));
  }
  if (probability < 0.5) return -StudentQuantile(1 - probability, degrees);
  double low = 0, high = 1;
  while (StudentProbability(high, degrees) < probability && high < 1e150) high *= 2;
  while (high - low > 1e-13 * std::max(1., high)) {
    const double middle = low + (high - low) / 2;
    (StudentProbability(middle, degrees) < probability ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

Estimate MeanWithInterval(std::span<const double> values) {
  if (values.empty()) throw Error("statistics", "a mean needs at least one value, got none");
  const double count = static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) {
    if (!std::isfinite(value)) {
      throw Error("statistics", fmt::format("values must be finite, got {}", value));
    }
    sum += value;
  }
  Estimate estimate;
  estimate.count = values.size();
  estimate.mean = sum / count;
  estimate.least = *std::min_element(values.begin(), values.end());
  estimate.greatest = *std::max_element(values.begin(), values.end());
  if (values.size() == 1) return estimate;
  double squares = 0;
  for (double value : values) squares += (value - estimate.mean) * (value - estimate.mean);
  const double half =
      StudentQuantile((1 + kConfidence) / 2, count - 1) * std::sqrt(squares / (count - 1) / count);
  estimate.low = estimate.mean - half;
  estimate.high = estimate.mean + half;
  return estimate;
}

Estimate MeanWithInterval(std::span<const SeedValue> values) {
  std::vector<double> numbers;
  for (const SeedValue& value : values) numbers.push_back(value.value);
  return MeanWithInterval(numbers);
}

std::vector<SeedValue> DifferencesBySeed(std::span<const SeedValue> values,
                                         std::span<const SeedValue> baseline) {
  const std::map<std::int64_t, double> of_baseline = BySeed(baseline);
  std::vector<SeedValue> differences;
  for (const auto& [seed, value] : BySeed(values)) {
    const auto found = of_baseline.find(seed);
    if (found != of_baseline.end()) differences.push_back({seed, value - found->second});
  }
  return differences;
}

Estimate PairedDifference(std::span<const SeedValue> values, std::span<const SeedValue> baseline) {
  const std::vector<SeedValue> differences = DifferencesBySeed(values, baseline);
  if (differences.empty()) {
    throw Error("statistics", "a paired difference needs a seed that both sides have, got none");
  }
  return MeanWithInterval(differences);
}

}  // namespace sextant::lab
