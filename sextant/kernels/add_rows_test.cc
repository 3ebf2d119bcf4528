// Rows added to activations and their gradient at every SIMD target of the machine: against double,
// at odd sizes, misaligned, with guard elements around every output, in place and apart.
#include "sextant/kernels/add_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/core/random.h"
#include "sextant/kernels/stored_number.h"

namespace sextant {
namespace {

constexpr double kGuard = 12344;  // of all three formats

// Activations at a stride of their own, one element into their memory.
template <class T>
struct Buffer {
  Buffer(Index batch, Index tokens, Index width, Random& random)
      : token_stride(width + 3),
        batch_stride(tokens * token_stride + 5),
        shape{nullptr, batch, tokens, width, batch_stride, token_stride},
        values(std::size_t(batch * batch_stride + 7)) {
    for (T& value : values) Set(kGuard, value);
    Each([&](T& value, Index, Index, Index) { Set(4 * random.Normal(), value); });
  }
  // visit(element, b, n, c)
  template <class Visit>
  void Each(const Visit& visit) {
    for (Index b = 0; b < shape.batch; ++b) {
      for (Index n = 0; n < shape.tokens; ++n) {
        for (Index c = 0; c < shape.model_dim; ++c) visit(values[At(b, n, c)], b, n, c);
      }
    }
  }
  std::size_t At(Index b, Index n, Index c) const {
    return std::size_t(1 + b * batch_stride + n * token_stride + c);
  }
  ActivationsOf<T> Out() {
    ActivationsOf<T> out = shape;
    out.data = values.data() + 1;
    return out;
  }
  ActivationsOf<const T> In() const {
    return {values.data() + 1, shape.batch,  shape.tokens,
            shape.model_dim,   batch_stride, token_stride};
  }

  Index token_stride, batch_stride;
  ActivationsOf<T> shape;
  std::vector<T> values;
};

struct Rows {
  Rows(Index tokens, Index width, Random& random)
      : stride(width + 1), values(std::size_t(tokens * stride + 2), float(kGuard)) {
    for (Index n = 0; n < tokens; ++n) {
      for (Index c = 0; c < width; ++c) values[At(n, c)] = float(random.Normal());
    }
  }
  std::size_t At(Index n, Index c) const { return std::size_t(1 + n * stride + c); }
  RowsOf<const float> In() const { return {values.data() + 1, stride}; }
  RowsOf<float> Out() { return {values.data() + 1, stride}; }

  Index stride;
  std::vector<float> values;
};

template <class T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// float32's sum, rounded once to the format: exact, so bits must be equal.
template <class T>
void ExpectSums(Index batch, Index tokens, Index width) {
  SCOPED_TRACE(testing::Message() << batch << " x " << tokens << " x " << width);
  Random random(3);
  Buffer<T> x(batch, tokens, width, random), out(batch, tokens, width, random);
  const Rows rows(tokens, width, random);
  std::vector<T> right = out.values, right_in_place = x.values;
  x.Each([&](T& value, Index b, Index n, Index c) {
    const double sum = RoundToF32(ToDouble(value) + rows.values[rows.At(n, c)]);
    Set(sum, right[x.At(b, n, c)]);
    Set(sum, right_in_place[x.At(b, n, c)]);
  });
  const std::vector<T> before = x.values;
  AddRows(x.In(), rows.In(), out.Out(), DefaultExecutor());
  EXPECT_TRUE(SameBits(out.values, right));
  EXPECT_TRUE(SameBits(x.values, before));
  AddRows(x.In(), rows.In(), x.Out(), SerialExecutor());
  EXPECT_TRUE(SameBits(x.values, right_in_place));
}

// Rounding the double sum in any order gives float32 numbers that differ by one rounding at most;
// in the order of the batch they are equal.
template <class T>
void ExpectGradient(Index batch, Index tokens, Index width) {
  SCOPED_TRACE(testing::Message() << batch << " x " << tokens << " x " << width);
  Random random(4);
  Buffer<T> d_out(batch, tokens, width, random);
  Rows d_rows(tokens, width, random);
  std::vector<double> sums(d_rows.values.size(), 0.0);
  d_out.Each([&](T& value, Index, Index n, Index c) { sums[d_rows.At(n, c)] += ToDouble(value); });
  std::vector<float> right = d_rows.values;
  for (Index n = 0; n < tokens; ++n) {
    for (Index c = 0; c < width; ++c) right[d_rows.At(n, c)] = float(sums[d_rows.At(n, c)]);
  }
  AddRowsBack(d_out.In(), d_rows.Out(), DefaultExecutor());
  EXPECT_TRUE(SameBits(d_rows.values, right));
  AddRowsBack(d_out.In(), d_rows.Out(), SerialExecutor());
  EXPECT_TRUE(SameBits(d_rows.values, right));
}

class AddRowsTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  template <class T>
  static void Cases(void (*expect)(Index, Index, Index)) {
    for (Index width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 511, 512, 513}) {
      expect(5, 2, width);
    }
    expect(1, 1, 64);
    expect(0, 3, 64);
    expect(3, 0, 64);
    expect(3, 2, 0);
    expect(3, 149, 127);  // several pieces of tokens
    expect(1031, 1, 67);  // several pieces of sequences
    expect(2, 2, 17001);  // a token alone is more than a piece
  }
};

TEST_P(AddRowsTest, IsTheRoundedSumAndWritesNothingElse) {
  Cases<float>(ExpectSums<float>);
  Cases<Bf16>(ExpectSums<Bf16>);
  Cases<F16>(ExpectSums<F16>);
}

TEST_P(AddRowsTest, TheGradientIsTheSumOverTheBatchInItsOrder) {
  Cases<float>(ExpectGradient<float>);
  Cases<Bf16>(ExpectGradient<Bf16>);
  Cases<F16>(ExpectGradient<F16>);
}

// 2^20 times 0.1, which a float32 sum would miss by a thousandth.
TEST_P(AddRowsTest, TheGradientLosesNothingInALargeBatch) {
  const std::vector<float> tenths(1 << 20, 0.1f);
  float sum = 0;
  AddRowsBack(ActivationsOf<const float>{tenths.data(), 1 << 20, 1, 1, 1, 1}, {&sum, 1},
              SerialExecutor());
  EXPECT_EQ(sum, float(double(0.1f) * 0x1p20));
}

// Numbers that are not finite, in x or in the row.
template <class T>
void ExpectSpecialsStay() {
  const float infinity = std::numeric_limits<float>::infinity();
  const float full_nan = std::bit_cast<float>(0x7FFFFFFFu);
  constexpr Index kWidth = 75;
  for (Index at : {0, 1, 16, 33, 63, 64, 72, 74}) {
    for (float bad : {infinity, -infinity, full_nan, -full_nan}) {
      for (bool in_row : {false, true}) {
        std::vector<T> x(kWidth), y(kWidth);
        for (T& value : x) Set(0.5, value);
        std::vector<float> row(kWidth, 0.25f);
        if (in_row) {
          row[std::size_t(at)] = bad;
        } else {
          Set(bad, x[std::size_t(at)]);
        }
        AddRows(ActivationsOf<const T>{x.data(), 1, 1, kWidth, 0, 0}, {row.data(), 0},
                ActivationsOf<T>{y.data(), 1, 1, kWidth, 0, 0}, SerialExecutor());
        for (Index c = 0; c < kWidth; ++c) {
          const double got = ToDouble(y[std::size_t(c)]);
          if (c != at) {
            ASSERT_EQ(got, 0.75) << c;
          } else if (std::isnan(bad)) {
            ASSERT_TRUE(std::isnan(got)) << c;
          } else {
            ASSERT_EQ(got, double(bad)) << c;
          }
        }
      }
    }
  }
}

TEST_P(AddRowsTest, InfinitiesAndNanStayInTheirChannel) {
  ExpectSpecialsStay<float>();
  ExpectSpecialsStay<Bf16>();
  ExpectSpecialsStay<F16>();
}

template <class T>
void ExpectEveryNumberRounded() {
  std::vector<T> x(1 << 16), y(1 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i].bits = std::uint16_t(i);
  for (float shift : {1.0f, -0x1p-9f, 0x1.8p-30f, 60000.0f}) {
    const std::vector<float> row(x.size(), shift);
    AddRows(ActivationsOf<const T>{x.data(), 1, 1, 1 << 16, 0, 0}, {row.data(), 0},
            ActivationsOf<T>{y.data(), 1, 1, 1 << 16, 0, 0}, SerialExecutor());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = ToDouble(x[i]);
      T right;
      Set(RoundToF32(value + shift), right);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(ToDouble(y[i]))) << i;
      } else {
        ASSERT_EQ(y[i].bits, right.bits) << value << " + " << shift;
      }
    }
  }
}

TEST_P(AddRowsTest, EveryNumberOf16BitsIsRoundedOnceToNearestEven) {
  ExpectEveryNumberRounded<Bf16>();
  ExpectEveryNumberRounded<F16>();
}

INSTANTIATE_TEST_SUITE_P(Targets, AddRowsTest,
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

TEST(AddRowsTestOfPieces, SmallWorkStaysOnTheCallingThread) {
  std::vector<float> x(1 << 15), rows(1 << 15);
  const auto tasks = [&](Index batch, Index tokens, Index width) {
    Counting executor;
    AddRows(ActivationsOf<const float>{x.data(), batch, tokens, width, tokens * width, width},
            {rows.data(), width},
            ActivationsOf<float>{x.data(), batch, tokens, width, tokens * width, width}, executor);
    return executor.tasks;
  };
  EXPECT_EQ(tasks(1, 16, 1024), 0);
  EXPECT_EQ(tasks(16, 1, 1024), 0);
  EXPECT_EQ(tasks(4, 4, 1024), 0);
  EXPECT_EQ(tasks(16384, 1, 1), 0);
  EXPECT_EQ(tasks(1, 32, 1024), 2);
  EXPECT_EQ(tasks(32, 1, 1024), 2);
}

TEST(AddRowsTestOfShapes, WhatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  std::vector<float> x(64, 1), rows(64, 1), out(64);
  const auto refusal = [&](const ActivationsOf<float>& to, const RowsOf<const float>& add,
                           Index batch) -> std::string {
    try {
      AddRows(ActivationsOf<const float>{x.data(), batch, 4, 8, 32, 8}, add, to, SerialExecutor());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const RowsOf<const float> good{rows.data(), 8};
  EXPECT_EQ(refusal({out.data(), 2, 4, 8, 32, 8}, good, 2), "accepted");
  EXPECT_EQ(refusal({x.data(), 1, 4, 8, 32, 8}, good, 1), "accepted");
  EXPECT_THAT(refusal({out.data(), 1, 4, 8, 32, 8}, good, 2), testing::HasSubstr("same shape"));
  EXPECT_THAT(refusal({out.data(), -1, 4, 8, 32, 8}, good, -1),
              testing::HasSubstr("must not be negative"));
  EXPECT_THAT(refusal({out.data(), 2, 4, 8, 32, 8}, {rows.data(), 7}, 2),
              testing::HasSubstr("hold 8 channels, got 7"));
  EXPECT_THAT(refusal({x.data(), 2, 4, 8, 40, 8}, good, 2), testing::HasSubstr("same strides"));
  EXPECT_THAT(refusal({x.data() + 8, 1, 4, 8, 32, 8}, good, 1),
              testing::HasSubstr("lie apart from it"));
  EXPECT_THAT(refusal({rows.data() + 31, 1, 4, 8, 32, 8}, good, 1),
              testing::HasSubstr("apart from the rows"));
  EXPECT_THROW(AddRowsBack(ActivationsOf<const float>{x.data(), 2, 4, 8, 32, 8}, {x.data(), 8},
                           SerialExecutor()),
               Error);
  EXPECT_THROW(AddRowsBack(ActivationsOf<const float>{x.data(), 2, 4, 8, 32, 8}, {out.data(), 7},
                           SerialExecutor()),
               Error);
}

}  // namespace
}  // namespace sextant
