// Tables of angles at every SIMD target of the machine: against long double at positions to 2^31,
// in every layout, at odd sizes, misaligned, with guards around every output.
#include "sextant/kernels/angles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant {
namespace {

std::vector<double> PowerFrequencies(double base, Index count) {
  std::vector<double> inv_freq;
  for (Index i = 0; i < count; ++i) inv_freq.push_back(std::pow(base, -double(i) / double(count)));
  return inv_freq;
}

constexpr float kGuard = 12345;

// Two tables one element into their memory, at a stride past their width.
struct Table {
  Table(Index rows, Index frequencies)
      : stride(frequencies + 3),
        cos(std::size_t(rows * stride + 2), kGuard),
        sin(cos.size(), kGuard) {}
  TurnRows Rows() { return {cos.data() + 1, sin.data() + 1, stride}; }
  std::size_t At(Index n, Index i) const { return std::size_t(1 + n * stride + i); }

  Index stride;
  std::vector<float> cos, sin;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The product of an integer below 2^31 and a double is off by 2^-33 at most in long double.
struct Worst {
  double error = 0;
  void Add(float got, long double right) {
    error = std::max(error, std::abs(double(static_cast<long double>(got) - right)));
  }
};

class AnglesTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  static double WorstOf(std::int64_t first, Index count, const std::vector<double>& inv_freq,
                        double magnitude) {
    const Index frequencies = Index(inv_freq.size());
    Table table(count, frequencies);
    FillTurns({first, count}, inv_freq, magnitude, table.Rows(), DefaultExecutor());
    Worst worst;
    for (Index n = 0; n < count; ++n) {
      for (Index i = 0; i < frequencies; ++i) {
        const long double angle = static_cast<long double>(first + n) * inv_freq[std::size_t(i)];
        worst.Add(table.cos[table.At(n, i)], magnitude * std::cos(angle));
        worst.Add(table.sin[table.At(n, i)], magnitude * std::sin(angle));
      }
    }
    return worst.error;
  }
};

TEST_P(AnglesTest, IsRightToTwoTenMillionthsAtPositionsTo2To31) {
  double worst = 0, worst_scaled = 0;
  const std::vector<double> mixed = {1, 2.5, 0.1, 3.141592653589793, 1e-3, 700.25, 1e-7, -0.75};
  for (std::int64_t first :
       {std::int64_t{0}, std::int64_t{-4100}, std::int64_t{4090}, std::int64_t{131000},
        (std::int64_t{1} << 20) - 70, (std::int64_t{1} << 31) - 70}) {
    for (const std::vector<double>& inv_freq :
         {PowerFrequencies(1e4, 64), PowerFrequencies(5e5, 33), mixed}) {
      worst = std::max(worst, WorstOf(first, 140, inv_freq, 1));
      worst_scaled = std::max(worst_scaled, WorstOf(first, 70, inv_freq, 1.0707) / 1.0707);
    }
  }
  std::printf("%s: off by %.3g, with a magnitude by %.3g of it\n", hwy::TargetName(GetParam()),
              worst, worst_scaled);
  EXPECT_LE(worst, 2e-7);
  EXPECT_LE(worst_scaled, 3e-7);
  EXPECT_GT(worst, 2e-8);  // float32 cannot be better: the truth was another one
}

TEST_P(AnglesTest, EveryPositionTo2To20WithTheFastestTurn) {
  const double fastest[] = {1.0};
  constexpr Index kCount = Index{1} << 20;
  std::vector<float> cos(kCount), sin(kCount);
  FillTurns({1, kCount}, fastest, 1, {cos.data(), sin.data(), 1}, DefaultExecutor());
  double worst = 0;
  for (Index n = 0; n < kCount; n += 3) {
    worst = std::max(worst, std::abs(cos[std::size_t(n)] - std::cos(double(n + 1))));
    worst = std::max(worst, std::abs(sin[std::size_t(n)] - std::sin(double(n + 1))));
  }
  EXPECT_LE(worst, 2e-7);
}

TEST_P(AnglesTest, PositionZeroIsExact) {
  Table table(1, 5);
  FillTurns({0, 1}, PowerFrequencies(1e4, 5), 1.5, table.Rows(), SerialExecutor());
  EXPECT_THAT(table.cos, testing::ElementsAre(kGuard, 1.5, 1.5, 1.5, 1.5, 1.5, kGuard, kGuard,
                                              kGuard, kGuard));
  EXPECT_THAT(table.sin,
              testing::ElementsAre(kGuard, 0, 0, 0, 0, 0, kGuard, kGuard, kGuard, kGuard));
}

// Decoding one position at a time, in any order, reads what the whole run's table holds.
TEST_P(AnglesTest, ANumberDependsOnItsPositionAlone) {
  for (Index frequencies : {1, 3, 16, 17, 64, 300}) {
    const std::vector<double> inv_freq = PowerFrequencies(1e4, frequencies);
    constexpr std::int64_t kFirst = 4096 - 333;
    constexpr Index kCount = 700;
    Table run(kCount, frequencies), serial(kCount, frequencies);
    FillTurns({kFirst, kCount}, inv_freq, 1.25, run.Rows(), DefaultExecutor());
    FillTurns({kFirst, kCount}, inv_freq, 1.25, serial.Rows(), SerialExecutor());
    EXPECT_TRUE(SameBits(run.cos, serial.cos) && SameBits(run.sin, serial.sin));
    Random random(2);
    std::vector<std::int64_t> list;
    for (int i = 0; i < 150; ++i) list.push_back(kFirst + std::int64_t(random.Below(kCount)));
    Table listed(Index(list.size()), frequencies), one(1, frequencies);
    FillTurns(std::span<const std::int64_t>(list), inv_freq, 1.25, listed.Rows(),
              DefaultExecutor());
    for (std::size_t n = 0; n < list.size(); ++n) {
      FillTurns({list[n], 1}, inv_freq, 1.25, one.Rows(), SerialExecutor());
      for (Index i = 0; i < frequencies; ++i) {
        const std::size_t at = run.At(list[n] - kFirst, i);
        ASSERT_EQ(listed.cos[listed.At(Index(n), i)], run.cos[at]) << list[n] << ' ' << i;
        ASSERT_EQ(listed.sin[listed.At(Index(n), i)], run.sin[at]) << list[n] << ' ' << i;
        ASSERT_EQ(one.cos[one.At(0, i)], run.cos[at]) << list[n] << ' ' << i;
        ASSERT_EQ(one.sin[one.At(0, i)], run.sin[at]) << list[n] << ' ' << i;
      }
    }
  }
}

// Sizes around vectors, stretches of frequencies and blocks of positions; what is not a row's
// stays.
TEST_P(AnglesTest, WritesItsRowsAndNothingElse) {
  for (Index frequencies : {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 255, 256, 257, 520}) {
    for (Index count : {0, 1, 63, 65}) {
      const std::vector<double> inv_freq = PowerFrequencies(1e4, frequencies);
      Table table(count, frequencies);
      FillTurns({100, count}, inv_freq, 1, table.Rows(), DefaultExecutor());
      Index written = 0;
      for (std::size_t at = 0; at < table.cos.size(); ++at) {
        const Index column = (Index(at) + table.stride - 1) % table.stride;
        const bool inside = at > 0 && Index(at) <= count * table.stride && column < frequencies;
        ASSERT_EQ(table.cos[at] != kGuard, inside) << at;
        ASSERT_EQ(table.sin[at] != kGuard, inside) << at;
        written += inside;
      }
      EXPECT_EQ(written, count * frequencies);
    }
  }
}

TEST_P(AnglesTest, WavesAreTheSameNumbersInEveryLayout) {
  constexpr Index kCount = 67;
  for (Index width : {1, 2, 3, 4, 5, 15, 31, 32, 33, 34, 63, 64, 65, 511, 512, 513, 1031}) {
    const Index firsts = (width + 1) / 2, stride = width + 2;
    const std::vector<double> inv_freq = PowerFrequencies(1e4, firsts);
    Table table(kCount, firsts);
    FillTurns({5000, kCount}, inv_freq, 1, table.Rows(), SerialExecutor());
    for (PairOrder layout : {PairOrder::kHalves, PairOrder::kAdjacent}) {
      for (auto order : {WaveRows::Order::kSinFirst, WaveRows::Order::kCosFirst}) {
        std::vector<float> rows(std::size_t(1 + kCount * stride), kGuard), right = rows;
        FillWaves({5000, kCount}, inv_freq, 1, {rows.data() + 1, width, stride, layout, order},
                  DefaultExecutor());
        for (Index n = 0; n < kCount; ++n) {
          for (Index c = 0; c < width; ++c) {
            const bool halves = layout == PairOrder::kHalves;
            const Index i = halves ? c % firsts : c / 2;
            const bool first = halves ? c < firsts : c % 2 == 0;
            const bool sine = first == (order == WaveRows::Order::kSinFirst);
            right[std::size_t(1 + n * stride + c)] = (sine ? table.sin : table.cos)[table.At(n, i)];
          }
        }
        ASSERT_TRUE(SameBits(rows, right)) << width << (layout == PairOrder::kHalves);
      }
    }
  }
}

TEST_P(AnglesTest, AFrequencyThatIsNotFiniteSpoilsItsOwnColumnsAlone) {
  std::vector<double> inv_freq = PowerFrequencies(1e4, 40);
  inv_freq[7] = std::numeric_limits<double>::infinity();
  inv_freq[39] = std::nan("");
  Table table(3, 40);
  FillTurns({70, 3}, inv_freq, 1, table.Rows(), SerialExecutor());
  for (Index n = 0; n < 3; ++n) {
    for (Index i = 0; i < 40; ++i) {
      EXPECT_EQ(std::isnan(table.cos[table.At(n, i)]), i == 7 || i == 39);
      EXPECT_EQ(std::isnan(table.sin[table.At(n, i)]), i == 7 || i == 39);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AnglesTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

class Counting final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override {
    tasks += count;
    for (Index i = count; i-- > 0;) task(i);
  }
  Index tasks = 0;
};

TEST(AnglesTestOfPieces, SmallTablesStayOnTheCallingThread) {
  const std::vector<double> inv_freq = PowerFrequencies(1e4, 64);
  Table table(600, 64);
  Counting executor;
  FillTurns({0, 512}, inv_freq, 1, table.Rows(), executor);
  EXPECT_EQ(executor.tasks, 0);
  FillTurns({0, 600}, inv_freq, 1, table.Rows(), executor);
  EXPECT_EQ(executor.tasks, 4);  // of 192 rows
}

TEST(AnglesTestOfShapes, WhatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  const std::vector<double> inv_freq = PowerFrequencies(1e4, 4);
  std::vector<float> cos(64, kGuard), sin(64, kGuard);
  const auto refusal = [&](const auto& fill) -> std::string {
    try {
      fill();
    } catch (const Error& error) {
      EXPECT_EQ(cos, std::vector<float>(64, kGuard));
      return error.what();
    }
    return "accepted";
  };
  const auto turns = [&](const RowPositions& positions, Index stride) {
    return refusal([&] {
      FillTurns(positions, inv_freq, 1, {cos.data(), sin.data(), stride}, SerialExecutor());
    });
  };
  EXPECT_EQ(turns({0, 0}, 4), "accepted");
  EXPECT_THAT(turns({0, -1}, 4), testing::HasSubstr("must not be negative"));
  EXPECT_THAT(turns({0, 2}, 3), testing::HasSubstr("hold 4 numbers, got 3"));
  EXPECT_THAT(turns({(std::int64_t{1} << 53) - 1, 3}, 4), testing::HasSubstr("within 2^53"));
  EXPECT_THAT(turns({std::numeric_limits<std::int64_t>::min(), 1}, 4),
              testing::HasSubstr("within 2^53"));
  EXPECT_THAT(turns({0, std::numeric_limits<Index>::max()}, 4),
              testing::HasSubstr("too many positions"));
  const std::vector<std::int64_t> list = {3, std::int64_t{1} << 60};
  EXPECT_THAT(turns(std::span<const std::int64_t>(list), 4), testing::HasSubstr("within 2^53"));
  const auto waves = [&](Index width, Index stride) {
    return refusal([&] {
      FillWaves({0, 2}, inv_freq, 1, {cos.data(), width, stride}, SerialExecutor());
    });
  };
  EXPECT_THAT(waves(9, 9), testing::HasSubstr("takes 5 frequencies, got 4"));
  EXPECT_THAT(waves(6, 6), testing::HasSubstr("takes 3 frequencies, got 4"));
  EXPECT_THAT(waves(8, 7), testing::HasSubstr("hold 8 numbers, got 7"));
  EXPECT_THAT(waves(-8, 8), testing::HasSubstr("must not be negative"));
  EXPECT_EQ(waves(7, 7), "accepted");
}

}  // namespace
}  // namespace sextant
