// Fused attention at every SIMD target of the machine against a plain double computation: every
// mask, grouped heads, odd sizes, strides and guards, gradients, and the same bits on any executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/core/random.h"
#include "sextant/kernels/attention.h"

namespace sextant {
namespace {

struct Case {
  Index queries, keys, heads, kv_heads, dim;
  KernelMask mask;
  bool biased;
  double size = 1;  // of queries
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const Index shapes[][5] = {{1, 1, 1, 1, 1},     {2, 3, 2, 1, 5},     {5, 2, 1, 1, 3},
                             {48, 48, 2, 2, 24},  {49, 50, 2, 1, 17},  {64, 64, 4, 2, 64},
                             {97, 257, 1, 1, 80}, {256, 256, 1, 1, 8}, {130, 600, 2, 1, 16}};
  for (const auto& s : shapes) {
    for (KernelMask mask : {KernelMask{}, KernelMask{.causal = true}}) {
      for (bool biased : {false, true}) {
        cases.push_back({s[0], s[1], s[2], s[3], s[4], mask, biased});
      }
    }
  }
  cases.push_back({70, 70, 1, 1, 32, KernelMask{.causal = true}, true, 40});  // sharp softmax
  cases.push_back({70, 70, 1, 1, 32, KernelMask{}, false, 1e-3});             // flat softmax
  return cases;
}

constexpr float kGuard = 777;

// Rows [tokens, heads, dim] with gaps between tokens that must stay as they are.
struct Rows {
  Rows(Index count, Index all_heads, Index width, Random* random, double size = 1)
      : tokens(count), heads(all_heads), dim(width), stride(all_heads * width + 3) {
    values.assign(std::size_t(tokens * stride + 1), kGuard);
    for (Index n = 0; random != nullptr && n < tokens; ++n) {
      for (Index c = 0; c < heads * dim; ++c) {
        values[std::size_t(n * stride + c)] = float(size * random->Normal());
      }
    }
  }
  double at(Index n, Index h, Index c) const {
    return values[std::size_t(n * stride + h * dim + c)];
  }
  HeadsOf<const float> in() const { return {values.data(), tokens, heads, dim, stride, dim}; }
  HeadsOf<float> out() { return {values.data(), tokens, heads, dim, stride, dim}; }
  bool GuardsStay() const {
    for (Index n = 0; n < tokens; ++n) {
      for (Index c = heads * dim; c < stride; ++c) {
        if (values[std::size_t(n * stride + c)] != kGuard) return false;
      }
    }
    return values.back() == kGuard;
  }

  Index tokens, heads, dim, stride;
  std::vector<float> values;
};

struct Problem {
  explicit Problem(const Case& given)
      : c(given),
        random(9),
        query(c.queries, c.heads, c.dim, &random, c.size),
        key(c.keys, c.kv_heads, c.dim, &random),
        value(c.keys, c.kv_heads, c.dim, &random),
        d_out(c.queries, c.heads, c.dim, &random),
        out(c.queries, c.heads, c.dim, nullptr),
        d_query(c.queries, c.heads, c.dim, nullptr),
        d_key(c.keys, c.kv_heads, c.dim, nullptr),
        d_value(c.keys, c.kv_heads, c.dim, nullptr),
        stride(c.queries + c.keys - 1),
        bias(std::size_t(c.heads * stride)),
        d_bias(bias.size(), kGuard),
        log_sum_exp(std::size_t(c.heads * c.queries)) {
    for (float& number : bias) number = float(random.Normal());
  }
  FusedAttention Input() const {
    FusedAttention in{query.in(), key.in(), value.in(), scale(), c.mask};
    in.first_distance = 1 - c.keys;
    in.distances = stride;
    if (c.biased) in.bias = {bias.data(), stride};
    return in;
  }
  float scale() const { return float(1 / std::sqrt(double(c.dim))); }
  void Run(Executor& executor) {
    AttentionForward(Input(), out.out(), log_sum_exp.data(), executor);
    AttentionBackward(Input(),
                      {out.in(), d_out.in(), log_sum_exp.data(), d_query.out(), d_key.out(),
                       d_value.out(), c.biased ? d_bias.data() : nullptr},
                      executor);
  }

  Case c;
  Random random;
  Rows query, key, value, d_out, out, d_query, d_key, d_value;
  Index stride;
  std::vector<float> bias;
  std::vector<double> d_bias;
  std::vector<float> log_sum_exp;
};

// The same in double with the matrix of scores.
struct Plain {
  explicit Plain(const Problem& p)
      : out(p.out.values.size()),
        d_query(p.d_query.values.size()),
        d_key(p.d_key.values.size()),
        d_value(p.d_value.values.size()),
        d_bias(p.d_bias.size()),
        log_sum_exp(p.log_sum_exp.size()) {
    for (Index h = 0; h < p.c.heads; ++h) {
      for (Index i = 0; i < p.c.queries; ++i) Row(p, h, i);
    }
  }
  void Row(const Problem& p, Index h, Index i) {
    const Case& c = p.c;
    const Index kv = h / (c.heads / c.kv_heads);
    const Index seen =
        !c.mask.causal ? c.keys : std::clamp<Index>(i + 1 + c.keys - c.queries, 0, c.keys);
    std::vector<double> score(std::size_t(seen), 0.0), d_weight(score.size(), 0.0);
    const auto bias_at = [&](Index j) { return std::size_t(h * p.stride + c.queries - 1 - i + j); };
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (Index j = 0; j < seen; ++j) {
      double& s = score[std::size_t(j)];
      for (Index d = 0; d < c.dim; ++d) s += p.query.at(i, h, d) * p.key.at(j, kv, d);
      s = s * double(p.scale()) + (c.biased ? double(p.bias[bias_at(j)]) : 0.0);
      most = std::max(most, s);
    }
    for (double& s : score) sum += s = std::exp(s - most);
    log_sum_exp[std::size_t(h * c.queries + i)] = most + std::log(sum);
    double mean = 0;
    for (Index j = 0; j < seen; ++j) {
      const double w = score[std::size_t(j)] /= sum;
      for (Index d = 0; d < c.dim; ++d) {
        out[Place(p.out, i, h, d)] += w * p.value.at(j, kv, d);
        d_value[Place(p.d_value, j, kv, d)] += w * p.d_out.at(i, h, d);
        d_weight[std::size_t(j)] += p.d_out.at(i, h, d) * p.value.at(j, kv, d);
      }
      mean += w * d_weight[std::size_t(j)];
    }
    for (Index j = 0; j < seen; ++j) {
      const double d_score = score[std::size_t(j)] * (d_weight[std::size_t(j)] - mean);
      d_bias[bias_at(j)] += d_score;
      for (Index d = 0; d < c.dim; ++d) {
        d_query[Place(p.d_query, i, h, d)] += double(p.scale()) * d_score * p.key.at(j, kv, d);
        d_key[Place(p.d_key, j, kv, d)] += double(p.scale()) * d_score * p.query.at(i, h, d);
      }
    }
  }
  static std::size_t Place(const Rows& rows, Index n, Index h, Index d) {
    return std::size_t(n * rows.stride + h * rows.dim + d);
  }
  std::vector<double> out, d_query, d_key, d_value, d_bias, log_sum_exp;
};

// The largest difference within the rows, over the largest right number and `at_least`.
double Relative(const Rows& rows, const std::vector<double>& right, double at_least) {
  double largest = at_least, difference = 0;
  for (Index n = 0; n < rows.tokens; ++n) {
    for (Index c = 0; c < rows.heads * rows.dim; ++c) {
      const auto i = std::size_t(n * rows.stride + c);
      largest = std::max(largest, std::abs(right[i]));
      const double here = std::abs(double(rows.values[i]) - right[i]);
      difference = std::isnan(here) ? here : std::max(difference, here);
    }
  }
  return difference / largest;
}

class FusedAttentionTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(FusedAttentionTest, AgreesWithDoubleForthAndBack) {
  double forward = 0, backward = 0, of_bias = 0;
  for (const Case& c : Cases()) {
    SCOPED_TRACE(testing::Message()
                 << c.queries << " queries, " << c.keys << " keys, " << c.heads << " over "
                 << c.kv_heads << " heads of " << c.dim << (c.mask.causal ? ", causal" : "")
                 << (c.biased ? ", biased" : ""));
    Problem p(c);
    const Plain right(p);
    p.Run(DefaultExecutor());
    forward = std::max(forward, Relative(p.out, right.out, 1));
    ASSERT_LE(Relative(p.out, right.out, 1), 2e-6 * std::max(1.0, c.size / 10));
    for (std::size_t i = 0; i < right.log_sum_exp.size(); ++i) {
      if (std::isinf(right.log_sum_exp[i])) {
        ASSERT_EQ(p.log_sum_exp[i], -std::numeric_limits<float>::infinity());
      } else {
        ASSERT_NEAR(p.log_sum_exp[i], right.log_sum_exp[i],
                    2e-6 * std::max(1.0, std::abs(right.log_sum_exp[i])));
      }
    }
    for (const auto& [got, expected] : {std::pair(&p.d_query, &right.d_query),
                                        {&p.d_key, &right.d_key},
                                        {&p.d_value, &right.d_value}}) {
      const double error = Relative(*got, *expected, 0.1 * c.size);
      backward = std::max(backward, error);
      ASSERT_LE(error, 4e-6 * std::max(1.0, c.size));
      ASSERT_TRUE(got->GuardsStay());
    }
    ASSERT_TRUE(p.out.GuardsStay());
    for (Index h = 0; c.biased && h < c.heads; ++h) {
      for (Index n = 0; n < p.stride; ++n) {
        const auto at = std::size_t(h * p.stride + n);
        const double error = std::abs(p.d_bias[at] - right.d_bias[at]);
        of_bias = std::max(of_bias, error);
        ASSERT_LE(error, 2e-5 * std::max(1.0, c.size)) << n;
      }
    }
  }
  std::printf("%s: errors %.1e of the output, %.1e of gradients, %.1e of the bias's\n",
              hwy::TargetName(GetParam()), forward, backward, of_bias);
}

TEST_P(FusedAttentionTest, GivesTheSameBitsOnAnyExecutor) {
  for (const Case& c : Cases()) {
    Problem one(c), other(c);
    one.Run(SerialExecutor());
    other.Run(DefaultExecutor());
    EXPECT_EQ(one.out.values, other.out.values);
    EXPECT_EQ(one.d_key.values, other.d_key.values);
    EXPECT_EQ(one.d_query.values, other.d_query.values);
    EXPECT_EQ(one.d_bias, other.d_bias);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FusedAttentionTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

TEST(FusedAttentionShapesTest, WhatDoesNotFitIsRefused) {
  Problem p({4, 4, 2, 2, 8, KernelMask{}, true});
  const auto refusal = [&](FusedAttention in) -> std::string {
    try {
      AttentionForward(in, p.out.out(), p.log_sum_exp.data(), SerialExecutor());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  FusedAttention in = p.Input();
  EXPECT_EQ(refusal(in), "accepted");
  in.bias.head_stride = 6;
  EXPECT_THAT(refusal(in), testing::HasSubstr("7 distances, got 6"));
  in = p.Input();
  in.key.heads = in.value.heads = 3;
  EXPECT_THAT(refusal(in), testing::HasSubstr("multiple of key heads"));
  in = p.Input();
  in.key.head_dim = in.value.head_dim = 7;
  EXPECT_THAT(refusal(in), testing::HasSubstr("same head_dim"));
  in = p.Input();
  in.value.tokens = 3;
  EXPECT_THAT(refusal(in), testing::HasSubstr("key and value"));
  in = p.Input();
  in.query.tokens = 3;
  EXPECT_THAT(refusal(in), testing::HasSubstr("must have the shape"));
}

}  // namespace
}  // namespace sextant
