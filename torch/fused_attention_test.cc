// The kernels under autograd against ATen operations: every scheme, batches, grouped heads, 16-bit
// tensors.
#include "torch/fused_attention.h"

#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "torch/attention.h"
#include "torch/example_attention.h"

namespace sextant::nn {
namespace {

using torch::Tensor;
constexpr std::int64_t kHeads = ExampleAttention::kHeads, kHeadDim = ExampleAttention::kHeadDim;

// Queries are the last of the keys' tokens.
struct Problem {
  std::int64_t batch, kv_heads, queries, keys;
};

// The output, then the gradients of query, key, value and every weight.
std::vector<Tensor> Results(const ExampleAttention& example, const Problem& problem,
                            AttentionPath path, at::ScalarType type) {
  torch::manual_seed(11);
  const auto leaf = [&](std::int64_t heads, std::int64_t tokens) {
    return torch::randn({problem.batch, heads, tokens, kHeadDim})
        .to(torch::kBFloat16)
        .to(type)
        .requires_grad_();
  };
  const Tensor q = leaf(kHeads, problem.queries), k = leaf(problem.kv_heads, problem.keys),
               v = leaf(problem.kv_heads, problem.keys);
  const Tensor d_out = leaf(kHeads, problem.queries).detach();
  const WeightTensors weights = example.WeightLeaves();
  const CausalTables prepared = PrepareCausal(
      example.scheme, weights, PositionList::Range(problem.keys - problem.queries, problem.queries),
      PositionList::Range(0, problem.keys), type, path);
  const Tensor out = CausalAttention(q, k, v, prepared);
  EXPECT_EQ(out.scalar_type(), type);
  out.backward(d_out);
  std::vector<Tensor> results{out.detach(), q.grad(), k.grad(), v.grad()};
  for (const Tensor& weight : weights) results.push_back(weight.grad());
  return results;
}

// Gradients of weights, which are sums over a batch, may be off by twice as much.
void ExpectClose(const std::vector<Tensor>& got, const std::vector<Tensor>& right, double most) {
  ASSERT_EQ(got.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double largest = right[i].abs().max().item<double>();
    const double off =
        (got[i].to(torch::kFloat) - right[i].to(torch::kFloat)).abs().max().item<double>();
    EXPECT_LE(off, (i < 4 ? most : 2 * most) * std::max(largest, 1.0))
        << "of " << largest << " in result " << i;
  }
}

TEST(FusedAttentionTest, AgreesWithAtenForEveryScheme) {
  for (const std::string& spec : SpecsInsideAttention()) {
    SCOPED_TRACE(spec);
    const ExampleAttention example(spec);
    if (example.scheme->offers(Hook::kContextual)) continue;
    for (const Problem& problem :
         {Problem{1, kHeads, 21, 21}, {3, kHeads, 21, 21}, {1, 2, 21, 21}, {3, 1, 5, 33}}) {
      SCOPED_TRACE(problem.batch);
      SCOPED_TRACE(problem.kv_heads);
      ExpectClose(Results(example, problem, AttentionPath::kFastest, torch::kFloat),
                  Results(example, problem, AttentionPath::kAten, torch::kFloat), 1e-5);
    }
  }
}

TEST(FusedAttentionTest, SixteenBitTensorsAgreeToTheirRounding) {
  for (const char* spec : {"none", "rope", "t5", "rope:pairing=adjacent_to_halves", "shaw",
                           "transformer-xl", "fire", "temperature"}) {
    SCOPED_TRACE(spec);
    const ExampleAttention example(spec);
    const Problem problem{3, 2, 40, 40};
    const auto right = Results(example, problem, AttentionPath::kAten, torch::kFloat);
    // Turned queries and keys, outputs and what is read back of them are rounded.
    ExpectClose(Results(example, problem, AttentionPath::kFastest, torch::kBFloat16), right,
                0x1p-6);
    ExpectClose(Results(example, problem, AttentionPath::kFastest, torch::kHalf), right, 0x1p-9);
    ExpectClose(Results(example, problem, AttentionPath::kAten, torch::kBFloat16), right, 0x1p-5);
  }
}

TEST(FusedAttentionTest, OneTensorOfQueriesKeysAndValuesIsTheSame) {
  for (const char* spec : {"none", "rope", "t5", "shaw", "cope"}) {
    SCOPED_TRACE(spec);
    const ExampleAttention example(spec);
    const WeightTensors weights = example.WeightLeaves();
    const std::int64_t n = 30;
    const PositionList at = PositionList::Range(0, n);
    const CausalTables prepared = PrepareCausal(example.scheme, weights, at, at, torch::kFloat);
    const Tensor qkv = torch::randn({2, n, 3, kHeads, kHeadDim}).requires_grad_();
    const Tensor apart = qkv.detach().clone().requires_grad_();
    const Tensor d_out = torch::randn({2, n, kHeads, kHeadDim});
    const Tensor one = CausalSelfAttention(qkv, prepared);
    const std::vector<Tensor> parts = apart.transpose(1, 3).unbind(2);
    const Tensor three = CausalAttention(parts[0], parts[1], parts[2], prepared).transpose(1, 2);
    EXPECT_TRUE(torch::equal(one, three));
    one.backward(d_out, /*retain_graph=*/true);
    three.backward(d_out);
    EXPECT_TRUE(torch::equal(qkv.grad(), apart.grad()));
  }
}

TEST(FusedAttentionTest, AnyStridesAreServed) {
  const ExampleAttention example("rope");
  const PositionList at = PositionList::Range(0, 6);
  const CausalTables prepared = PrepareCausal(example.scheme, {}, at, at, torch::kFloat);
  const Tensor x = torch::randn({2, kHeads, 6, kHeadDim});
  const Tensor right = CausalAttention(x, x, x, prepared);
  // Channels apart; one key head for all.
  const Tensor strided = x.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_TRUE(torch::equal(CausalAttention(strided, strided, strided, prepared), right));
  const Tensor one = x.narrow(1, 0, 1), expanded = one.expand({2, kHeads, 6, kHeadDim});
  EXPECT_TRUE(torch::equal(CausalAttention(x, one, one, prepared),
                           CausalAttention(x, expanded, expanded, prepared)));
  // The gradient of a sum has no strides at all.
  const Tensor leaf = x.clone().requires_grad_();
  CausalAttention(leaf, leaf, leaf, prepared).sum().backward();
  EXPECT_GT(leaf.grad().abs().max().item<double>(), 0);
}

TEST(FusedAttentionTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const char* spec : {"t5", "fire", "rope+shaw"}) {
    SCOPED_TRACE(spec);
    const ExampleAttention example(spec);
    std::vector<std::vector<Tensor>> results;
    for (int count : {1, 2, 4}) {
      at::set_num_threads(count);
      results.push_back(
          Results(example, {5, kHeads, 60, 60}, AttentionPath::kFastest, torch::kFloat));
    }
    at::set_num_threads(threads);
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_TRUE(torch::equal(results[0][i], results[1][i])) << i;
      EXPECT_TRUE(torch::equal(results[0][i], results[2][i])) << i;
    }
  }
}

TEST(FusedAttentionTest, RefusesSecondDerivatives) {
  const ExampleAttention example("none");
  const PositionList at = PositionList::Range(0, 3);
  const CausalTables prepared = PrepareCausal(example.scheme, {}, at, at, torch::kFloat);
  const Tensor x = torch::randn({1, kHeads, 3, kHeadDim}).requires_grad_();
  const Tensor sum = CausalAttention(x, x, x, prepared).sum();
  EXPECT_THROW(torch::autograd::grad({sum}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true),
               Error);
}

}  // namespace
}  // namespace sextant::nn
