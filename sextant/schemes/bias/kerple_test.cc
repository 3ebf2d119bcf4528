// KERPLE: both kernels by hand, what lies outside the bounds, and where the numbers start.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

Array<double, 2> Bias(const std::string& spec, const Lists& weights, Distances distances) {
  const SchemePtr scheme = MakeScheme(spec);
  Array<double, 2> bias({scheme->bias_heads(), distances.count});
  scheme->FillDistanceBias(weights, distances, bias);
  return bias;
}

TEST(KerpleTest, LogKernel) {
  const Array<double, 2> bias = Bias("kerple:heads=2", {{2, 0.5}, {1, 0.25}}, {-8, 10});
  EXPECT_NEAR(bias(0, 0), -2 * std::log(9.0), 1e-15);
  EXPECT_NEAR(bias(1, 0), -0.5 * std::log(3.0), 1e-15);
  EXPECT_NEAR(bias(1, 4), -0.5 * std::log(2.0), 1e-15);
  EXPECT_EQ(bias(0, 8), 0);
  EXPECT_NEAR(bias(0, 9), -2 * std::log(2.0), 1e-15);
  // As far as double reaches: ln(1 + 2^24 / 4) = ln(4194305).
  EXPECT_NEAR(Bias("kerple:heads=1", {{1}, {0.25}}, {-(1 << 24), 1})(0, 0),
              -(22 * std::log(2.0) + 0x1p-22), 1e-12);
}

TEST(KerpleTest, PowerKernel) {
  const Array<double, 2> bias =
      Bias("kerple:heads=2,kernel=power", {{0.5, 0.1}, {2, 0.5}}, {-9, 11});
  EXPECT_NEAR(bias(0, 0), -0.5 * 81, 1e-13);
  EXPECT_NEAR(bias(1, 0), -0.1 * 3, 1e-15);
  EXPECT_EQ(bias(0, 9), 0);
  EXPECT_NEAR(bias(1, 10), -0.1, 1e-16);
}

// The fork's clamp: at least 0.01; a power at most 2.
TEST(KerpleTest, NumbersOutsideTheirBoundsAreReadAsTheBoundAndGetNoGradient) {
  const Lists log = {{-1, 3}, {0.5, 0}};
  const Array<double, 2> bias = Bias("kerple:heads=2", log, {-2, 1});
  EXPECT_NEAR(bias(0, 0), -0.01 * std::log(2.0), 1e-16);
  EXPECT_NEAR(bias(1, 0), -3 * std::log(1.02), 1e-15);
  const Lists power = {{1, 1e-3}, {5, 1}};
  EXPECT_NEAR(Bias("kerple:heads=2,kernel=power", power, {-3, 1})(0, 0), -9, 1e-14);
  EXPECT_NEAR(Bias("kerple:heads=2,kernel=power", power, {-3, 1})(1, 0), -0.03, 1e-16);

  Array<double, 2> d_bias({2, 2});
  d_bias.values() = {1, 1, 1, 1};
  Lists gradients = {{0, 0}, {0, 0}};
  MakeScheme("kerple:heads=2")->BackDistanceBias(log, {-2, 2}, d_bias, gradients);
  EXPECT_EQ(gradients[0][0], 0);
  EXPECT_EQ(gradients[1][1], 0);
  EXPECT_NEAR(gradients[1][0], -0.01 * (2 / 2.0 + 1 / 1.5), 1e-16);
  EXPECT_NEAR(gradients[0][1], -std::log(1.02) - std::log(1.01), 1e-16);
  gradients = {{0, 0}, {0, 0}};
  MakeScheme("kerple:heads=2,kernel=power")->BackDistanceBias(power, {-2, 2}, d_bias, gradients);
  EXPECT_NEAR(gradients[0][0], -4 - 1, 1e-14);
  EXPECT_EQ(gradients[0][1], 0);
  EXPECT_EQ(gradients[1][0], 0);
  EXPECT_NEAR(gradients[1][1], -0.01 * 2 * std::log(2.0), 1e-16);
}

TEST(KerpleTest, TheKeyAtTheQueryHasFiniteGradients) {
  Array<double, 2> d_bias({1, 1});
  d_bias(0, 0) = 1;
  Lists gradients = {{0}, {0}};
  MakeScheme("kerple:heads=1,kernel=power")
      ->BackDistanceBias({Lists{{1}, {0.5}}}, {0, 1}, d_bias, gradients);
  EXPECT_EQ(gradients, (Lists{{0}, {0}}));
}

TEST(KerpleTest, NumbersStartUniformWithinTheirBounds) {
  const struct {
    const char* spec;
    double most[2];
  } kernels[] = {{"kerple:heads=4096", {2, 1}}, {"kerple:heads=4096,kernel=power", {1, 2}}};
  for (const auto& kernel : kernels) {
    Random random(3);
    const Lists initial = MakeScheme(kernel.spec)->InitialWeights(random);
    for (std::size_t w = 0; w < 2; ++w) {
      double sum = 0, least = 9, most = 0;
      for (double value : initial[w]) {
        sum += value;
        least = std::min(least, value);
        most = std::max(most, value);
      }
      EXPECT_EQ(least, 0.01);
      EXPECT_LT(most, kernel.most[w]);
      EXPECT_GT(most, 0.99 * kernel.most[w]);
      EXPECT_NEAR(sum / 4096, kernel.most[w] / 2, 0.02 * kernel.most[w]);
    }
  }
}

}  // namespace
}  // namespace sextant
