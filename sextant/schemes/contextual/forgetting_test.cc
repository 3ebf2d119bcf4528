// Forgetting: sums of log gates by hand and as running sums, and what is not counted.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// Keys of one channel holding the numbers given; queries at the positions given.
struct Case {
  Case(const std::vector<double>& numbers, const std::vector<std::int64_t>& at_queries)
      : query({Index(at_queries.size()), 1}),
        key({Index(numbers.size()), 1}),
        scores({query.extent(0), key.extent(0)}),
        visible(scores.shape()),
        queries(at_queries),
        keys(PositionList::Range(0, key.extent(0))) {
    key.values() = numbers;
    visible.values().assign(visible.values().size(), 1);
  }
  void MakeCausal() {
    for (Index i = 0; i < query.extent(0); ++i) {
      for (Index j = 0; j < key.extent(0); ++j) {
        visible(i, j) = j <= queries.positions().values(0, i);
      }
    }
  }
  Array<double, 2> Bias(const Lists& weights, Index head = 0) const {
    Array<double, 2> bias(scores.shape());
    MakeScheme("forgetting:heads=2,head_dim=1")->FillContextual(weights, Input(head), bias);
    return bias;
  }
  ContextualInput Input(Index head = 0) const {
    return {head, query, key, scores, visible, queries, keys};
  }

  Array<double, 2> query, key, scores;
  Array<std::uint8_t, 2> visible;
  PositionList queries, keys;
};

double LogGate(double x) { return std::log(1 / (1 + std::exp(-x))); }

// Head 0: x = 2 k + 1; head 1: x = -k + 5.
const Lists kWeights = {{2, -1}, {1, 5}};

TEST(ForgettingTest, TheBiasIsTheSumOfLogGatesOfLaterKeysUpToTheQuery) {
  Case at({0, 1, -1, 2}, {3});
  at.MakeCausal();
  const Array<double, 2> bias = at.Bias(kWeights), other = at.Bias(kWeights, 1);
  EXPECT_EQ(bias(0, 3), 0);
  EXPECT_NEAR(bias(0, 2), LogGate(5), 1e-15);
  EXPECT_NEAR(bias(0, 1), LogGate(5) + LogGate(-1), 1e-15);
  EXPECT_NEAR(bias(0, 0), LogGate(5) + LogGate(-1) + LogGate(3), 1e-15);
  EXPECT_NEAR(other(0, 1), LogGate(3) + LogGate(6), 1e-15);
}

TEST(ForgettingTest, CausalRowsAreDifferencesOfOneRunningSum) {
  const std::vector<double> numbers = {0.3, -2, 1, 0.1, -0.7, 3};
  Case at(numbers, {0, 1, 2, 3, 4, 5});
  at.MakeCausal();
  std::vector<double> running;
  double sum = 0;
  for (double k : numbers) running.push_back(sum += LogGate(2 * k + 1));
  const Array<double, 2> bias = at.Bias(kWeights);
  for (Index i = 0; i < 6; ++i) {
    for (Index j = 0; j <= i; ++j) {
      EXPECT_NEAR(bias(i, j), running[std::size_t(i)] - running[std::size_t(j)], 1e-14);
    }
  }
}

TEST(ForgettingTest, HiddenKeysDoNotForget) {
  Case at({0, 1, -1, 2}, {3});
  at.visible(0, 2) = 0;
  EXPECT_NEAR(at.Bias(kWeights)(0, 0), LogGate(5) + LogGate(3), 1e-15);
}

TEST(ForgettingTest, KeysAfterTheQueryForgetAwayFromIt) {
  Case at({0, 1, -1, 2}, {1});
  const Array<double, 2> bias = at.Bias(kWeights);
  EXPECT_NEAR(bias(0, 0), LogGate(3), 1e-15);
  EXPECT_EQ(bias(0, 1), 0);
  EXPECT_NEAR(bias(0, 2), LogGate(-1), 1e-15);
  EXPECT_NEAR(bias(0, 3), LogGate(-1) + LogGate(5), 1e-15);
  at.visible(0, 2) = 0;
  EXPECT_NEAR(at.Bias(kWeights)(0, 3), LogGate(5), 1e-15);
}

TEST(ForgettingTest, GatesFarFromZeroKeepTheirLogarithm) {
  const Case at({0, 1000, -1000}, {2});
  const Array<double, 2> bias = at.Bias(kWeights);
  EXPECT_EQ(bias(0, 1), -1999);
  EXPECT_NEAR(bias(0, 0), -1999, 1e-12);
}

TEST(ForgettingTest, StartsAtASlopeOf0067AKey) {
  const SchemePtr scheme = MakeScheme("forgetting:heads=2,head_dim=1,init_std=0");
  Random random(1);
  const Lists initial = scheme->InitialWeights(random);
  EXPECT_EQ(initial, (Lists{{0, 0}, {5, 5}}));
  const Case at({7, -7, 7}, {2});
  EXPECT_NEAR(at.Bias(initial)(0, 0), -2 * 0.0067153485, 1e-10);
}

TEST(ForgettingTest, GradientsByHand) {
  Case at({0, 1, -1}, {2});
  at.MakeCausal();
  Array<double, 2> d_bias({1, 3}), d_query({1, 1}), d_key({3, 1}), d_scores({1, 3});
  d_bias.values() = {2, 3, 100};
  Lists gradients = {{0, 0}, {0, 0}};
  MakeScheme("forgetting:heads=2,head_dim=1")
      ->BackContextual(kWeights, at.Input(), d_bias, {d_query, d_key, d_scores, gradients});
  // Key 1 is counted for key 0, key 2 for keys 0 and 1; d ln sigmoid(x) = sigmoid(-x).
  const double d1 = 2 / (1 + std::exp(3.0)), d2 = 5 / (1 + std::exp(-1.0));
  EXPECT_NEAR(gradients[0][0], d1 * 1 + d2 * -1, 1e-14);
  EXPECT_NEAR(gradients[1][0], d1 + d2, 1e-14);
  EXPECT_EQ(gradients[0][1], 0);
  EXPECT_EQ(d_key(0, 0), 0);
  EXPECT_NEAR(d_key(1, 0), 2 * d1, 1e-14);
  EXPECT_NEAR(d_key(2, 0), 2 * d2, 1e-14);
}

TEST(ForgettingTest, OtherHeadsAreErrors) {
  const Case at({0}, {0});
  try {
    at.Bias(kWeights, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "forgetting: has weights for 2 heads, got head 2; set heads to the "
                 "number of query heads");
  }
  Array<double, 2> bias({1, 1});
  EXPECT_THROW(MakeScheme("forgetting:head_dim=2")->FillContextual(kWeights, at.Input(), bias),
               Error);
}

}  // namespace
}  // namespace sextant
