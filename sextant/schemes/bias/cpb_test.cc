// Continuous position bias: the perceptron of both distances by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

double Silu(double x) { return x / (1 + std::exp(-x)); }

// One hidden layer of two units, two heads; weights chosen by hand.
const Lists kWeights = {{0.5, -1}, {0.25, 1}, {1, 2, -3, 4}, {0.125, -0.5}};

std::vector<double> ByHand(double x) {
  const double a = Silu(0.5 * x + 0.25), b = Silu(-x + 1);
  return {a + 2 * b + 0.125, -3 * a + 4 * b - 0.5};
}

Array<double, 2> Bias(const std::string& spec, Distances distances) {
  Array<double, 2> bias({2, distances.count});
  MakeScheme(spec)->FillDistanceBias(kWeights, distances, bias);
  return bias;
}

TEST(CpbTest, LinearDistanceIsQueryMinusKey) {
  const Array<double, 2> bias = Bias("cpb:heads=2,hidden_dim=2,depth=1,distance=linear", {-3, 5});
  for (Index n = 0; n < 5; ++n) {
    const std::vector<double> expected = ByHand(3 - double(n));
    for (Index h = 0; h < 2; ++h) EXPECT_NEAR(bias(h, n), expected[std::size_t(h)], 1e-14);
  }
}

TEST(CpbTest, LogDistanceKeepsItsSign) {
  const Array<double, 2> bias = Bias("cpb:heads=2,hidden_dim=2,depth=1", {-7, 15});
  for (const auto& [n, x] : {std::pair<Index, double>{0, std::log(8.0)},
                             {7, 0},
                             {10, -std::log(4.0)},
                             {14, -std::log(8.0)}}) {
    const std::vector<double> expected = ByHand(x);
    for (Index h = 0; h < 2; ++h) EXPECT_NEAR(bias(h, n), expected[std::size_t(h)], 1e-14) << n;
  }
}

TEST(CpbTest, DepthCountsHiddenLayers) {
  for (int depth = 1; depth <= 3; ++depth) {
    const SchemePtr scheme = MakeScheme("cpb:heads=3,hidden_dim=7,depth=" + std::to_string(depth));
    const std::vector<WeightInfo> weights = scheme->weights();
    ASSERT_EQ(Index(weights.size()), 2 * (depth + 1));
    EXPECT_EQ(weights.front().shape, (std::vector<Index>{7, 1}));
    EXPECT_EQ(weights[weights.size() - 2].shape, (std::vector<Index>{3, 7}));
  }
}

}  // namespace
}  // namespace sextant
