// Random numbers: the published SplitMix64 sequence, distributions, and independence of streams.
#include "sextant/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace sextant {
namespace {

// Outputs of the reference C code by Sebastiano Vigna (splitmix64.c).
TEST(RandomTest, KnownSequences) {
  Random zero(0);
  for (std::uint64_t expected : {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu,
                                 0xF88BB8A8724C81ECu, 0x1B39896A51A8749Bu}) {
    EXPECT_EQ(zero.Next(), expected);
  }
  Random other(1234567);
  for (std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                 4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(other.Next(), expected);
  }
}

TEST(RandomTest, UniformIsTheTopBitsOfNext) {
  Random next(0), uniform(0);
  for (int n = 0; n < 1000; ++n) {
    const double expected = std::ldexp(double(next.Next() >> 11), -53);
    EXPECT_EQ(uniform.Uniform(), expected);
  }
}

// Largest gap between the distribution of the sample and `cdf` (Kolmogorov-Smirnov).
template <class Cdf>
double Gap(std::vector<double> sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  double gap = 0;
  for (std::size_t n = 0; n < sample.size(); ++n) {
    const double at = cdf(sample[n]), count = double(sample.size());
    gap = std::max({gap, std::abs(at - double(n) / count), std::abs(at - double(n + 1) / count)});
  }
  return gap;
}

constexpr int kDraws = 100000;
// Passed with probability 0.999 by a right generator; the seeds are fixed, so it stays passed.
const double kGap = 1.95 / std::sqrt(double(kDraws));

TEST(RandomTest, UniformIsUniform) {
  Random random(7);
  std::vector<double> sample(kDraws);
  for (double& value : sample) value = random.Uniform();
  EXPECT_GE(*std::min_element(sample.begin(), sample.end()), 0.0);
  EXPECT_LT(*std::max_element(sample.begin(), sample.end()), 1.0);
  EXPECT_LT(Gap(sample, [](double x) { return x; }), kGap);
}

TEST(RandomTest, NormalIsNormal) {
  Random random(8);
  std::vector<double> sample(kDraws);
  double square = 0, neighbours = 0;
  for (double& value : sample) value = random.Normal();
  for (std::size_t n = 0; n < sample.size(); ++n) {
    square += sample[n] * sample[n];
    if (n > 0) neighbours += sample[n] * sample[n - 1];
  }
  EXPECT_LT(Gap(sample, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }), kGap);
  EXPECT_NEAR(square / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(neighbours / kDraws, 0, 5 / std::sqrt(double(kDraws)));
}

TEST(RandomTest, BelowReachesEveryValueEvenly) {
  Random random(9);
  for (std::uint64_t count : {1u, 2u, 7u, 100u}) {
    std::vector<int> seen(count);
    for (int n = 0; n < kDraws; ++n) {
      const std::uint64_t value = random.Below(count);
      ASSERT_LT(value, count);
      ++seen[value];
    }
    const double expected = double(kDraws) / double(count);
    for (int times : seen) EXPECT_NEAR(times, expected, 5 * std::sqrt(expected));
  }
  const std::uint64_t large = (std::uint64_t{1} << 63) + 12345;
  std::uint64_t highest = 0;
  for (int n = 0; n < 1000; ++n) highest = std::max(highest, random.Below(large));
  EXPECT_LT(highest, large);
  EXPECT_GT(highest, large / 10 * 9);
}

TEST(RandomTest, StreamsForPurposesRepeatAndDiffer) {
  Random one = Random::For(5, 1), again = Random::For(5, 1);
  for (int n = 0; n < 100; ++n) EXPECT_EQ(one.Next(), again.Next());
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t purpose = 0; purpose < 100; ++purpose) {
      first.insert(Random::For(seed, purpose).Next());
    }
  }
  EXPECT_EQ(first.size(), 10000u);
}

TEST(RandomTest, StreamsForPurposesAreIndependent) {
  for (std::uint64_t purpose : {1u, 2u, 3u}) {
    Random one = Random::For(5, 0), other = Random::For(5, purpose), seeded = Random::For(6, 0);
    double by_purpose = 0, by_seed = 0;
    for (int n = 0; n < kDraws; ++n) {
      const double x = one.Uniform() - 0.5;
      by_purpose += x * (other.Uniform() - 0.5);
      by_seed += x * (seeded.Uniform() - 0.5);
    }
    // A product of two centred uniforms has standard deviation 1/12.
    EXPECT_NEAR(by_purpose / kDraws, 0, 5.0 / 12 / std::sqrt(double(kDraws)));
    EXPECT_NEAR(by_seed / kDraws, 0, 5.0 / 12 / std::sqrt(double(kDraws)));
  }
}

TEST(RandomTest, DrawingFromOneStreamMovesNoOther) {
  Random one = Random::For(5, 1), other = Random::For(5, 2);
  const std::uint64_t expected = Random::For(5, 2).Next();
  for (int n = 0; n < 10; ++n) one.Next();
  EXPECT_EQ(other.Next(), expected);
}

}  // namespace
}  // namespace sextant
