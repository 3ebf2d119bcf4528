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

std::vector<double> SlopesOf(const std::string& spec) {
  const Array<double, 2> bias = Bias(spec, {-1, 1});
  std::vector<double> slopes;
  for (double value : bias.values()) slopes.push_back(-value);
  return slopes;
}
std::vector<double> Slopes(int heads) { return SlopesOf("alibi:heads=" + std::to_string(heads)); }

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

// The two readings of the paper: its text, and all released code. Of attention-gym's and MLX's list
// for 12 heads only every third slope is one of the other.
TEST(AlibiTest, GeometricSlopesOfTwelveHeadsAreAnotherFamilyThanTheReference) {
  const std::vector<double> geometric = SlopesOf("alibi:heads=12,family=geometric");
  const double golden[] = {.629961, .396850, .25, .157490, .099213, .0625};
  for (std::size_t h = 0; h < 6; ++h) EXPECT_NEAR(geometric[h], golden[h], 5e-7) << h;
  EXPECT_EQ(geometric[11], 0.00390625);
  for (std::size_t h = 1; h < 12; ++h) EXPECT_LT(geometric[h], geometric[h - 1]);
  const std::vector<double> reference = Slopes(12);
  EXPECT_EQ(reference[0], 0.5);
  EXPECT_GT(reference[8], reference[7]);
  for (int heads : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const std::vector<double> text =
        SlopesOf("alibi:family=geometric,heads=" + std::to_string(heads));
    const std::vector<double> code = Slopes(heads);
    for (std::size_t h = 0; h < code.size(); ++h) EXPECT_NEAR(text[h], code[h], 1e-15) << heads;
  }
}

// MPT's own construction: the geometric series of the next power of two, odd places first.
TEST(AlibiTest, MptsStridedListIsTheSameForEveryHeadCount) {
  for (int heads = 1; heads <= 128; ++heads) {
    int power = 1;
    while (power < heads) power *= 2;
    std::vector<double> series, strided;
    for (int m = 1; m <= power; ++m) series.push_back(1 / std::pow(2, m * 8.0 / power));
    if (power == heads) {
      strided = series;
    } else {
      for (std::size_t i = 1; i < series.size(); i += 2) strided.push_back(series[i]);
      for (std::size_t i = 0; i < series.size(); i += 2) strided.push_back(series[i]);
    }
    const std::vector<double> got = Slopes(heads);
    for (std::size_t h = 0; h < got.size(); ++h) {
      EXPECT_NEAR(got[h], strided[h], 1e-13 * strided[h]) << heads << " heads, head " << h;
    }
  }
}

TEST(AlibiTest, AShardHasItsPartOfTheWholeModelsSlopesNotThoseOfASmallerModel) {
  const std::vector<double> shard = SlopesOf("alibi:heads=8,heads_before=8");
  const double golden[] = {.044194, .03125, .022097, .015625, .011049, .007813, .005524, .003906};
  for (std::size_t h = 0; h < 8; ++h) EXPECT_NEAR(shard[h], golden[h], 6e-7) << h;
  EXPECT_EQ(SlopesOf("alibi:heads=8,heads_after=8")[1], 0.5);
  EXPECT_EQ(Slopes(8)[0], 0.5);
  // Twelve heads on three ranks of four: together the whole list.
  std::vector<double> together;
  for (int before : {0, 4, 8}) {
    const std::string shard_of_four = "alibi:heads=4,heads_before=" + std::to_string(before) +
                                      ",heads_after=" + std::to_string(8 - before);
    for (double slope : SlopesOf(shard_of_four)) together.push_back(slope);
  }
  EXPECT_EQ(together, Slopes(12));
}

// To 8 bits of fraction, ties to even.
double ToBfloat16(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

TEST(AlibiTest, SlopeTimesKeyIndexInBfloat16IsOffByNineWhereQueryRelativeLosesNothingNearby) {
  // Falcon's form: bfloat16 slopes times bfloat16 key indices, rounded. 32 heads, head 0.
  const double slope = Slopes(32)[0];
  double worst = 0;
  int worst_at = 0, equal_neighbours = 0;
  double last = -1;
  for (int key = 0; key <= 2047; ++key) {
    const double bias = ToBfloat16(ToBfloat16(slope) * ToBfloat16(key));
    if (std::abs(bias - slope * key) > worst) {
      worst = std::abs(bias - slope * key);
      worst_at = key;
    }
    equal_neighbours += bias == last;
    last = bias;
  }
  EXPECT_EQ(worst_at, 1828);
  EXPECT_NEAR(slope * worst_at, 1537.16, 0.005);
  EXPECT_NEAR(worst, 9.16, 0.005);
  EXPECT_NEAR(equal_neighbours, 1470, 10);
  // The library's form rounded to bfloat16: exact below distance 256 for slopes of powers of two.
  const Array<double, 2> bias = Bias("alibi:heads=8", {-256, 257});
  for (Index h = 0; h < 8; ++h) {
    for (Index n = 0; n < 257; ++n) EXPECT_EQ(ToBfloat16(bias(h, n)), bias(h, n)) << h << " " << n;
  }
  EXPECT_NE(ToBfloat16(Bias("alibi:heads=8", {-257, 1})(0, 0)), -0.5 * 257);
}

TEST(AlibiTest, FalconsSlopesAreRoundedToBfloat16) {
  const std::vector<double> rounded = SlopesOf("alibi:heads=71,rounding=bf16"), exact = Slopes(71);
  for (std::size_t h = 0; h < 71; ++h) EXPECT_EQ(rounded[h], ToBfloat16(exact[h])) << h;
  EXPECT_EQ(SlopesOf("alibi:heads=32,rounding=bf16")[0], 0.83984375);
  EXPECT_EQ(SlopesOf("alibi:rounding=bf16"), Slopes(8));
}

TEST(AlibiTest, WithScoresTheBiasIsDividedByTheRootOfHeadDimToo) {
  const Array<double, 2> bias = Bias("alibi:heads=2,applied=with_scores,head_dim=64", {-3, 4});
  EXPECT_EQ(bias(0, 0), -0.0625 * 3 / 8);
  EXPECT_EQ(bias(1, 2), -0.00390625 / 8);
  const SchemePtr follows =
      MakeScheme("alibi:applied=with_scores", {{"heads", 8}, {"head_dim", 4}});
  Array<double, 2> narrow({8, 1});
  follows->FillDistanceBias({}, {-2, 1}, narrow);
  EXPECT_EQ(narrow(0, 0), -0.5 * 2 / 2);
}

TEST(AlibiTest, SignedDistancesRewardKeysAfterTheQueryWhereMirroredOnesDoNot) {
  const Distances around{-2, 5};
  for (const double factor : {1.0, 0.0, -1.0, 0.5}) {
    const Array<double, 2> bias = Bias("alibi:future_factor=" + std::to_string(factor), around);
    EXPECT_EQ(bias(0, 0), -1);
    EXPECT_EQ(bias(0, 1), -0.5);
    EXPECT_EQ(bias(0, 2), 0);
    EXPECT_EQ(bias(0, 3), -0.5 * factor);
    EXPECT_EQ(bias(0, 4), -factor);
  }
}

TEST(AlibiTest, TrainedSlopesStartAsTheFamilyAndGatherTheirDistances) {
  const SchemePtr scheme = MakeScheme("alibi:heads=2,slopes=trained,future_factor=2");
  ASSERT_EQ(scheme->weights().size(), 1u);
  EXPECT_EQ(scheme->weights()[0].shape, (std::vector<Index>{2}));
  Random random(1);
  EXPECT_EQ(scheme->InitialWeights(random),
            (std::vector<std::vector<double>>{{0.0625, 0.00390625}}));
  const std::vector<std::vector<double>> weights = {{3, -1}};
  Array<double, 2> bias({2, 3});
  scheme->FillDistanceBias(weights, {-1, 3}, bias);
  EXPECT_EQ(bias.values(), (std::vector<double>{-3, 0, -6, 1, 0, 2}));
  std::vector<std::vector<double>> gradients = {{100, 100}};
  Array<double, 2> d_bias({2, 3});
  d_bias.values() = {1, 10, 5, 0, 0, 1};
  scheme->BackDistanceBias(weights, {-1, 3}, d_bias, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{100 - 1 - 10, 100 - 2}));
  EXPECT_TRUE(MakeScheme("alibi")->weights().empty());
}

TEST(AlibiTest, FiguresListTheSlopes) {
  const std::vector<Figure> figures = MakeScheme("alibi:heads=6")->Figures(10);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "slopes");
  EXPECT_EQ(figures[0].values, (std::vector<double>{.25, .0625, .015625, .00390625, .5, .125}));
}

TEST(AlibiTest, MaxBiasScalesTheExponent) {
  const Array<double, 2> bias = Bias("alibi:heads=4,max_bias=16", {-1, 1});
  for (Index h = 0; h < 4; ++h) EXPECT_EQ(bias(h, 0), -std::exp2(-4.0 * double(h + 1)));
}

}  // namespace
}  // namespace sextant
