// Sandwich: the two sums in use, the factor of each head, and angles far out.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

Array<double, 2> Bias(const std::string& spec, Distances distances) {
  const SchemePtr scheme = MakeScheme(spec);
  Array<double, 2> bias({scheme->bias_heads(), distances.count});
  scheme->FillDistanceBias({}, distances, bias);
  return bias;
}

TEST(SandwichTest, AttentionGymsSumFromZero) {
  // dims 4, base 10000: cos(d) + cos(d / 100); 2 heads: factors 2/8 and 2/16.
  const Array<double, 2> bias = Bias("sandwich:heads=2,dims=4", {-3, 5});
  for (Index n = 0; n < 5; ++n) {
    const double d = double(n) - 3, sum = std::cos(d) + std::cos(d / 100);
    EXPECT_NEAR(bias(0, n), sum / 4, 1e-15);
    EXPECT_NEAR(bias(1, n), sum / 8, 1e-15);
  }
  EXPECT_EQ(Bias("sandwich:heads=1", {0, 1})(0, 0), 64 / 8.0);
}

TEST(SandwichTest, NemosSumFromOneSubtractsHalfTheWidth) {
  // dims 4: cos(d / 100) + cos(d / 10000) - 2.
  const Array<double, 2> bias = Bias("sandwich:heads=2,dims=4,terms=from_one", {-300, 2});
  EXPECT_NEAR(bias(0, 0), (std::cos(3.0) + std::cos(0.03) - 2) / 4, 1e-15);
  EXPECT_NEAR(bias(1, 1), (std::cos(2.99) + std::cos(0.0299) - 2) / 8, 1e-15);
  EXPECT_EQ(Bias("sandwich:terms=from_one", {0, 1})(0, 0), 0);
}

// The inner product of sinusoidal rows it stands for: sin a sin b + cos a cos b.
TEST(SandwichTest, IsTheInnerProductOfSinusoidalRows) {
  const SchemePtr rows = MakeScheme("sinusoidal:model_dim=128");
  Array<double, 2> at({2, 128});
  const std::vector<std::int64_t> positions = {1000, 987};
  rows->FillAdditive({}, PositionList(positions), at);
  double product = 0;
  for (Index c = 0; c < 128; ++c) product += at(0, c) * at(1, c);
  EXPECT_NEAR(Bias("sandwich:heads=8", {-13, 1})(0, 0), product, 1e-11);
}

TEST(SandwichTest, AnglesAMillionPositionsAwayAreKept) {
  for (const long long distance : {131071LL, 999999LL, 1LL << 20}) {
    long double sum = 0;
    for (int n = 0; n < 64; ++n) {
      sum += std::cos(static_cast<long double>(distance) * std::pow(10000.0L, -2.0L * n / 128));
    }
    EXPECT_NEAR(Bias("sandwich:heads=8", {-distance, 1})(0, 0), double(sum), 64e-9) << distance;
  }
}

}  // namespace
}  // namespace sextant
