// Rows added by the kernel beside the reference's, for every additive scheme and storage; the
// gradient of a learned table beside its definition; what is kept, and what is refused.
#include "sextant/attention/add_positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "sextant/core/random.h"
#include "sextant/kernels/stored_number.h"
#include "sextant/schemes/registry.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kBatch = 3, kWidth = 44;
const ModelShape kShape = {{"model_dim", kWidth}, {"heads", 2}, {"head_dim", 22}, {"context", 400}};

// Half a step of the format's numbers from 1 to 2.
template <class T>
constexpr double kRounding = 0x1p-24;
template <>
constexpr double kRounding<Bf16> = 0x1p-8;
template <>
constexpr double kRounding<F16> = 0x1p-11;
constexpr double kHalfOfSmallest = 0x1p-25;  // of float16, whose subnormal numbers sums reach

std::vector<std::string> AdditiveSpecs() {
  std::vector<std::string> specs = {"sinusoidal+learned", "learned+rope:rotated_dims=8",
                                    "learned:offset=2,scale=0.25"};
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const std::string name(entry.info.name);
    if (MakeScheme(name, kShape)->offers(Hook::kAdditive)) specs.push_back(name);
  }
  return specs;
}

// Any order, with a gap and a repeat; enough tokens for more than one piece of work.
PositionList SomePositions() {
  std::vector<std::int64_t> list = {7, 7, 0, 3, 255, 254};
  for (std::int64_t n = 0; n < 240; ++n) list.push_back(n);
  return PositionList(list);
}

template <class T>
struct Activations {
  Activations(Index count, Random& random) : tokens(count) {
    values.resize(std::size_t(kBatch * tokens * kWidth));
    for (T& value : values) Set(random.Normal(), value);
  }
  ActivationsOf<T> out() {
    return {values.data(), kBatch, tokens, kWidth, tokens * kWidth, kWidth};
  }
  ActivationsOf<const T> in() const {
    return {values.data(), kBatch, tokens, kWidth, tokens * kWidth, kWidth};
  }
  double At(Index b, Index n, Index c) const {
    return ToDouble(values[std::size_t((b * tokens + n) * kWidth + c)]);
  }

  Index tokens;
  std::vector<T> values;
};

template <class T>
void ExpectTheReferencesRows(const Scheme& scheme, Weights weights) {
  Random random(2);
  const PositionList positions = SomePositions();
  const Index tokens = positions.positions().count();
  const Activations<T> x(tokens, random);
  Activations<T> out(tokens, random), in_place = x, serial = x;
  AddPositions(scheme, weights, positions, x.in(), out.out());
  AddPositions(scheme, weights, positions, in_place.in(), in_place.out());
  AddPositions(scheme, weights, positions, serial.in(), serial.out(),
               {.executor = &SerialExecutor()});
  const Array<double, 3> rows = AdditiveRows(scheme, weights, positions, 1, kWidth);
  double moved = 0;
  for (Index b = 0; b < kBatch; ++b) {
    for (Index n = 0; n < tokens; ++n) {
      for (Index c = 0; c < kWidth; ++c) {
        const double row = rows(0, n, c), right = x.At(b, n, c) + row;
        const double allowed = 0x1p-24 * (std::abs(row) + std::abs(right)) +
                               std::max(kRounding<T> * std::abs(right),
                                        std::is_same_v<T, F16> ? kHalfOfSmallest : 0.0);
        ASSERT_NEAR(out.At(b, n, c), right, allowed) << n << " " << c;
        moved += std::abs(row);
      }
    }
  }
  EXPECT_GT(moved, 1);
  const std::size_t bytes = out.values.size() * sizeof(T);
  EXPECT_EQ(std::memcmp(out.values.data(), in_place.values.data(), bytes), 0);
  EXPECT_EQ(std::memcmp(out.values.data(), serial.values.data(), bytes), 0);
}

TEST(AddPositionsTest, EveryAdditiveSchemeAddsTheReferencesRows) {
  EXPECT_GE(AdditiveSpecs().size(), 6u);
  for (const std::string& spec : AdditiveSpecs()) {
    SCOPED_TRACE(spec);
    const SchemePtr scheme = MakeScheme(spec, kShape);
    Random random(1);
    const auto weights = scheme->InitialWeights(random);
    ExpectTheReferencesRows<float>(*scheme, weights);
    ExpectTheReferencesRows<Bf16>(*scheme, weights);
    ExpectTheReferencesRows<F16>(*scheme, weights);
    if (HasFatalFailure()) return;
  }
}

// Row p of the table meets every token at position p, times the scale.
template <class T>
void ExpectTheTablesGradient() {
  const SchemePtr scheme = MakeScheme("learned:scale=0.5", kShape);
  Random random(3);
  const auto weights = scheme->InitialWeights(random);
  const PositionList list = SomePositions();
  const Positions positions = list;
  const Activations<T> d_out(positions.count(), random);
  std::vector<std::vector<double>> d = {std::vector<double>(weights[0].size(), 0.125)};
  auto serial = d;
  AddPositionsBackward(*scheme, weights, positions, d_out.in(), d);
  AddPositionsBackward(*scheme, weights, positions, d_out.in(), serial,
                       {.executor = &SerialExecutor()});
  EXPECT_EQ(d, serial);
  std::vector<double> right(weights[0].size(), 0.125), size(right.size());
  for (Index b = 0; b < kBatch; ++b) {
    for (Index n = 0; n < positions.count(); ++n) {
      for (Index c = 0; c < kWidth; ++c) {
        const auto at = std::size_t(positions.values(0, n) * kWidth + c);
        right[at] += 0.5 * d_out.At(b, n, c);
        size[at] += std::abs(0.5 * d_out.At(b, n, c));
      }
    }
  }
  for (std::size_t i = 0; i < right.size(); ++i) {
    ASSERT_NEAR(d[0][i], right[i], 0x1p-23 * size[i] + 1e-15) << i;
  }
}

TEST(AddPositionsTest, TheGradientOfALearnedTableSumsTheTokensAtEachPosition) {
  ExpectTheTablesGradient<float>();
  ExpectTheTablesGradient<Bf16>();
  ExpectTheTablesGradient<F16>();
}

TEST(AddPositionsTest, AComposedSchemesGradientReachesItsTable) {
  const SchemePtr scheme = MakeScheme("sinusoidal+learned", kShape);
  Random random(4);
  const auto weights = scheme->InitialWeights(random);
  const PositionList positions = PositionList::Range(5, 1);
  const Activations<float> d_out(1, random);
  std::vector<std::vector<double>> d = {std::vector<double>(weights[0].size())};
  AddPositionsBackward(*scheme, weights, positions, d_out.in(), d);
  for (Index c = 0; c < kWidth; ++c) {
    const double sum = d_out.At(0, 0, c) + d_out.At(1, 0, c) + d_out.At(2, 0, c);
    EXPECT_NEAR(d[0][std::size_t(5 * kWidth + c)], sum, 1e-6);
    EXPECT_EQ(d[0][std::size_t(4 * kWidth + c)], 0);
  }
}

TEST(AddPositionsTest, RowsAreKeptForTheNextCall) {
  const SchemePtr scheme = MakeScheme("sinusoidal", kShape);
  Random random(5);
  const Activations<float> x(20, random);
  Activations<float> first = x, second = x;
  TableCache cache(1 << 20);
  const PositionList positions = PositionList::Range(0, 20);
  AddPositions(*scheme, {}, positions, x.in(), first.out(), {.tables = &cache});
  AddPositions(*scheme, {}, positions, x.in(), second.out(), {.tables = &cache});
  EXPECT_EQ(cache.usage().misses, 1);
  EXPECT_EQ(cache.usage().hits, 1);
  EXPECT_EQ(first.values, second.values);
  EXPECT_NE(first.values, x.values);
}

TEST(AddPositionsTest, WhatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  Random random(6);
  const SchemePtr learned = MakeScheme("learned:positions=8", kShape);
  auto weights = learned->InitialWeights(random);
  Activations<float> x(4, random);
  const std::vector<float> before = x.values;
  const auto refusal = [&](const Scheme& scheme, Weights given, const PositionList& positions) {
    std::string text = "accepted";
    try {
      AddPositions(scheme, given, positions, x.in(), x.out());
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_TRUE(text == "accepted" || x.values == before) << text;
    return text;
  };
  const auto four = PositionList::Range(0, 4);
  EXPECT_THAT(refusal(*MakeScheme("rope", kShape), {}, four), testing::HasSubstr("adds no rows"));
  EXPECT_THAT(refusal(*MakeScheme("layers:[rope]x3,[none]", kShape), {}, four),
              testing::HasSubstr("layers differ"));
  EXPECT_THAT(refusal(*MakeScheme("sinusoidal", {{"model_dim", 48}}), {}, four),
              testing::HasSubstr("48 channels, the activations have 44"));
  EXPECT_THAT(refusal(*learned, weights, PositionList::Range(0, 3)),
              testing::HasSubstr("got 3 for 4 tokens"));
  EXPECT_THAT(refusal(*learned, {}, four), testing::HasSubstr("weights"));
  EXPECT_NE(refusal(*learned, weights, PositionList::Range(5, 4)), "accepted");
  std::vector<std::vector<double>> none;
  EXPECT_THROW(AddPositionsBackward(*learned, weights, four, x.in(), none), Error);
  EXPECT_EQ(refusal(*learned, weights, four), "accepted");
}

}  // namespace
}  // namespace sextant
