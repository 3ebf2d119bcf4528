// xPos: factors and angles against powers in long double, scores by distance, the end of its range.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "sextant/core/error.h"
#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

// z_i^(1000 / 512) cos and sin of 1000 w_i, and divided: to 40 digits.
TEST(XPosTest, QueriesGrowByThePowerAndKeysShrinkByIt) {
  const PositionList at = PositionList::Range(1000, 1);
  const Table query = Fill("xpos:rotated_dims=8", at, Side::kQuery);
  const Table key = Fill("xpos:rotated_dims=8", at, Side::kKey);
  const double expected[4][4] = {
      {0.048685121138732649, 0.071582909633591653, 6.4962398788809371, 9.5515784151579438},
      {0.19268946502111336, -0.11314993516454212, 3.8590269448411511, -2.2660743209762549},
      {-0.35401573584835919, -0.22952993542817962, -1.9887280694445411, -1.2894133766961746},
      {0.36794336068701406, 0.57303783216944058, 0.79340086795247848, 1.235648640497094}};
  for (Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(query.cos(0, i), expected[i][0], 1e-13);
    EXPECT_NEAR(query.sin(0, i), expected[i][1], 1e-13);
    EXPECT_NEAR(key.cos(0, i), expected[i][2], 1e-12);
    EXPECT_NEAR(key.sin(0, i), expected[i][3], 1e-12);
  }
}

TEST(XPosTest, DecaysArePublished) {
  const std::vector<double> decay = FigureOf("xpos:rotated_dims=8", "decay");
  ExpectPairs(decay, {0, 1, 2, 3}, {2 / 7.0, 6.5 / 14, 9 / 14.0, 11.5 / 14});
  ExpectPairs(FigureOf("xpos:rotated_dims=4,gamma=1", "decay"), {0, 1}, {0.5, 0.75});
}

TEST(XPosTest, AtTheCentreItIsRope) {
  const PositionList at = PositionList::Range(70, 1);
  const Table rope = Fill("rope:rotated_dims=16", at);
  for (Side side : {Side::kQuery, Side::kKey}) {
    const Table table = Fill("xpos:rotated_dims=16,centre=70", at, side);
    EXPECT_EQ(table.cos.values(), rope.cos.values());
    EXPECT_EQ(table.sin.values(), rope.sin.values());
  }
}

double Score(const SchemePtr& scheme, std::int64_t query_at, std::int64_t key_at) {
  const Table q = Fill(*scheme, PositionList::Range(query_at, 1), Side::kQuery);
  const Table k = Fill(*scheme, PositionList::Range(key_at, 1), Side::kKey);
  double score = 0;
  for (int i = 0; i < 8; ++i) {
    const double x0 = 1 + 0.1 * i, x1 = 1 + 0.1 * (i + 8);
    const auto turned = [&](const Table& table) {
      const double cos = table.cos(0, i), sin = table.sin(0, i);
      return std::pair(x0 * cos - x1 * sin, x0 * sin + x1 * cos);
    };
    const auto [q0, q1] = turned(q);
    const auto [k0, k1] = turned(k);
    score += q0 * k0 + q1 * k1;
  }
  return score;
}

TEST(XPosTest, ScoresAreOfTheDistanceAloneFarFromTheCentreToo) {
  const SchemePtr scheme = MakeScheme("xpos:rotated_dims=16");
  const double near = Score(scheme, 300, 100);
  for (const std::int64_t shift : {-240000, -1, 1, 5000, 131071, 240000}) {
    EXPECT_NEAR(Score(scheme, 300 + shift, 100 + shift), near, 1e-8 * std::abs(near)) << shift;
  }
  const SchemePtr moved = MakeScheme("xpos:rotated_dims=16,centre=1048576");
  EXPECT_NEAR(Score(moved, 1048576, 1048376), near, 1e-8 * std::abs(near));
}

// A centre of half the length makes keys of a shorter cache wrong; a fixed one keeps them.
TEST(XPosTest, TheLengthChangesNothing) {
  const std::vector<std::int64_t> at = {3, 900};
  for (Side side : {Side::kQuery, Side::kKey}) {
    const Table before = Fill("xpos:rotated_dims=8", PositionList(at, 901), side);
    const Table after = Fill("xpos:rotated_dims=8", PositionList(at, 5000), side);
    EXPECT_EQ(before.cos.values(), after.cos.values());
    EXPECT_EQ(before.sin.values(), after.sin.values());
  }
}

// 600 * 512 / ln(7 / 2) = 245 217.98
TEST(XPosTest, ItEndsWhereFactorsLeaveTheRangeOfNumbers) {
  const SchemePtr scheme = MakeScheme("xpos:rotated_dims=16");
  for (const std::int64_t last : {245217, -245217}) {
    for (Side side : {Side::kQuery, Side::kKey}) {
      const Table table = Fill(*scheme, PositionList::Range(last, 1), side);
      for (double value : table.cos.values()) {
        EXPECT_TRUE(std::isnormal(value)) << value;
      }
    }
  }
  for (const std::int64_t past : {245218, -245218, 1 << 20}) {
    try {
      Fill(*scheme, PositionList::Range(past, 1));
      FAIL() << past << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(
          std::string(error.what()),
          "xpos: position " + std::to_string(past) +
              " is farther than 245217 from the centre 0, where the factors of queries and "
              "keys leave the range of numbers; move the centre near the positions in use, or "
              "take a larger scale_base");
    }
  }
  EXPECT_NO_THROW(Fill("xpos:rotated_dims=16,scale_base=2200", PositionList::Range(1 << 20, 1)));
}

TEST(XPosTest, FactorsToTheEndAreRightToRounding) {
  for (const std::int64_t position : {1, 4096, 131071, 245000}) {
    const Table query = Fill("xpos:rotated_dims=64", PositionList::Range(position, 1));
    for (Index i = 0; i < 32; ++i) {
      const long double z = (2.0L * static_cast<long double>(i) + 0.4L * 64) / (1.4L * 64);
      const long double factor = std::pow(z, static_cast<long double>(position) / 512);
      EXPECT_NEAR(std::hypot(query.cos(0, i), query.sin(0, i)) / double(factor), 1, 1e-12);
    }
  }
}

TEST(XPosTest, SettingsThatCannotBeAreRefused) {
  EXPECT_EQ(Refusal("xpos:rotated_dims=7"),
            "xpos: rotated_dims must be even because channels turn in pairs, got 7; set "
            "rotated_dims=6 to leave the last channel still");
  const std::pair<const char*, const char*> bad[] = {
      {"scale_base=0", "scale_base must be a number from 1 to"},
      {"gamma=0", "gamma must be a number from 0.01 to 100"},
      {"base=1", "base must be a number from 1.001"},
      {"centre=0.5", "centre must be a whole number from"},
      {"pairing=both", "pairing must be one of halves"}};
  for (const auto& [setting, message] : bad) {
    EXPECT_EQ(Refusal(std::string("xpos:") + setting).find(std::string("xpos: ") + message), 0u)
        << Refusal(std::string("xpos:") + setting);
  }
}

}  // namespace
}  // namespace sextant
