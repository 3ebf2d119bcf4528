// Storage of heads: every 16-bit pattern widened exactly, rounding to nearest even, and overlap.
#include "sextant/kernels/heads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sextant/core/half.h"
#include "sextant/core/random.h"

namespace sextant {
namespace {

template <class T>
HeadsOf<T> Row(T* data, Index width) {
  return {data, 1, 1, width, width, width};
}

TEST(HeadsTest, EveryPatternOf16BitsIsReadExactly) {
  std::vector<Bf16> bf16(65536);
  std::vector<F16> f16(65536);
  std::vector<float> from_bf16(65536), from_f16(65536);
  for (int i = 0; i < 65536; ++i) {
    bf16[std::size_t(i)].bits = f16[std::size_t(i)].bits = std::uint16_t(i);
  }
  HeadsIn(Row(bf16.data(), 65536)).Read(0, 0, 1, 65536, from_bf16.data());
  HeadsIn(Row(f16.data(), 65536)).Read(0, 0, 1, 65536, from_f16.data());
  for (std::size_t i = 0; i < 65536; ++i) {
    const double b = FromBf16Bits(std::uint16_t(i)), h = FromF16Bits(std::uint16_t(i));
    ASSERT_TRUE(double(from_bf16[i]) == b || (std::isnan(b) && std::isnan(from_bf16[i]))) << i;
    ASSERT_TRUE(double(from_f16[i]) == h || (std::isnan(h) && std::isnan(from_f16[i]))) << i;
  }
}

TEST(HeadsTest, WritingRoundsToNearestEvenAtEverySize) {
  Random random(3);
  std::vector<float> values = {0.0f,     -0.0f,    INFINITY, -INFINITY,      NAN,
                               65504.0f, 65519.9f, 65520.0f, 6e-8f,          3e-8f,
                               2.98e-8f, 6.1e-5f,  6.09e-5f, 1.00048828125f, 3.3961e38f,
                               1e-40f,   2049.0f,  2051.0f,  1.0f,           -2.5f};
  while (values.size() < 40000) {
    values.push_back(float(random.Normal() * std::exp2(40 * random.Normal())));
  }
  const auto width = Index(values.size());
  std::vector<Bf16> bf16(values.size());
  std::vector<F16> f16(values.size());
  HeadsOut(Row(bf16.data(), width)).Write(0, 0, values.data());
  HeadsOut(Row(f16.data(), width)).Write(0, 0, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(FromBf16Bits(bf16[i].bits)) && std::isnan(FromF16Bits(f16[i].bits)));
      continue;
    }
    ASSERT_EQ(bf16[i].bits, Bf16Bits(double(values[i]))) << values[i];
    ASSERT_EQ(f16[i].bits, F16Bits(double(values[i]))) << values[i];
  }
}

TEST(HeadsTest, PaddingOfARowIsZero) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  std::vector<float> read(8, 9.0f);
  HeadsIn(HeadsOf<const float>{values.data(), 2, 1, 3, 3, 3}).Read(0, 0, 2, 4, read.data());
  EXPECT_EQ(read, (std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0}));
}

TEST(HeadsTest, OverlapIsAboutBytes) {
  std::vector<float> values(20);
  const HeadsOf<float> first{values.data(), 2, 1, 4, 5, 5},
      second{values.data() + 9, 2, 1, 4, 5, 5};
  EXPECT_FALSE(Overlap(HeadsIn(first), HeadsOut(second)));
  EXPECT_TRUE(Overlap(HeadsIn(first), HeadsOut(first)));
  const HeadsOf<float> last{values.data() + 8, 2, 1, 4, 5, 5};
  EXPECT_TRUE(Overlap(HeadsIn(first), HeadsOut(last)));
  EXPECT_FALSE(Overlap(HeadsIn(HeadsOf<float>{values.data(), 0, 1, 4, 5, 5}), HeadsOut(first)));
}

}  // namespace
}  // namespace sextant
