// GELU and its derivative against double precision, for every SIMD target.
#include "lab/simd/gelu.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace sextant::lab {
namespace {

double Phi(double u) { return 0.5 * std::erfc(-u / std::numbers::sqrt2); }
double Slope(double u) {
  return Phi(u) + u * std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi);
}

template <class Test>
void ForEachTarget(const Test& test) {
  hwy::SetSupportedTargetsForTest(0);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Of both signs, from denormals to where e^(-u^2/2) has long been 0.
std::vector<float> Samples() {
  std::vector<float> u = {0.0f, -0.0f};
  for (double x = 1e-40; x < 1e4; x *= 1.01) u.push_back(float(x));
  for (int n = 0; n <= 20000; ++n) u.push_back(float(n) * 1e-3f);
  const std::size_t count = u.size();
  for (std::size_t n = 0; n < count; ++n) u.push_back(-u[n]);
  return u;
}

TEST(GeluTest, IsThatOfDoublePrecision) {
  const std::vector<float> u = Samples();
  ForEachTarget([&] {
    std::vector<float> out(u.size()), again(u.size()), d(u.size(), 3.0f);
    Gelu(u.data(), Index(u.size()), out.data());
    GeluBackward(u.data(), Index(u.size()), again.data(), d.data());
    EXPECT_EQ(out, again);
    double worst = 0, worst_slope = 0;
    for (std::size_t n = 0; n < u.size(); ++n) {
      const double x = u[n], at_least = std::numeric_limits<float>::min();
      worst = std::max(worst, std::abs(out[n] - x * Phi(x)) / std::max(std::abs(x), at_least));
      worst_slope = std::max(worst_slope, std::abs(d[n] / 3 - Slope(x)) / (1 + std::abs(x)));
    }
    EXPECT_LE(worst, 3e-7);
    EXPECT_LE(worst_slope, 6e-7);
  });
}

TEST(GeluTest, AnyCountInPlaceTouchesNothingElse) {
  ForEachTarget([] {
    for (Index count = 0; count <= 70; ++count) {
      std::vector<float> u(std::size_t(count) + 2, 1.5f), d = u;
      GeluBackward(u.data() + 1, count, u.data() + 1, d.data() + 1);
      EXPECT_EQ(u.front(), 1.5f);
      EXPECT_EQ(u.back(), 1.5f);
      EXPECT_EQ(d.front(), 1.5f);
      EXPECT_EQ(d.back(), 1.5f);
      for (Index n = 1; n <= count; ++n) {
        EXPECT_NEAR(u[std::size_t(n)], 1.5 * Phi(1.5), 5e-7);
        EXPECT_NEAR(d[std::size_t(n)], 1.5 * Slope(1.5), 5e-6);
      }
    }
  });
}

TEST(GeluTest, NanAndInfinitiesAreAtensRule) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> u = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 1};
  ForEachTarget([&] {
    std::vector<float> out(4);
    Gelu(u.data(), 4, out.data());
    EXPECT_EQ(out[0], kInf);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_TRUE(std::isfinite(out[3]));
  });
}

}  // namespace
}  // namespace sextant::lab
