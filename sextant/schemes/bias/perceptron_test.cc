// The perceptron: layers by hand, names and shapes of its weights, and its gradient.
#include "sextant/schemes/bias/perceptron.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

TEST(PerceptronTest, WeightsAreNamedByLayer) {
  const Perceptron mlp({2, 5, 3}, Perceptron::Activation::kRelu, Perceptron::LastBias::kAbsent);
  const std::vector<WeightInfo> weights = mlp.weights(WeightScope::kLayer);
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].name, "weight0");
  EXPECT_EQ(weights[0].shape, (std::vector<Index>{5, 2}));
  EXPECT_EQ(weights[1].name, "bias0");
  EXPECT_EQ(weights[2].name, "weight1");
  EXPECT_EQ(weights[2].shape, (std::vector<Index>{3, 5}));
  EXPECT_EQ(weights[2].scope, WeightScope::kLayer);
}

TEST(PerceptronTest, ReluLayersByHand) {
  const Perceptron mlp({2, 2, 1}, Perceptron::Activation::kRelu);
  const Lists weights = {{1, 2, -1, 1}, {0.5, 0}, {3, 5}, {-1}};
  const double in[] = {1, -2};  // sums 1 - 4 + 0.5 and -1 - 2: both off
  double out[1];
  mlp.Apply(weights, in, out);
  EXPECT_EQ(out[0], -1);
  const double on[] = {-1, 2};  // sums -1 + 4 + 0.5 and 1 + 2
  mlp.Apply(weights, on, out);
  EXPECT_EQ(out[0], 3 * 3.5 + 5 * 3 - 1);
}

TEST(PerceptronTest, InitialWeightsAreThoseOfALinearLayer) {
  Random random(5);
  const Perceptron mlp({4, 1000, 2}, Perceptron::Activation::kSilu);
  const Lists initial = mlp.InitialWeights(random);
  for (const auto& [weight, bound] :
       {std::pair<std::size_t, double>{0, 0.5}, {1, 0.5}, {2, 1 / std::sqrt(1000.0)}}) {
    double most = 0, sum = 0;
    for (double value : initial[weight]) {
      most = std::max(most, std::abs(value));
      sum += value;
    }
    EXPECT_LE(most, bound);
    EXPECT_GT(most, 0.95 * bound);
    EXPECT_NEAR(sum / double(initial[weight].size()), 0, 0.06 * bound);
  }
}

TEST(PerceptronTest, GradientsAreDifferencesOfTheOutput) {
  const Perceptron mlp({2, 4, 3, 2}, Perceptron::Activation::kSilu);
  Random random(6);
  Lists weights = mlp.InitialWeights(random), d_weights;
  for (const auto& weight : weights) d_weights.emplace_back(weight.size(), 1.0);
  std::vector<double> in = {0.7, -1.2}, d_in = {10, 10};
  const std::vector<double> d_out = {0.3, -2};
  const auto loss = [&] {
    double out[2];
    mlp.Apply(weights, in, out);
    return d_out[0] * out[0] + d_out[1] * out[1];
  };
  mlp.Back(weights, in, d_out, d_weights, d_in);
  const auto check = [&](double& coordinate, double given) {
    const double before = coordinate;
    coordinate = before + 1e-5;
    const double above = loss();
    coordinate = before - 1e-5;
    const double below = loss();
    coordinate = before;
    EXPECT_NEAR((above - below) / 2e-5, given, 1e-9);
  };
  for (std::size_t w = 0; w < weights.size(); ++w) {
    for (std::size_t n = 0; n < weights[w].size(); ++n) check(weights[w][n], d_weights[w][n] - 1);
  }
  for (std::size_t n = 0; n < 2; ++n) check(in[n], d_in[n] - 10);
}

}  // namespace
}  // namespace sextant
