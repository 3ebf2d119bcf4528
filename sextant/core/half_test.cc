// Rounding: ties, subnormals, overflow, and no rounding twice.
#include "sextant/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sextant {
namespace {

TEST(HalfTest, Float32RoundsAsTheMachineDoes) {
  for (double value : {0.1, 1.0 / 3, 1e-39, 1.4e-45, 5e-46, 3.4e38, -2.5, 1e-320}) {
    EXPECT_EQ(RoundToF32(value), double(float(value))) << value;
  }
  EXPECT_EQ(RoundToF32(3.5e38), std::numeric_limits<double>::infinity());
}

TEST(HalfTest, Bf16KeepsEightBitsAndTiesGoToEven) {
  EXPECT_EQ(RoundToBf16(257), 256);  // the first two positions that fall together
  EXPECT_EQ(RoundToBf16(259), 260);
  EXPECT_EQ(RoundToBf16(8190), 8192);
  EXPECT_EQ(RoundToBf16(15962), 15936);
  EXPECT_EQ(RoundToBf16(0.865964), 0.8671875);
  EXPECT_EQ(RoundToBf16(-257), -256);
}

TEST(HalfTest, Bf16IsNotRoundedThroughFloat32) {
  // Just above the tie of 1 and 1 + 2^-7; float32 would drop the rest and round to even, to 1.
  const double above = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(RoundToBf16(above), 1 + 0x1p-7);
  EXPECT_EQ(RoundToBf16(1 + 0x1p-8), 1);
}

TEST(HalfTest, F16EndsAt65504) {
  EXPECT_EQ(RoundToF16(65504), 65504);
  EXPECT_EQ(RoundToF16(65519), 65504);
  EXPECT_EQ(RoundToF16(65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RoundToF16(66246.39), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RoundToF16(2049), 2048);
  EXPECT_EQ(RoundToF16(0x1p-24), 0x1p-24);
  EXPECT_EQ(RoundToF16(0x1p-25), 0);
  EXPECT_EQ(RoundToF16(0x1.8p-25), 0x1p-24);
}

TEST(HalfTest, NotANumberAndZeroStay) {
  EXPECT_TRUE(std::isnan(RoundToBf16(std::nan(""))));
  EXPECT_TRUE(std::signbit(RoundToF16(-0.0)));
  EXPECT_EQ(RoundToBf16(-std::numeric_limits<double>::infinity()),
            -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace sextant
