// ALiBi: the slopes of the paper's released code for every head count to 128, and the bias.
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

std::vector<double> Slopes(int heads) {
  const Array<double, 2> bias = Bias("alibi:heads=" + std::to_string(heads), {-1, 1});
  std::vector<double> slopes;
  for (double value : bias.values()) slopes.push_back(-value);
  return slopes;
}

// get_slopes of the released code, by its own recursion.
std::vector<double> Released(int heads) {
  const double log = std::log2(double(heads));
  if (log == std::floor(log)) {
    const double start = std::pow(2, -std::pow(2, -(log - 3)));
    std::vector<double> slopes;
    for (int i = 0; i < heads; ++i) slopes.push_back(start * std::pow(start, i));
    return slopes;
  }
  const int closest = 1 << int(std::floor(log));
  std::vector<double> slopes = Released(closest);
  const std::vector<double> twice = Released(2 * closest);
  for (int i = 0; int(slopes.size()) < heads; i += 2) slopes.push_back(twice[std::size_t(i)]);
  return slopes;
}

TEST(AlibiTest, SlopesOfThePapersCodeForEveryHeadCount) {
  for (int heads = 1; heads <= 128; ++heads) {
    const std::vector<double> got = Slopes(heads), expected = Released(heads);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t h = 0; h < got.size(); ++h) {
      EXPECT_NEAR(got[h], expected[h], 1e-13 * expected[h]) << heads << " heads, head " << h;
    }
  }
}

TEST(AlibiTest, GoldenSlopes) {
  const std::vector<double> eight = {.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625};
  EXPECT_EQ(Slopes(8), eight);
  const std::vector<double> six = {.25, .0625, .015625, .00390625, .5, .125};
  EXPECT_EQ(Slopes(6), six);
  std::vector<double> twelve = eight;
  for (double slope : {.707107, .353553, .176777, .088388}) twelve.push_back(slope);
  const std::vector<double> got = Slopes(12);
  for (std::size_t h = 0; h < 12; ++h) EXPECT_NEAR(got[h], twelve[h], h < 8 ? 0 : 5e-7) << h;
}

TEST(AlibiTest, TheBiasIsMinusSlopeTimesDistanceOnBothSides) {
  const Array<double, 2> bias = Bias("alibi:heads=2", {-1000, 2001});
  for (Index n = 0; n < 2001; ++n) {
    const double distance = std::abs(double(n) - 1000);
    EXPECT_EQ(bias(0, n), -0.0625 * distance);
    EXPECT_EQ(bias(1, n), -0.00390625 * distance);
  }
}

// Cached decoding, case P39: one query with ten keys; head 0 of 8 steps by one half.
TEST(AlibiTest, ADecodeRowRisesTowardsTheQuery) {
  const Array<double, 2> bias = Bias("alibi:heads=8", {-9, 10});
  for (Index j = 0; j < 10; ++j) EXPECT_EQ(bias(0, j) - bias(0, 0), 0.5 * double(j));
}

TEST(AlibiTest, MaxBiasScalesTheExponent) {
  const Array<double, 2> bias = Bias("alibi:heads=4,max_bias=16", {-1, 1});
  for (Index h = 0; h < 4; ++h) EXPECT_EQ(bias(h, 0), -std::exp2(-4.0 * double(h + 1)));
}

}  // namespace
}  // namespace sextant
