// The fused kernel under autograd against scaled_dot_product_attention with a mask.
#include "torch/fused_attention.h"

#include <gtest/gtest.h>

#include <limits>

namespace sextant::nn {
namespace {

using torch::Tensor;

Tensor Masked(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, double scale) {
  const std::int64_t n = q.size(2);
  const Tensor padded = torch::constant_pad_nd(bias, {0, n - 1});
  const Tensor hidden = torch::ones({n, n}, torch::kBool).triu(1);
  const Tensor mask =
      padded.unfold(1, n, 1).flip(1).masked_fill(hidden, -std::numeric_limits<float>::infinity());
  return torch::scaled_dot_product_attention(q, k, v, mask.unsqueeze(0), 0.0, false, scale);
}

TEST(FusedFunctionTest, AgreesWithAMaskForthAndBack) {
  torch::manual_seed(4);
  for (const auto& [batch, heads, n, width] :
       {std::tuple(2, 4, 128, 24), {1, 1, 1, 8}, {3, 2, 65, 64}, {1, 2, 300, 16}}) {
    SCOPED_TRACE(testing::Message() << batch << " x " << heads << " x " << n << " x " << width);
    // As a model cuts them out of one product.
    const Tensor qkv = torch::randn({batch, n, 3, heads, width}).permute({2, 0, 3, 1, 4});
    const Tensor table = torch::randn({heads, n}), d_out = torch::randn({batch, heads, n, width});
    std::vector<std::vector<Tensor>> results;
    for (const auto attend : {FusedCausalAttention, Masked}) {
      std::vector<Tensor> leaves;
      for (const Tensor& leaf : {qkv[0], qkv[1], qkv[2], table}) {
        leaves.push_back(leaf.detach().clone().requires_grad_());
      }
      const Tensor out = attend(leaves[0], leaves[1], leaves[2], leaves[3], 0.2);
      (out * d_out).sum().backward();
      results.push_back({out.detach()});
      for (const Tensor& leaf : leaves) results.back().push_back(leaf.grad());
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      const double scale = results[1][i].abs().max().item<double>() + 1e-3;
      EXPECT_LE((results[0][i] - results[1][i]).abs().max().item<double>(), 1e-5 * scale) << i;
    }
  }
}

TEST(FusedFunctionTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const Tensor q = torch::randn({4, 2, 70, 16}), bias = torch::randn({2, 70});
  const int threads = at::get_num_threads();
  std::vector<Tensor> gradients;
  for (int count : {1, 2, 4}) {
    at::set_num_threads(count);
    const Tensor leaf = bias.clone().requires_grad_();
    FusedCausalAttention(q, q, q, leaf, 0.25).pow(2).sum().backward();
    gradients.push_back(leaf.grad());
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(gradients[0], gradients[1]));
  EXPECT_TRUE(torch::equal(gradients[0], gradients[2]));
}

TEST(FusedFunctionTest, ServesWhatTheKernelTakes) {
  const Tensor q = torch::randn({1, 2, 5, 8}), bias = torch::randn({2, 5});
  EXPECT_TRUE(FusedAttentionServes(q, q, q, bias));
  EXPECT_FALSE(FusedAttentionServes(q.to(torch::kDouble), q, q, bias));
  EXPECT_FALSE(FusedAttentionServes(q, q.slice(2, 0, 4), q, bias));
}

}  // namespace
}  // namespace sextant::nn
