// RoPE's tables: frequencies, the linear rule, and the error against a longer format to 2^20.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sextant/core/error.h"
#include "sextant/core/half.h"
#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

TEST(RopeTest, AnglesArePositionTimesFrequency) {
  const Table table = Fill("rope:rotated_dims=8", PositionList::Range(3, 1));
  const double frequency[] = {1, 0.1, 0.01, 0.001};  // 10000^(-2i/8)
  for (Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(table.cos(0, i), std::cos(3 * frequency[i]), 1e-15);
    EXPECT_NEAR(table.sin(0, i), std::sin(3 * frequency[i]), 1e-15);
  }
}

TEST(RopeTest, TheBaseIsTheRatioOfWavelengths) {
  // base^(-2i/d) for base 5e5 and d = 128 at i = 32 and 63.
  const Table table = Fill("rope:rotated_dims=128,base=500000", PositionList::Range(1, 1));
  EXPECT_NEAR(std::atan2(table.sin(0, 32), table.cos(0, 32)), std::sqrt(1 / 500000.0), 1e-15);
  EXPECT_NEAR(std::atan2(table.sin(0, 63), table.cos(0, 63)),
              std::exp(-std::log(500000.0) * 63 / 64), 1e-15);
}

TEST(RopeTest, TheLinearRuleDividesPositions) {
  const std::vector<std::int64_t> far = {0, 4, 40, 400}, near = {0, 1, 10, 100};
  const Table linear = Fill("rope:rotated_dims=32,rule=linear,factor=4", PositionList(far));
  const Table plain = Fill("rope:rotated_dims=32", PositionList(near));
  for (std::size_t i = 0; i < linear.cos.values().size(); ++i) {
    EXPECT_NEAR(linear.cos.values()[i], plain.cos.values()[i], 1e-13);
    EXPECT_NEAR(linear.sin.values()[i], plain.sin.values()[i], 1e-13);
  }
}

TEST(RopeTest, QueriesAndKeysTurnAlikeAndNegativePositionsTurnBack) {
  const std::vector<std::int64_t> at = {-7, 0, 7};
  const Table query = Fill("rope:rotated_dims=16", PositionList(at), Side::kQuery);
  const Table key = Fill("rope:rotated_dims=16", PositionList(at), Side::kKey);
  EXPECT_EQ(query.cos.values(), key.cos.values());
  EXPECT_EQ(query.sin.values(), key.sin.values());
  for (Index i = 0; i < 8; ++i) {
    EXPECT_EQ(query.cos(0, i), query.cos(2, i));
    EXPECT_EQ(query.sin(0, i), -query.sin(2, i));
    EXPECT_EQ(query.cos(1, i), 1);
    EXPECT_EQ(query.sin(1, i), 0);
  }
}

TEST(RopeTest, ShapeFollowsTheSettings) {
  const RotaryShape shape = MakeScheme("rope:rotated_dims=10,pairing=adjacent")->rotary_shape();
  EXPECT_EQ(shape.rotated_dims, 10);
  EXPECT_EQ(shape.pairing, Pairing::kAdjacent);
  EXPECT_EQ(MakeScheme("rope", {{"head_dim", 40}})->rotary_shape().rotated_dims, 40);
  EXPECT_EQ(MakeScheme("rope")->rotary_shape().pairing, Pairing::kHalves);
}

// Where float32 tables go wrong: position 131071 and a million, for the bases in use.
TEST(RopeTest, ErrorToTwoToTheTwenty) {
  for (const long double base : {1e4L, 5e5L, 1e6L}) {
    double worst[3] = {};
    const std::int64_t at[] = {131071, 999999, 1 << 20};
    for (int n = 0; n < 3; ++n) {
      const Table table =
          Fill("rope:rotated_dims=128,base=" + ToText(double(base)), PositionList::Range(at[n], 1));
      for (int i = 0; i < 64; ++i) {
        const long double angle = static_cast<long double>(at[n]) *
                                  std::pow(base, -2.0L * static_cast<long double>(i) / 128);
        worst[n] = std::max({worst[n], double(std::abs(table.cos(0, i) - std::cos(angle))),
                             double(std::abs(table.sin(0, i) - std::sin(angle)))});
      }
    }
    std::printf("rope, base %.0Lf: largest error %.2e at 131071, %.2e at 999999, %.2e at 2^20\n",
                base, worst[0], worst[1], worst[2]);
    EXPECT_LT(worst[0], 3e-11);
    EXPECT_LT(worst[1], 2.4e-10);
    EXPECT_LT(worst[2], 2.4e-10);
  }
}

// What a table is off by once it is stored as float32, at the far end of every rule's family.
TEST(RopeTest, RoundedToFloat32TheTableIsTheNearestToTwoToTheTwenty) {
  double worst = 0;
  for (const char* rule : {"", ",frequencies=linear,factor=4", ",base=1e6"}) {
    const std::string spec = std::string("rope:rotated_dims=128") + rule;
    const std::vector<double> inv_freq = InvFreq(spec);
    for (std::int64_t position : {1, 8191, 131071, 500000, 999999, 1 << 20}) {
      const Table table = Fill(spec, PositionList::Range(position, 1));
      for (Index i = 0; i < 64; ++i) {
        const long double base = std::string(rule) == ",base=1e6" ? 1e6L : 1e4L;
        const long double divisor = std::string(rule).starts_with(",freq") ? 4 : 1;
        const long double angle = static_cast<long double>(position) *
                                  std::pow(base, -2.0L * static_cast<long double>(i) / 128) /
                                  divisor;
        worst = std::max({worst, double(std::abs(RoundToF32(table.cos(0, i)) - std::cos(angle))),
                          double(std::abs(RoundToF32(table.sin(0, i)) - std::sin(angle)))});
      }
    }
  }
  std::printf("rope: largest error as float32 to 2^20: %.2e\n", worst);
  EXPECT_LE(worst, 3.1e-8);
}

// cos(8191) is -.646390; with 8191 rounded to bfloat16 it would be cos(8192) = .292802.
TEST(RopeTest, NeighbouringPositionsPast256AreApart) {
  const std::vector<std::int64_t> at = {8190, 8191, 8192, 15962};
  const Table table = Fill("rope:rotated_dims=128", PositionList(at));
  EXPECT_NEAR(table.cos(1, 0), -.646390, 5e-7);
  EXPECT_NEAR(table.cos(2, 0), .292802, 5e-7);
  EXPECT_NE(table.cos(0, 0), table.cos(1, 0));
  EXPECT_EQ(RoundToBf16(8191), 8192);  // what the bug did
  EXPECT_EQ(RoundToBf16(15962), 15936);
  EXPECT_NEAR(table.cos(3, 0), -.908016, 5e-7);
}

// A frequency as bfloat16 is off by 5 rad at position 4095; a finished table by 2^-9.
TEST(RopeTest, BFloat16OfTheTableIsHarmlessAndOfTheFrequenciesIsNot) {
  const std::vector<double> inv_freq = InvFreq("rope:rotated_dims=128");
  int far = 0;
  double largest_table = 0;
  const Table table = Fill("rope:rotated_dims=128", PositionList::Range(4095, 1));
  for (std::size_t i = 0; i < 64; ++i) {
    far += std::abs(4095 * (RoundToBf16(inv_freq[i]) - inv_freq[i])) > 0.1;
    const double cos = table.cos(0, Index(i));
    largest_table = std::max(largest_table, std::abs(RoundToBf16(cos) - cos));
  }
  EXPECT_NEAR(RoundToBf16(inv_freq[1]), .867188, 5e-7);
  EXPECT_NEAR(4095 * (RoundToBf16(inv_freq[1]) - inv_freq[1]), 5.01, 5e-3);
  EXPECT_EQ(far, 28);
  EXPECT_LE(largest_table, std::ldexp(1, -9));
}

TEST(RopeTest, SineAndCosineOfLargeAnglesAreRight) {
  const std::vector<std::int64_t> at = {131071, 500000};
  const Table table = Fill("rope:rotated_dims=2", PositionList(at));
  EXPECT_NEAR(table.cos(0, 0), -.817983, 5e-7);
  EXPECT_NEAR(table.sin(0, 0), -.575242, 5e-7);
  EXPECT_NEAR(table.cos(1, 0), -.984061, 5e-7);
  EXPECT_NEAR(table.sin(1, 0), .177831, 5e-7);
}

// Two float32 formulas for one frequency, off by 1.0e-7 and 4.9e-7; in double and rounded once
// there is one answer.
TEST(RopeTest, FrequenciesRoundedOnceAreTheNearestFloat32) {
  const std::vector<double> inv_freq = InvFreq("rope:rotated_dims=128");
  double worst_exponential = 0;
  for (int i = 0; i < 64; ++i) {
    const long double right = std::pow(1e4L, -2.0L * static_cast<long double>(i) / 128);
    EXPECT_EQ(RoundToF32(inv_freq[std::size_t(i)]), double(float(right))) << i;
    const float exponential = std::exp(-std::log(1e4f) * float(2 * i) / 128);
    worst_exponential =
        std::max(worst_exponential, std::abs(double(exponential) / double(right) - 1));
  }
  EXPECT_GT(worst_exponential, 2e-7);
}

// A stored table ends; this one does not: positions at and past any length, and before 0.
TEST(RopeTest, NoPositionIsPastTheEndOfATable) {
  for (const std::int64_t length : {1, 4096, 40960}) {
    const std::vector<std::int64_t> at = {4095, 4096, 4097, -1, -4096};
    const Table table = Fill("rope:rotated_dims=8", PositionList(at, length));
    for (std::size_t n = 0; n < at.size(); ++n) {
      EXPECT_EQ(table.cos(Index(n), 0), std::cos(double(at[n])));
      EXPECT_EQ(table.sin(Index(n), 0), std::sin(double(at[n])));
    }
  }
}

// Seven tokens, then the eighth alone: its row is the eighth row, whatever the cache holds.
TEST(RopeTest, APositionIsWhatIsGivenNotARunningOffset) {
  for (const char* spec : {"rope:rotated_dims=16", "rope:rotated_dims=16,numerics=as_trained",
                           "rope:rotated_dims=16,frequencies=yarn,factor=4,original_length=64"}) {
    const Table whole = Fill(spec, PositionList::Range(0, 8));
    const Table prefill = Fill(spec, PositionList::Range(0, 7));
    const Table step = Fill(spec, PositionList::Range(7, 1));
    for (Index i = 0; i < 8; ++i) {
      for (Index n = 0; n < 7; ++n) EXPECT_EQ(prefill.cos(n, i), whole.cos(n, i));
      EXPECT_EQ(step.cos(0, i), whole.cos(7, i));
      EXPECT_EQ(step.sin(0, i), whole.sin(7, i));
    }
  }
}

TEST(RopeTest, FiguresNameWhatOthersPrint) {
  const std::vector<Figure> plain = MakeScheme("rope:rotated_dims=8")->Figures(10);
  ASSERT_EQ(plain.size(), 4u);
  const char* names[] = {"inv_freq", "attention_factor", "softmax_multiplier", "base"};
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(plain[n].name, names[n]);
  EXPECT_EQ(plain[0].values.size(), 4u);
  EXPECT_EQ(plain[1].values, std::vector<double>{1});
  EXPECT_EQ(MakeScheme("rope:frequencies=yarn,original_length=99")->Figures(10).size(), 7u);
}

TEST(RopeTest, DecaysOnlyWhereItDoes) {
  EXPECT_TRUE(MakeScheme("rope")->claims().decays);
  EXPECT_FALSE(MakeScheme("rope:rotated_dims=2")->claims().decays);  // one pair goes round
  EXPECT_FALSE(MakeScheme("rope:frequencies=proportional,fraction=0.05")->claims().decays);
  EXPECT_FALSE(MakeScheme("rope:rotated_dims=4,frequencies=given,inv_freq=[0,0]")->claims().decays);
}

TEST(RopeTest, OddWidthIsRefusedWithTwoWaysOut) {
  try {
    MakeScheme("rope:rotated_dims=63");
    FAIL() << "an odd width was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "rope: rotated_dims must be even because channels turn in pairs, got 63; use a "
                 "head_dim of 64, or set rotated_dims=62 to leave the last channel still");
  }
}

}  // namespace
}  // namespace sextant
