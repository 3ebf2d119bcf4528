// Ranges, places and ticks of axes.
#include "sextant/plot/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Labels(Scale scale, Range range, int wanted = 5) {
  std::string labels;
  for (const Tick& tick : Ticks(scale, range, wanted)) labels += tick.label + " ";
  return labels;
}

TEST(Ticks, LinearAreRound) {
  EXPECT_EQ(Labels(Scale::kLinear, {0, 10}), "0 2 4 6 8 10 ");
  EXPECT_EQ(Labels(Scale::kLinear, {-0.3, 0.31}), "-0.3 -0.2 -0.1 0 0.1 0.2 0.3 ");
  EXPECT_EQ(Labels(Scale::kLinear, {2.11, 2.42}), "2.15 2.20 2.25 2.30 2.35 2.40 ");
}

TEST(Ticks, LinearLabelsStayShort) {
  EXPECT_EQ(Labels(Scale::kLinear, {0, 100000}), "0 20k 40k 60k 80k 100k ");
  EXPECT_EQ(Labels(Scale::kLinear, {0, 2e6}), "0 0.5M 1.0M 1.5M 2.0M ");
  EXPECT_EQ(Labels(Scale::kLinear, {0, 4e-6}), "0 1e-06 2e-06 3e-06 4e-06 ");
}

TEST(Ticks, LogArePowersOfTheBase) {
  EXPECT_EQ(Labels(Scale::kLog2, {64, 2048}, 6), "64 128 256 512 1024 2048 ");
  EXPECT_EQ(Labels(Scale::kLog2, {1, 1 << 20}), "1 32 1024 32768 2²⁰ ");
  EXPECT_EQ(Labels(Scale::kLog10, {1e-5, 1e5}, 6), "10⁻⁵ 0.001 0.1 10 1000 10⁵ ");
}

TEST(Ticks, ShortLogRangesGetNumbersBetweenThePowers) {
  EXPECT_EQ(Labels(Scale::kLog10, {1, 60}), "1 2 5 10 20 50 ");
  EXPECT_EQ(Labels(Scale::kLog10, {2.2, 3.1}), "2.2 2.4 2.6 2.8 3.0 ");
}

TEST(Ticks, StayInRangeForManyRanges) {
  for (double low : {-1e6, -1., -1e-7, 0., 1e-9, 0.3, 17., 12345.}) {
    for (double length : {1e-6, 0.07, 1., 3., 99., 1e5}) {
      for (Scale scale : {Scale::kLinear, Scale::kLog2, Scale::kLog10}) {
        if (scale != Scale::kLinear && low <= 0) continue;
        const Range range{low, low + length};
        const std::vector<Tick> ticks = Ticks(scale, range, 5);
        EXPECT_GE(ticks.size(), 2u) << low << " " << length;
        EXPECT_LE(ticks.size(), 14u) << low << " " << length;
        for (const Tick& tick : ticks) {
          EXPECT_TRUE(AxisMap(scale, range, 0, 1).InRange(tick.value)) << tick.value;
        }
      }
    }
  }
}

TEST(ShownRange, CoversTheValuesThatHaveAPlace) {
  const std::vector<double> values = {kNan, 3, -1, INFINITY, 7};
  const Range linear = ShownRange({}, values, 0, "test");
  EXPECT_EQ(linear.low, -1);
  EXPECT_EQ(linear.high, 7);
  const Range log = ShownRange({.scale = Scale::kLog2}, values, 0, "test");
  EXPECT_DOUBLE_EQ(log.low, 3);
  EXPECT_DOUBLE_EQ(log.high, 7);
}

TEST(ShownRange, IsNeverEmpty) {
  for (Scale scale : {Scale::kLinear, Scale::kLog2, Scale::kLog10}) {
    for (const std::vector<double>& values :
         std::vector<std::vector<double>>{{}, {kNan}, {0, 0}, {5}, {1e100}, {1e-100}}) {
      const Range range = ShownRange({.scale = scale}, values, 0.05, "test");
      EXPECT_LT(range.low, range.high);
      EXPECT_TRUE(std::isfinite(AxisMap(scale, range, 0, 1)(range.low)));
    }
  }
  EXPECT_GT(ShownRange({.from = 9}, std::vector<double>{1, 2}, 0, "test").high, 9);
}

TEST(ShownRange, RefusesEndsWithoutAPlace) {
  EXPECT_THROW(ShownRange({.from = 2, .to = 2}, {}, 0, "test"), Error);
  EXPECT_THROW(ShownRange({.from = kNan}, {}, 0, "test"), Error);
  EXPECT_THROW(ShownRange({.scale = Scale::kLog10, .from = 0}, {}, 0, "test"), Error);
}

TEST(AxisMap, PlacesValues) {
  const AxisMap map(Scale::kLog2, {64, 1024}, 100, 0);
  EXPECT_DOUBLE_EQ(map(64), 100);
  EXPECT_DOUBLE_EQ(map(256), 50);
  EXPECT_DOUBLE_EQ(map(1024), 0);
  EXPECT_FALSE(map.InRange(32));
  EXPECT_FALSE(map.InRange(-1));
  EXPECT_TRUE(map.InRange(1024));
  EXPECT_TRUE(std::isfinite(map(1e99)));
}

TEST(FittingTicks, DropsLabelsThatTouch) {
  const Range octaves{128, 16384};
  EXPECT_EQ(FittingTicks(AxisMap(Scale::kLog2, octaves, 0, 400), 9, 15).size(), 8u);
  EXPECT_EQ(FittingTicks(AxisMap(Scale::kLog2, octaves, 0, 220), 9, 15).size(), 4u);
  EXPECT_LE(FittingTicks(AxisMap(Scale::kLog2, octaves, 0, 20), 9, 15).size(), 1u);
}

TEST(NumberText, IsShort) {
  EXPECT_EQ(NumberText(3.14159), "3.142");
  EXPECT_EQ(NumberText(12), "12");
  EXPECT_EQ(NumberText(65536), "65536");
  EXPECT_EQ(NumberText(65536.75), "65537");
  EXPECT_EQ(NumberText(-0.0), "0");
  EXPECT_EQ(NumberText(1.5e-7), "1.5e-07");
  EXPECT_EQ(NumberText(-0.25), "-0.25");
  EXPECT_EQ(NumberText(1.5e12), "1.5e+12");
}

}  // namespace
}  // namespace sextant::plot
