// Rounding to narrow formats: ties, subnormal numbers, overflow, NaN, and no rounding twice.
#include "sextant/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sextant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(HalfTest, KnownPatterns) {
  const std::pair<double, int> bf16[] = {
      {0, 0x0000},        {-0.0, 0x8000},     {1, 0x3f80},         {-2, 0xc000},
      {0.1, 0x3dcd},      {3.14159, 0x4049},  {kInfinity, 0x7f80}, {-kInfinity, 0xff80},
      {0x1p-126, 0x0080}, {0x1p-133, 0x0001}, {0x1.fep127, 0x7f7f}};
  for (const auto& [value, bits] : bf16) EXPECT_EQ(Bf16Bits(value), bits) << value;
  const std::pair<double, int> f16[] = {
      {0, 0x0000},       {-0.0, 0x8000},    {1, 0x3c00},          {-2, 0xc000},
      {0.1, 0x2e66},     {65504, 0x7bff},   {kInfinity, 0x7c00},  {-kInfinity, 0xfc00},
      {0x1p-14, 0x0400}, {0x1p-24, 0x0001}, {0x1.ff8p-15, 0x03ff}};
  for (const auto& [value, bits] : f16) EXPECT_EQ(F16Bits(value), bits) << value;
}

TEST(HalfTest, EveryPatternReadsBackAsItself) {
  int numbers = 0;
  for (int bits = 0; bits < 65536; ++bits) {
    const double bf16 = FromBf16Bits(std::uint16_t(bits)), f16 = FromF16Bits(std::uint16_t(bits));
    if (!std::isnan(bf16)) {
      EXPECT_EQ(Bf16Bits(bf16), bits);
      EXPECT_EQ(RoundToBf16(bf16), bf16);
      ++numbers;
    }
    if (!std::isnan(f16)) {
      EXPECT_EQ(F16Bits(f16), bits);
      EXPECT_EQ(RoundToF16(f16), f16);
      ++numbers;
    }
  }
  // 65536 less 2 signs of 127 and of 1023 NaNs.
  EXPECT_EQ(numbers, 65536 - 254 + 65536 - 2046);
}

TEST(HalfTest, TiesGoToTheEvenNeighbour) {
  EXPECT_EQ(RoundToBf16(257), 256);  // between 256 and 258
  EXPECT_EQ(RoundToBf16(259), 260);  // between 258 and 260
  EXPECT_EQ(RoundToBf16(-257), -256);
  EXPECT_EQ(RoundToF16(2049), 2048);
  EXPECT_EQ(RoundToF16(2051), 2052);
  EXPECT_EQ(RoundToF32(16777217), 16777216);
  EXPECT_EQ(RoundToF32(16777219), 16777220);
  EXPECT_EQ(RoundToBf16(257.0000001), 258);
}

TEST(HalfTest, EveryMidpointAndItsNeighboursRoundToTheNearest) {
  for (int bits = 0; bits < 0x7f7f; ++bits) {
    const double low = FromBf16Bits(std::uint16_t(bits));
    const double high = FromBf16Bits(std::uint16_t(bits + 1)), middle = (low + high) / 2;
    EXPECT_EQ(RoundToBf16(middle), bits % 2 == 0 ? low : high);
    EXPECT_EQ(RoundToBf16(std::nextafter(middle, 0)), low);
    EXPECT_EQ(RoundToBf16(std::nextafter(middle, kInfinity)), high);
  }
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double low = FromF16Bits(std::uint16_t(bits));
    const double high = FromF16Bits(std::uint16_t(bits + 1)), middle = (low + high) / 2;
    EXPECT_EQ(RoundToF16(-middle), bits % 2 == 0 ? -low : -high);
    EXPECT_EQ(RoundToF16(std::nextafter(middle, 0)), low);
    EXPECT_EQ(RoundToF16(std::nextafter(middle, kInfinity)), high);
  }
}

// 1 + 2^-8 + 2^-40 is above the tie of bfloat16; as float32 it is the tie itself, which goes down.
TEST(HalfTest, NothingIsRoundedTwice) {
  const double bf16 = 1 + 0x1p-8 + 0x1p-40, f16 = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(RoundToBf16(bf16), 1 + 0x1p-7);
  EXPECT_EQ(RoundToBf16(RoundToF32(bf16)), 1);
  EXPECT_EQ(RoundToF16(f16), 1 + 0x1p-10);
  EXPECT_EQ(RoundToF16(RoundToF32(f16)), 1);
}

TEST(HalfTest, Float32IsTheCompilers) {
  for (const double value : {0.1, -1e-45, 1e-46, 7e-46, 3.4028235e38, 1.0 / 3, 16777217.0, 1e-40}) {
    EXPECT_EQ(RoundToF32(value), double(float(value))) << value;
  }
}

TEST(HalfTest, SubnormalNumbersHaveFewerBitsThenZero) {
  EXPECT_EQ(RoundToF16(0x1p-24 * 2.5), 0x1p-23);
  EXPECT_EQ(RoundToF16(0x1p-24 * 3.5), 0x1p-22);
  EXPECT_EQ(RoundToF16(0x1p-25), 0);
  EXPECT_EQ(RoundToF16(0x1.000001p-25), 0x1p-24);
  EXPECT_EQ(RoundToBf16(0x1p-134), 0);
  EXPECT_EQ(RoundToBf16(0x1.8p-134), 0x1p-133);
  EXPECT_EQ(RoundToF32(0x1p-150), 0);
  EXPECT_EQ(RoundToBf16(5e-324), 0);
  EXPECT_TRUE(std::signbit(RoundToF16(-1e-300)));
  EXPECT_EQ(F16Bits(-1e-300), 0x8000);
  // The largest subnormal number rounds up to the smallest normal one.
  EXPECT_EQ(F16Bits(0x1.ffep-15), 0x0400);
}

TEST(HalfTest, PastTheLargestNumberIsInfinity) {
  EXPECT_EQ(RoundToF16(65519.99), 65504);
  EXPECT_EQ(RoundToF16(65520), kInfinity);
  EXPECT_EQ(RoundToF16(-131071), -kInfinity);
  EXPECT_EQ(F16Bits(66246.39), 0x7c00);
  EXPECT_EQ(RoundToBf16(0x1.fep127), 0x1.fep127);
  EXPECT_EQ(RoundToBf16(0x1.ffp127), kInfinity);
  EXPECT_EQ(RoundToBf16(std::nextafter(0x1.ffp127, 0)), 0x1.fep127);
  EXPECT_EQ(RoundToF32(0x1.ffffffp127), kInfinity);
  EXPECT_EQ(RoundToF32(1e300), kInfinity);
  EXPECT_EQ(RoundToF32(-kInfinity), -kInfinity);
}

TEST(HalfTest, NotANumberStaysThat) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(RoundToF32(nan)));
  EXPECT_TRUE(std::isnan(RoundToBf16(nan)));
  EXPECT_TRUE(std::isnan(RoundToF16(nan)));
  EXPECT_EQ(Bf16Bits(nan), 0x7fc0);
  EXPECT_EQ(F16Bits(nan), 0x7e00);
  EXPECT_EQ(F16Bits(-nan), 0xfe00);
  EXPECT_TRUE(std::isnan(FromBf16Bits(0x7f81)));
  EXPECT_TRUE(std::isnan(FromF16Bits(0xfc01)));
}

// bfloat16 has 769 distinct positions below 4096, 897 below 8192.
TEST(HalfTest, PositionsInBFloat16Collide) {
  int distinct = 1, first = 0;
  for (int p = 1; p < 8192; ++p) {
    const bool same = RoundToBf16(p) == RoundToBf16(p - 1);
    if (same && first == 0) first = p;
    distinct += !same;
    if (p == 4095) {
      EXPECT_EQ(distinct, 769);
    }
  }
  EXPECT_EQ(distinct, 897);
  EXPECT_EQ(first, 257);
}

}  // namespace
}  // namespace sextant
