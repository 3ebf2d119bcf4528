// The rotary kernel at every SIMD target of the machine: against double, at odd sizes, misaligned,
// with guard elements around every output; in place and apart; forth and back.
#include "sextant/kernels/rotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/core/random.h"
#include "sextant/kernels/stored_number.h"

namespace sextant {
namespace {

// Relative to the largest number of a pair: one rounding of the format, and float32's own.
template <class T>
constexpr double kTolerance = 0x1p-22;
template <>
constexpr double kTolerance<Bf16> = 0x1p-8 + 0x1p-22;
template <>
constexpr double kTolerance<F16> = 0x1p-11 + 0x1p-22;

struct Case {
  Index tokens, heads, head_dim;
  TurnedChannels channels;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const PairOrder halves = PairOrder::kHalves, adjacent = PairOrder::kAdjacent;
  const auto add = [&](Index tokens, Index heads, Index head_dim, Index first, Index rotated,
                       Index blocks) {
    for (PairOrder read : {halves, adjacent}) {
      for (PairOrder write : {halves, adjacent}) {
        cases.push_back({tokens, heads, head_dim, {first, rotated, blocks, read, write}});
      }
    }
  };
  for (Index rotated : {2, 4, 6, 14, 16, 18, 30, 32, 34, 62, 64, 66, 96, 128, 130, 256, 258, 520}) {
    add(3, 2, rotated + 3, 0, rotated, 1);
    add(2, 3, rotated + 5, 3, rotated, 1);
  }
  add(5, 1, 72, 0, 72, 2);
  add(1, 7, 64, 0, 0, 1);
  add(0, 4, 64, 0, 64, 1);
  add(4, 0, 64, 0, 64, 1);
  add(150, 5, 128, 0, 128, 1);  // more than one piece of work
  return cases;
}

constexpr double kGuard = 12345;

template <class T>
struct Buffers {
  Buffers(const Case& c, Random& random) : shape(c) {
    token_stride = c.heads * c.head_dim + 7;
    size = std::size_t(c.tokens * token_stride + 3);
    values.resize(size);
    for (double& value : values) value = random.Normal();
    input.resize(size);
    output.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      Set(values[i], input[i]);
      values[i] = ToDouble(input[i]);
      Set(kGuard, output[i]);
    }
    const Index pairs = c.channels.rotated / 2;
    stride = pairs + 1;
    cos.resize(std::size_t(c.tokens * stride + 1));
    sin.resize(cos.size());
    for (std::size_t i = 0; i < cos.size(); ++i) {
      const double angle = 6 * random.Normal();
      cos[i] = float(1.25 * std::cos(angle));
      sin[i] = float(1.25 * std::sin(angle));
    }
  }
  // The data starts one element in, so nothing is aligned.
  HeadsOf<const T> In() const {
    return {input.data() + 1, shape.tokens, shape.heads,
            shape.head_dim,   token_stride, shape.head_dim};
  }
  HeadsOf<T> Out() {
    return {output.data() + 1, shape.tokens, shape.heads,
            shape.head_dim,    token_stride, shape.head_dim};
  }
  TurnTable Table() const { return {cos.data(), sin.data(), stride}; }

  Case shape;
  Index token_stride, stride;
  std::size_t size;
  std::vector<double> values;  // of the input
  std::vector<T> input, output;
  std::vector<float> cos, sin;
};

Index Place(const TurnedChannels& channels, PairOrder order, Index pair, Index part) {
  const Index width = channels.rotated / channels.blocks, pairs = width / 2;
  const Index start = channels.first + pair / pairs * width, within = pair % pairs;
  return order == PairOrder::kHalves ? start + part * pairs + within : start + 2 * within + part;
}

// What every element must be, and how far off it may be; guards must stay.
template <class T>
void Expect(const Buffers<T>& b, const std::vector<T>& got, double guard_of_input, int& compared) {
  const Case& c = b.shape;
  std::vector<double> right(b.size, kGuard), allowed(b.size, 0);
  if (guard_of_input != 0) right = b.values;
  for (Index n = 0; n < c.tokens; ++n) {
    for (Index h = 0; h < c.heads; ++h) {
      const std::size_t head = std::size_t(1 + n * b.token_stride + h * c.head_dim);
      for (Index i = 0; i < c.head_dim; ++i)
        right[head + std::size_t(i)] = b.values[head + std::size_t(i)];
      for (Index i = 0; i < c.channels.rotated / 2; ++i) {
        const double x0 = b.values[head + std::size_t(Place(c.channels, c.channels.read, i, 0))];
        const double x1 = b.values[head + std::size_t(Place(c.channels, c.channels.read, i, 1))];
        const double cos = b.cos[std::size_t(n * b.stride + i)],
                     sin = b.sin[std::size_t(n * b.stride + i)];
        const double most = 1.25 * (std::abs(x0) + std::abs(x1)) * kTolerance<T>;
        const std::size_t at0 = head + std::size_t(Place(c.channels, c.channels.write, i, 0));
        const std::size_t at1 = head + std::size_t(Place(c.channels, c.channels.write, i, 1));
        right[at0] = x0 * cos - x1 * sin;
        right[at1] = x0 * sin + x1 * cos;
        allowed[at0] = allowed[at1] = most;
      }
    }
  }
  for (std::size_t i = 0; i < b.size; ++i) {
    const double difference = std::abs(ToDouble(got[i]) - right[i]);
    // A guard is stored in the format, so it is compared as stored.
    T guard;
    Set(right[i], guard);
    if (allowed[i] == 0) {
      ASSERT_EQ(ToDouble(got[i]), ToDouble(guard)) << "element " << i << " was written";
    } else {
      ASSERT_LE(difference, allowed[i]) << "element " << i;
    }
    ++compared;
  }
}

template <class T>
int RunCases() {
  int compared = 0;
  for (const Case& c : Cases()) {
    SCOPED_TRACE(testing::Message()
                 << c.tokens << " x " << c.heads << " x " << c.head_dim << ", "
                 << c.channels.rotated << " from " << c.channels.first
                 << (c.channels.read == PairOrder::kHalves ? " halves" : " adjacent")
                 << (c.channels.write == PairOrder::kHalves ? " to halves" : " to adjacent"));
    Random random(5);
    Buffers<T> b(c, random);
    Rotate(b.In(), b.Out(), b.Table(), c.channels, TurnDirection::kForth, DefaultExecutor());
    Expect(b, b.output, 0, compared);
    if (testing::Test::HasFatalFailure()) return compared;
    std::vector<T> in_place = b.input;
    const HeadsOf<T> same{in_place.data() + 1, c.tokens,       c.heads,
                          c.head_dim,          b.token_stride, c.head_dim};
    const HeadsOf<const T> same_in{in_place.data() + 1, c.tokens,       c.heads,
                                   c.head_dim,          b.token_stride, c.head_dim};
    Rotate(same_in, same, b.Table(), c.channels, TurnDirection::kForth, SerialExecutor());
    Expect(b, in_place, 1, compared);
    if (testing::Test::HasFatalFailure()) return compared;
  }
  return compared;
}

class RotateKernelTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(RotateKernelTest, AgreesWithDoubleAndWritesNothingElse) {
  const int compared = RunCases<float>() + RunCases<Bf16>() + RunCases<F16>();
  std::printf("%s: %d elements compared\n", hwy::TargetName(GetParam()), compared);
  EXPECT_GT(compared, 1000000);
}

TEST_P(RotateKernelTest, BackIsTheTransposeOfForth) {
  for (const Case& c : Cases()) {
    Random random(6);
    Buffers<float> b(c, random), d(c, random);
    d.cos = b.cos;
    d.sin = b.sin;
    Rotate(b.In(), b.Out(), b.Table(), c.channels, TurnDirection::kForth, SerialExecutor());
    Rotate(d.In(), d.Out(), b.Table(), c.channels, TurnDirection::kBack, SerialExecutor());
    // <forth(x), y> = <x, back(y)>
    double one = 0, other = 0, size = 0;
    for (Index n = 0; n < c.tokens; ++n) {
      for (Index i = 0; i < c.heads * c.head_dim; ++i) {
        const std::size_t at = std::size_t(1 + n * b.token_stride + i);
        one += double(b.output[at]) * d.values[at];
        other += b.values[at] * double(d.output[at]);
        size += std::abs(double(b.output[at]) * d.values[at]);
      }
    }
    EXPECT_NEAR(one, other, 1e-6 * size);
  }
}

// Every finite number of the format times a cosine so short that float32 holds the product: nothing
// but the one rounding to nearest even may happen, to subnormal numbers and to infinity too.
template <class T, class Round>
void ExpectOneRounding(const Round& round) {
  constexpr Index kWidth = 272, kPairs = kWidth / 2;  // packed vectors, then single ones
  std::vector<T> x(std::size_t(kWidth) * 241);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i].bits = std::uint16_t(i);
    if (!std::isfinite(ToDouble(x[i]))) x[i].bits = 0;
  }
  for (float factor : {1.00390625f, 0.33331299f, 0.998046875f, 1.9990234f, 0x1.8p-6f, 0x1.4p-9f}) {
    const std::vector<float> cos(kPairs, factor), sin(kPairs, 0.0f);
    for (PairOrder order : {PairOrder::kHalves, PairOrder::kAdjacent}) {
      std::vector<T> y(x.size());
      Rotate(HeadsOf<const T>{x.data(), 1, 241, kWidth, 0, kWidth},
             HeadsOf<T>{y.data(), 1, 241, kWidth, 0, kWidth}, {cos.data(), sin.data(), kPairs},
             {0, kWidth, 1, order, order}, TurnDirection::kForth, SerialExecutor());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double right = round(RoundToF32(ToDouble(x[i]) * double(factor)));
        ASSERT_EQ(ToDouble(y[i]), right) << ToDouble(x[i]) << " times " << factor;
      }
    }
  }
}

TEST_P(RotateKernelTest, SixteenBitResultsAreRoundedOnceToNearestEven) {
  ExpectOneRounding<Bf16>(RoundToBf16);
  ExpectOneRounding<F16>(RoundToF16);
}

// Numbers that are not finite, in a channel or in the table, at places that vectors, their ends and
// single numbers handle.
template <class T>
void ExpectSpecialsStay() {
  const float infinity = std::numeric_limits<float>::infinity();
  const float full_nan = std::bit_cast<float>(0x7FFFFFFFu), minus_nan = -full_nan;
  constexpr Index kWidth = 278, kPairs = kWidth / 2, kHeads = 3;
  for (PairOrder order : {PairOrder::kHalves, PairOrder::kAdjacent}) {
    for (Index pair : {0, 1, 31, 64, 100, 128, 135, 138}) {
      for (float bad : {infinity, -infinity, full_nan, minus_nan}) {
        for (bool in_table : {false, true}) {
          const auto place = [&](Index part) {
            return order == PairOrder::kHalves ? pair + part * kPairs : 2 * pair + part;
          };
          std::vector<T> x(kHeads * kWidth), y(x.size());
          for (T& value : x) Set(1, value);
          std::vector<float> cos(kPairs, 0.5f), sin(kPairs, 0.25f);
          if (in_table) {
            cos[std::size_t(pair)] = bad;
          } else {
            Set(bad, x[std::size_t(kWidth + place(0))]);
          }
          Rotate(HeadsOf<const T>{x.data(), 1, kHeads, kWidth, 0, kWidth},
                 HeadsOf<T>{y.data(), 1, kHeads, kWidth, 0, kWidth},
                 {cos.data(), sin.data(), kPairs}, {0, kWidth, 1, order, order},
                 TurnDirection::kForth, SerialExecutor());
          for (Index h = 0; h < kHeads; ++h) {
            for (Index c = 0; c < kWidth; ++c) {
              const double got = ToDouble(y[std::size_t(h * kWidth + c)]);
              const bool hit = (c == place(0) || c == place(1)) && (in_table || h == 1);
              if (!hit) {
                ASSERT_TRUE(got == 0.25 || got == 0.75) << c;
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
  }
}

TEST_P(RotateKernelTest, InfinitiesAndNanStayInTheirPair) {
  ExpectSpecialsStay<float>();
  ExpectSpecialsStay<Bf16>();
  ExpectSpecialsStay<F16>();
}

template <class T>
void ExpectTheSameBits() {
  for (PairOrder order : {PairOrder::kHalves, PairOrder::kAdjacent}) {
    Random random(7);
    Buffers<T> b({331, 3, 80, {4, 72, 1, order, order}}, random);
    Rotate(b.In(), b.Out(), b.Table(), b.shape.channels, TurnDirection::kBack, SerialExecutor());
    const std::vector<T> serial = b.output;
    Rotate(b.In(), b.Out(), b.Table(), b.shape.channels, TurnDirection::kBack, DefaultExecutor());
    EXPECT_EQ(std::memcmp(serial.data(), b.output.data(), serial.size() * sizeof(T)), 0);
  }
}

TEST_P(RotateKernelTest, AnyExecutorGivesTheSameBits) {
  ExpectTheSameBits<float>();
  ExpectTheSameBits<Bf16>();
  ExpectTheSameBits<F16>();
}

INSTANTIATE_TEST_SUITE_P(Targets, RotateKernelTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

TEST(RotateTestOfShapes, WhatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  std::vector<float> x(64, 1), table(32, 1);
  const HeadsOf<const float> in{x.data(), 1, 1, 64, 64, 64};
  const HeadsOf<float> out{x.data(), 1, 1, 64, 64, 64};
  const TurnTable good{table.data(), table.data(), 32};
  const auto refusal = [&](const HeadsOf<float>& to, const TurnTable& turns,
                           const TurnedChannels& channels) -> std::string {
    try {
      Rotate(in, to, turns, channels, TurnDirection::kForth, SerialExecutor());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(out, good, {0, 64, 1}), "accepted");
  EXPECT_THAT(refusal(out, good, {2, 64, 1}), testing::HasSubstr("pass the head's 64"));
  EXPECT_THAT(refusal(out, good, {0, 63, 1}), testing::HasSubstr("even width"));
  EXPECT_THAT(refusal(out, good, {0, 30, 4}), testing::HasSubstr("even width"));
  EXPECT_THAT(refusal(out, {table.data(), table.data(), 31}, {0, 64, 1}),
              testing::HasSubstr("32 pairs, got 31"));
  EXPECT_THAT(refusal({x.data(), 1, 1, 64, 65, 64}, good, {0, 64, 1}),
              testing::HasSubstr("same strides"));
  EXPECT_THAT(refusal({x.data(), 2, 1, 64, 64, 64}, good, {0, 64, 1}),
              testing::HasSubstr("same shape"));
  EXPECT_THAT(refusal({x.data() + 1, 1, 1, 64, 64, 64}, good, {0, 64, 1}),
              testing::HasSubstr("they overlap"));
  EXPECT_THAT(refusal(out, good, {std::numeric_limits<Index>::max(), 2, 1}),
              testing::HasSubstr("pass the head's 64"));
  std::vector<float> wide(8192), turns(4096);
  EXPECT_THROW(Rotate(HeadsOf<const float>{wide.data(), 1, 1, 8192, 8192, 8192},
                      HeadsOf<float>{wide.data(), 1, 1, 8192, 8192, 8192},
                      {turns.data(), turns.data(), 4096}, {0, 8192, 1}, TurnDirection::kForth,
                      SerialExecutor()),
               Error);
}

}  // namespace
}  // namespace sextant
