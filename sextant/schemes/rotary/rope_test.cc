// RoPE's tables: frequencies, the linear rule, and the error against a longer format to 2^20.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

struct Table {
  Array<double, 2> cos, sin;
};

Table Fill(const std::string& spec, const Positions& positions, Side side = Side::kQuery) {
  const SchemePtr scheme = MakeScheme(spec);
  const Shape<2> shape{positions.count(), scheme->rotary_shape().rotated_dims / 2};
  Table table{Array<double, 2>(shape), Array<double, 2>(shape)};
  scheme->FillRotary({}, positions, side, table.cos, table.sin);
  return table;
}

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
