// Holds both paths to the double-precision reference, forward and backward, for every scheme.
#include "torch/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "torch/example_attention.h"

namespace sextant::nn {
namespace {

using torch::Tensor;
constexpr Index kHeads = ExampleAttention::kHeads, kHeadDim = ExampleAttention::kHeadDim;

Array<double, 3> Draw(const Shape<3>& shape, std::uint64_t seed) {
  Random random(seed);
  Array<double, 3> array(shape);
  for (double& value : array.values()) value = random.Normal();
  return array;
}

Tensor ToTensor(const Array<double, 3>& array) {
  return torch::tensor(at::ArrayRef<double>(array.values()), torch::kDouble)
      .view({1, array.extent(0), array.extent(1), array.extent(2)})
      .to(torch::kFloat)
      .requires_grad_();
}

double LargestDifference(const Tensor& tensor, const std::vector<double>& expected) {
  const Tensor right = torch::tensor(at::ArrayRef<double>(expected), torch::kDouble);
  return (tensor.detach().to(torch::kDouble).flatten() - right).abs().max().item<double>();
}

void Compare(const std::string& spec, std::span<const std::int64_t> positions, AttentionPath path) {
  SCOPED_TRACE(spec);
  const ExampleAttention example(spec);
  const Scheme& scheme = *example.scheme;
  const Index n = static_cast<Index>(positions.size());
  const auto q = Draw({kHeads, n, kHeadDim}, 1), k = Draw({kHeads, n, kHeadDim}, 2),
             v = Draw({kHeads, n, kHeadDim}, 3), d_out = Draw({kHeads, n, kHeadDim}, 4);
  const PositionList at(positions);
  AttentionInput input{q, k, v, at, at, {}, 0};
  input.mask.causal = true;
  const AttentionOutput expected = ReferenceAttention(scheme, example.weights, input);
  const AttentionGradients gradients =
      ReferenceAttentionBackward(scheme, example.weights, input, d_out);

  const WeightTensors weights = example.WeightLeaves();
  const Tensor tq = ToTensor(q), tk = ToTensor(k), tv = ToTensor(v);
  const CausalTables prepared = PrepareCausal(example.scheme, weights, at, at, torch::kFloat, path);
  const Tensor out = CausalAttention(tq, tk, tv, prepared);
  EXPECT_LE(LargestDifference(out, expected.out.values()), 2e-5);
  (out * ToTensor(d_out).detach()).sum().backward();
  EXPECT_LE(LargestDifference(tq.grad(), gradients.query.values()), 5e-5);
  EXPECT_LE(LargestDifference(tk.grad(), gradients.key.values()), 5e-5);
  EXPECT_LE(LargestDifference(tv.grad(), gradients.value.values()), 5e-5);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    SCOPED_TRACE(scheme.weights()[i].name);
    EXPECT_LE(LargestDifference(weights[i].grad(), gradients.weights[i]), 2e-4);
  }
}

class BothPaths : public testing::TestWithParam<AttentionPath> {};
INSTANTIATE_TEST_SUITE_P(CausalAttention, BothPaths,
                         testing::Values(AttentionPath::kFastest, AttentionPath::kAten),
                         [](const auto& path) {
                           return path.param == AttentionPath::kAten ? "Aten" : "Fastest";
                         });

TEST_P(BothPaths, AgreeWithTheReferenceOnConsecutivePositions) {
  std::vector<std::int64_t> positions(19);
  std::iota(positions.begin(), positions.end(), 0);
  const std::vector<std::string> specs = SpecsInsideAttention();
  ASSERT_GT(specs.size(), 10u);
  for (const std::string& spec : specs) Compare(spec, positions, GetParam());
}

TEST_P(BothPaths, AgreeWithTheReferenceOnScatteredPositions) {
  const std::vector<std::int64_t> positions = {5, 0, 17, 17, 3, 40, 41, 9};
  for (const std::string& spec : SpecsInsideAttention()) Compare(spec, positions, GetParam());
}

TEST_P(BothPaths, AgreeWithTheReferenceOnSeveralTiles) {
  std::vector<std::int64_t> positions(260);
  std::iota(positions.begin(), positions.end(), 3);
  for (const char* spec : {"t5", "rope+alibi", "learned-bias"}) {
    Compare(spec, positions, GetParam());
  }
}

TEST(CausalAttentionTest, KernelsServeAllButContextualSchemes) {
  const PositionList at = PositionList::Range(0, 5);
  for (const std::string& spec : SpecsInsideAttention()) {
    SCOPED_TRACE(spec);
    const ExampleAttention example(spec);
    const auto prepare = [&](at::ScalarType type) {
      return PrepareCausal(example.scheme, example.WeightLeaves(), at, at, type);
    };
    const bool contextual = example.scheme->offers(Hook::kContextual);
    for (const auto type : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
      EXPECT_EQ(prepare(type).spread.has_value(), contextual);
    }
    EXPECT_TRUE(prepare(torch::kDouble).spread.has_value());
  }
}

// The message of the error that attention of these tensors throws.
std::string Refusal(const Tensor& query, const Tensor& key, const CausalTables& prepared) {
  try {
    CausalAttention(query, key, key, prepared);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(CausalAttentionTest, SaysWhatDoesNotFit) {
  const PositionList at = PositionList::Range(0, 4);
  const auto prepare = [&](const std::string& spec, at::ScalarType type) {
    const SchemePtr scheme = MakeScheme(spec, ExampleAttention::Shape());
    Random random(1);
    WeightTensors weights;
    for (const std::vector<double>& values : scheme->InitialWeights(random)) {
      weights.push_back(torch::tensor(at::ArrayRef<double>(values), torch::kFloat));
    }
    return PrepareCausal(scheme, weights, at, at, type);
  };
  const Tensor x = torch::zeros({1, kHeads, 4, kHeadDim});
  EXPECT_EQ(Refusal(x, x, prepare("alibi:heads=3", torch::kFloat)),
            "attention: alibi has a bias for 3 heads, the queries have 4");
  EXPECT_EQ(Refusal(x, x, prepare("bert:head_dim=6", torch::kFloat)),
            "attention: bert has vectors of 6 channels, the heads have 8");
  const CausalTables none = prepare("none", torch::kFloat);
  EXPECT_EQ(Refusal(x, x.slice(2, 0, 3), none),
            "attention: the tables are for 4 queries and 4 keys, got 4 and 3");
  EXPECT_EQ(Refusal(x, x.slice(1, 0, 3), none),
            "attention: query heads must be a multiple of key heads, got 4 and 3");
  EXPECT_EQ(Refusal(x, x.slice(3, 0, 3), none),
            "attention: query, key and value must be [batch, heads, tokens, head_dim] of one batch "
            "and width, got [1, 4, 4, 8], [1, 4, 4, 3] and [1, 4, 4, 3]");
  const Tensor wide = x.to(torch::kDouble);
  EXPECT_EQ(Refusal(wide, wide, none),
            "attention: the tables are for tensors of float on cpu, got CPUDoubleType on cpu");
  EXPECT_EQ(Refusal(x, x, prepare("none", torch::kFloat)), "none");
  EXPECT_THROW(CausalSelfAttention(torch::zeros({1, 4, 2, kHeads, kHeadDim}), none), Error);
}

TEST(AdditiveRowsTest, FillsAndMapsGradientsBackThroughTheContract) {
  const SchemePtr learned = MakeScheme("learned:offset=2", ExampleAttention::Shape());
  const Tensor table = torch::arange(66 * kHeadDim, torch::kFloat).view({66, kHeadDim});
  const Tensor weight = table.clone().requires_grad_();
  const std::vector<std::int64_t> positions = {3, 0, 3};
  const Tensor rows = AdditiveRows(learned, {weight}, PositionList(positions), torch::kFloat);
  EXPECT_TRUE(torch::equal(rows[0], table[5]));
  EXPECT_TRUE(torch::equal(rows[1], table[2]));
  rows.sum().backward();
  EXPECT_EQ(weight.grad()[5][0].item<double>(), 2);
  EXPECT_EQ(weight.grad()[2][0].item<double>(), 1);
  EXPECT_EQ(weight.grad().sum().item<double>(), 3 * kHeadDim);
  EXPECT_THROW(AdditiveRows(learned, {weight}, PositionList::Range(60, 5), torch::kFloat), Error);
}

}  // namespace
}  // namespace sextant::nn
