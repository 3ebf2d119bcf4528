// Holds the ATen path to the double-precision reference, forward and backward, for every scheme.
#include "torch/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant::nn {
namespace {

using torch::Tensor;
constexpr Index kHeads = 4, kHeadDim = 8;
const ModelShape kShape = {
    {"model_dim", kHeadDim}, {"heads", kHeads}, {"head_dim", kHeadDim}, {"context", 64}};

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

// Additive rows never reach attention in a model; here they are left out of both sides.
struct Case {
  SchemePtr scheme;
  std::vector<std::vector<double>> weights;
};

Case MakeCase(const std::string& spec) {
  Case made{MakeScheme(spec, kShape), {}};
  Random random(7);
  made.weights = made.scheme->InitialWeights(random);
  for (std::vector<double>& values : made.weights) {
    // Large enough to matter, small enough for float32; zeros get values of their own.
    double largest = 0;
    for (double value : values) largest = std::max(largest, std::abs(value));
    for (double& value : values)
      value = largest > 0 ? value * std::max(0.4 / largest, 1.0) : 0.3 * random.Normal();
  }
  return made;
}

void Compare(const std::string& spec, std::span<const std::int64_t> positions) {
  SCOPED_TRACE(spec);
  const Case made = MakeCase(spec);
  const Index n = static_cast<Index>(positions.size());
  const auto q = Draw({kHeads, n, kHeadDim}, 1), k = Draw({kHeads, n, kHeadDim}, 2),
             v = Draw({kHeads, n, kHeadDim}, 3), d_out = Draw({kHeads, n, kHeadDim}, 4);
  const PositionList at(positions);
  AttentionInput input{q, k, v, at, at, {}, 0};
  input.mask.causal = true;
  const AttentionOutput expected = ReferenceAttention(*made.scheme, made.weights, input);
  const AttentionGradients gradients =
      ReferenceAttentionBackward(*made.scheme, made.weights, input, d_out);

  WeightTensors weights;
  const std::vector<WeightInfo> infos = made.scheme->weights();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    weights.push_back(torch::tensor(at::ArrayRef<double>(made.weights[i]), torch::kDouble)
                          .view(infos[i].shape)
                          .to(torch::kFloat)
                          .requires_grad_());
  }
  const Tensor tq = ToTensor(q), tk = ToTensor(k), tv = ToTensor(v);
  const CausalTables prepared = PrepareCausal(made.scheme, weights, at, at, torch::kFloat);
  const Tensor out = CausalAttention(tq, tk, tv, prepared);
  EXPECT_LE(LargestDifference(out, expected.out.values()), 2e-5);
  (out * ToTensor(d_out).detach()).sum().backward();
  EXPECT_LE(LargestDifference(tq.grad(), gradients.query.values()), 5e-5);
  EXPECT_LE(LargestDifference(tk.grad(), gradients.key.values()), 5e-5);
  EXPECT_LE(LargestDifference(tv.grad(), gradients.value.values()), 5e-5);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    SCOPED_TRACE(infos[i].name);
    EXPECT_LE(LargestDifference(weights[i].grad(), gradients.weights[i]), 2e-4);
  }
}

std::vector<std::string> SpecsInsideAttention() {
  std::vector<std::string> specs = {"rope:pairing=adjacent,rotated_dims=4",
                                    "rope+alibi",
                                    "shaw+t5",
                                    "shaw:terms=keys,clip=2",
                                    "t5:direction=bidirectional",
                                    "rope+shaw:clip=3"};
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const SchemePtr scheme = MakeScheme(std::string(entry.info.name), kShape);
    if (!scheme->offers(Hook::kAdditive)) specs.emplace_back(entry.info.name);
  }
  return specs;
}

TEST(CausalAttentionTest, AgreesWithTheReferenceOnConsecutivePositions) {
  std::vector<std::int64_t> positions(19);
  std::iota(positions.begin(), positions.end(), 0);
  const std::vector<std::string> specs = SpecsInsideAttention();
  ASSERT_GT(specs.size(), 10u);
  for (const std::string& spec : specs) Compare(spec, positions);
}

TEST(CausalAttentionTest, AgreesWithTheReferenceOnScatteredPositions) {
  const std::vector<std::int64_t> positions = {5, 0, 17, 17, 3, 40, 41, 9};
  for (const std::string& spec : SpecsInsideAttention()) Compare(spec, positions);
}

TEST(CausalAttentionTest, AgreesWithTheReferenceWhereItIsFused) {
  std::vector<std::int64_t> positions(260);
  std::iota(positions.begin(), positions.end(), 3);
  for (const char* spec : {"alibi", "t5", "kerple", "rope+alibi", "learned-bias"}) {
    const SchemePtr scheme = MakeScheme(spec, kShape);
    const PositionList at(positions);
    std::vector<torch::Tensor> weights;
    Random random(1);
    for (const std::vector<double>& values : scheme->InitialWeights(random)) {
      weights.push_back(torch::tensor(at::ArrayRef<double>(values), torch::kFloat)
                            .view(scheme->weights()[weights.size()].shape));
    }
    EXPECT_TRUE(PrepareCausal(scheme, weights, at, at, torch::kFloat).fused);
    Compare(spec, positions);
  }
}

TEST(CausalAttentionTest, SaysWhichHeadCountsDiffer) {
  const SchemePtr alibi = MakeScheme("alibi:heads=3");
  const PositionList at = PositionList::Range(0, 4);
  const CausalTables prepared = PrepareCausal(alibi, {}, at, at, torch::kFloat);
  const Tensor x = torch::zeros({1, kHeads, 4, kHeadDim});
  try {
    CausalAttention(x, x, x, prepared);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "attention: alibi has a bias for 3 heads, the queries have 4");
  }
}

TEST(AdditiveRowsTest, FillsAndMapsGradientsBackThroughTheContract) {
  const SchemePtr learned = MakeScheme("learned:offset=2", kShape);
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
