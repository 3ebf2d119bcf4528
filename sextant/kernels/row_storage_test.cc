// Rows between storages at every SIMD target of the machine: all 16-bit patterns, every tie between
// two of them and its neighbours, NaN, and every length with guards around it.
#include "sextant/kernels/row_storage.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "sextant/kernels/stored_number.h"

namespace sextant {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> AllPatterns() {
  std::vector<T> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = std::uint16_t(i);
  return all;
}

template <class T>
void ExpectEveryPatternIsReadAndWrittenBack() {
  const std::vector<T> all = AllPatterns<T>();
  std::vector<float> wide(all.size());
  std::vector<T> back(all.size());
  WidenRow(all.data(), Index(all.size()), wide.data());
  NarrowRow(wide.data(), Index(all.size()), back.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double right = ToDouble(all[i]);
    if (std::isnan(right)) {
      ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(ToDouble(back[i]))) << i;
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(float(right)));
    ASSERT_EQ(back[i].bits, all[i].bits);
  }
}

// Between each finite number and the next away from 0, as far as infinity: the tie, the floats
// beside it, and one a quarter of the way.
template <class T>
void ExpectRoundingToNearestEven(std::uint16_t infinity) {
  std::vector<float> values;
  for (std::uint16_t bits = 0; bits < infinity; ++bits) {
    const double here = ToDouble(T{bits});
    const double next = bits + 1 < infinity ? ToDouble(T{std::uint16_t(bits + 1)})
                                            : 2 * here - ToDouble(T{std::uint16_t(bits - 1)});
    const auto tie = float((here + next) / 2);
    ASSERT_EQ(double(tie), (here + next) / 2);
    for (float x : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, kInfinity),
                    float(here + (next - here) / 4)}) {
      values.insert(values.end(), {x, -x});
    }
  }
  values.insert(values.end(), {1e-45f, -1e-45f, 3.4028235e38f, -3.4028235e38f});
  std::vector<T> got(values.size());
  NarrowRow(values.data(), Index(values.size()), got.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    T right;
    Set(double(values[i]), right);
    ASSERT_EQ(got[i].bits, right.bits) << values[i];
  }
}

template <class T>
void ExpectNanStays() {
  for (std::uint32_t bits : {0x7F800001u, 0x7F80FFFFu, 0x7FBFFFFFu, 0x7FC00000u, 0x7FFFFFFFu}) {
    for (std::uint32_t sign : {0u, 0x80000000u}) {
      const std::vector<float> row(37, std::bit_cast<float>(bits | sign));
      std::vector<T> got(row.size());
      NarrowRow(row.data(), Index(row.size()), got.data());
      for (T value : got) ASSERT_TRUE(std::isnan(ToDouble(value))) << std::hex << (bits | sign);
    }
  }
}

// What lies past a row is not finite, so that reading it shows, and guards that it be written over.
template <class T>
void ExpectNothingPastTheRow() {
  constexpr float kGuard = 12352;  // of all three formats
  for (Index count = 0; count < 70; ++count) {
    std::vector<T> narrow(std::size_t(count) + 2);
    std::vector<float> wide(narrow.size()), from(narrow.size(), kInfinity);
    for (T& value : narrow) Set(kInfinity, value);
    for (Index i = 0; i < count; ++i) {
      Set(double(i) - 20, narrow[std::size_t(1 + i)]);
      from[std::size_t(1 + i)] = float(i) - 20;
    }
    EXPECT_TRUE(AllFinite(narrow.data() + 1, count) && AllFinite(from.data() + 1, count)) << count;
    std::fill(wide.begin(), wide.end(), kGuard);
    WidenRow(narrow.data() + 1, count, wide.data() + 1);
    for (T& value : narrow) Set(kGuard, value);
    NarrowRow(from.data() + 1, count, narrow.data() + 1);
    for (Index i = -1; i <= count; ++i) {
      const float right = i < 0 || i == count ? kGuard : float(i) - 20;
      ASSERT_EQ(wide[std::size_t(1 + i)], right) << count;
      ASSERT_EQ(ToDouble(narrow[std::size_t(1 + i)]), double(right)) << count;
    }
  }
}

template <class T>
void ExpectWhatIsNotFiniteIsFound(const T& largest, const std::vector<T>& bad) {
  for (Index count : {1, 3, 4, 16, 35, 64}) {
    std::vector<T> row(std::size_t(count), largest);
    ASSERT_TRUE(AllFinite(row.data(), count));
    for (Index i = 0; i < count; ++i) {
      for (const T& value : bad) {
        row[std::size_t(i)] = value;
        ASSERT_FALSE(AllFinite(row.data(), count)) << i << " of " << count;
      }
      row[std::size_t(i)] = largest;
    }
  }
}

class RowStorageTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(RowStorageTest, EveryPatternIsReadExactlyAndWrittenBack) {
  ExpectEveryPatternIsReadAndWrittenBack<Bf16>();
  ExpectEveryPatternIsReadAndWrittenBack<F16>();
}

TEST_P(RowStorageTest, EveryTieRoundsToTheEvenNumberAndItsNeighboursToTheNearest) {
  ExpectRoundingToNearestEven<Bf16>(0x7F80);
  ExpectRoundingToNearestEven<F16>(0x7C00);
}

TEST_P(RowStorageTest, NanStaysNan) {
  ExpectNanStays<Bf16>();
  ExpectNanStays<F16>();
}

TEST_P(RowStorageTest, NothingPastARowIsReadOrWritten) {
  ExpectNothingPastTheRow<Bf16>();
  ExpectNothingPastTheRow<F16>();
}

TEST_P(RowStorageTest, OneNumberThatIsNotFiniteIsFoundAnywhere) {
  const float nan = std::bit_cast<float>(0x7F800001u),
              minus_nan = std::bit_cast<float>(0xFFFFFFFFu);
  ExpectWhatIsNotFiniteIsFound<float>(-3.4028235e38f, {kInfinity, -kInfinity, nan, minus_nan});
  ExpectWhatIsNotFiniteIsFound<Bf16>({0xFF7F}, {{0x7F80}, {0xFF80}, {0x7F81}, {0xFFFF}});
  ExpectWhatIsNotFiniteIsFound<F16>({0xFBFF}, {{0x7C00}, {0xFC00}, {0x7C01}, {0xFFFF}});
}

INSTANTIATE_TEST_SUITE_P(Targets, RowStorageTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

}  // namespace
}  // namespace sextant
