// Attention temperature: both forms at the edges of their steps.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

double Scale(const std::string& spec, std::int64_t position) {
  Array<double, 1> scale({1});
  MakeScheme(spec)->FillQueryScale({}, PositionList::Range(position, 1), scale);
  return scale(0);
}

TEST(TemperatureTest, Llama4CountsPositionsFromOne) {
  EXPECT_EQ(Scale("temperature", 0), 1);
  EXPECT_EQ(Scale("temperature", 8190), 1);
  EXPECT_NEAR(Scale("temperature", 8191), 1 + 0.1 * std::log(2.0), 1e-15);
  EXPECT_NEAR(Scale("temperature", 8191), 1.0693147, 5e-8);
  EXPECT_NEAR(Scale("temperature", 16382), 1 + 0.1 * std::log(2.0), 1e-15);
  EXPECT_NEAR(Scale("temperature", 16383), 1 + 0.1 * std::log(3.0), 1e-15);
  // floor((2^20 + 1) / 8192) = 128
  EXPECT_NEAR(Scale("temperature", 1 << 20), 1 + 0.1 * std::log(129.0), 1e-15);
}

TEST(TemperatureTest, MinistralCountsThemFromZero) {
  const std::string spec = "temperature:form=ministral,floor_scale=16384,beta=0.5";
  EXPECT_EQ(Scale(spec, 16383), 1);
  EXPECT_NEAR(Scale(spec, 16384), 1 + 0.5 * std::log(2.0), 1e-15);
  EXPECT_NEAR(Scale(spec, 5 * 16384 - 1), 1 + 0.5 * std::log(5.0), 1e-15);
}

TEST(TemperatureTest, TheFormsDifferAtTheLastPositionOfAStepAlone) {
  for (std::int64_t p = 0; p < 50; ++p) {
    const bool same = Scale("temperature:floor_scale=10", p) ==
                      Scale("temperature:floor_scale=10,form=ministral", p);
    EXPECT_EQ(same, p % 10 != 9) << p;
  }
}

TEST(TemperatureTest, PositionsBeforeTheFirstCountAsIt) {
  EXPECT_EQ(Scale("temperature:floor_scale=1,form=ministral", -5), 1);
  EXPECT_EQ(Scale("temperature:floor_scale=1", -5), 1);
}

}  // namespace
}  // namespace sextant
