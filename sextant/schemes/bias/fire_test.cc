// FIRE: the formula by hand before and past its threshold, and what it is not.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// c, multiplier, then one hidden unit: relu(2 x + 0.5) to two heads.
Lists WeightsOf(double c, double multiplier) {
  return {{c}, {multiplier}, {2}, {0.5}, {1, -3}, {0.25, 1}};
}

Array<double, 3> Tile(const Lists& weights, std::vector<std::int64_t> queries,
                      std::vector<std::int64_t> keys) {
  const SchemePtr scheme = MakeScheme("fire:heads=2,hidden_dim=1");
  Array<double, 3> bias({2, Index(queries.size()), Index(keys.size())});
  scheme->FillTileBias(weights, PositionList(queries), PositionList(keys), bias);
  return bias;
}

void Expect(const Array<double, 3>& bias, Index i, Index j, double ratio) {
  const double unit = 2 * ratio + 0.5;
  EXPECT_NEAR(bias(0, i, j), unit + 0.25, 1e-13) << i << " " << j;
  EXPECT_NEAR(bias(1, i, j), -3 * unit + 1, 1e-13) << i << " " << j;
}

TEST(FireTest, QueriesBeforeTheThresholdAreMeasuredAgainstIt) {
  const Array<double, 3> bias = Tile(WeightsOf(0.1, 0.5), {0, 10, 255}, {0, 4, 10});
  const double divisor = std::log(1 + 0.1 * 256) + 1e-6;
  Expect(bias, 0, 0, 0);
  Expect(bias, 1, 1, std::log(1 + 0.6) / divisor);
  Expect(bias, 1, 2, 0);
  Expect(bias, 2, 0, std::log(1 + 25.5) / divisor);
  Expect(bias, 0, 2, std::log(2.0) / divisor);  // a key after the query
}

TEST(FireTest, PastTheThresholdTheQuerysOwnPositionDividesSoTheBiasIsNoFunctionOfDistance) {
  const Array<double, 3> bias = Tile(WeightsOf(0.1, 1), {512, 1000, 2000}, {0, 512, 1000, 1512});
  Expect(bias, 1, 1, std::log(1 + 48.8) / (std::log(1 + 100.0) + 1e-6));
  Expect(bias, 2, 3, std::log(1 + 48.8) / (std::log(1 + 200.0) + 1e-6));
  Expect(bias, 1, 0, std::log(101.0) / (std::log(101.0) + 1e-6));
  EXPECT_GT(std::abs(bias(0, 1, 1) - bias(0, 2, 3)), 0.05);
}

TEST(FireTest, SignsOfItsTrainedNumbersDoNotMatter) {
  const Array<double, 3> plus = Tile(WeightsOf(0.1, 1), {10, 600}, {0, 9});
  const Array<double, 3> minus = Tile(WeightsOf(-0.1, -1), {10, 600}, {0, 9});
  EXPECT_EQ(plus.values(), minus.values());
}

TEST(FireTest, StartsAsTheReleasedCode) {
  const SchemePtr scheme = MakeScheme("fire:heads=12");
  Random random(1);
  const Lists initial = scheme->InitialWeights(random);
  EXPECT_EQ(initial[0], (std::vector<double>{0.1}));
  EXPECT_EQ(initial[1], (std::vector<double>{1}));
  EXPECT_EQ(scheme->weights()[2].shape, (std::vector<Index>{32, 1}));
  EXPECT_EQ(scheme->weights()[4].shape, (std::vector<Index>{12, 32}));
}

}  // namespace
}  // namespace sextant
