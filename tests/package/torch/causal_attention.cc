// Causal attention with ALiBi under autograd from an installed package, beside the formula in
// double.
#include <torch/torch.h>

#include <cmath>

#include "figures.h"
#include "sextant/schemes/spec.h"
#include "sextant/torch/aten_executor.h"
#include "sextant/torch/attention.h"
#include "sextant/torch/fused_attention.h"
#include "sextant/torch/rotate.h"

namespace {

using torch::Tensor;

constexpr std::int64_t kHeads = 4, kTokens = 300, kHeadDim = 32;

// softmax(q k' / sqrt(head_dim) - slope |j - i|) v with the slopes 1/4, 1/16, 1/64, 1/256.
Tensor ByDefinition(const Tensor& query, const Tensor& key, const Tensor& value) {
  const Tensor at = torch::arange(kTokens, torch::kDouble);
  const Tensor distance = at.unsqueeze(1) - at.unsqueeze(0);
  const Tensor slopes = torch::pow(4.0, -torch::arange(1, kHeads + 1, torch::kDouble));
  const Tensor bias = -slopes.view({kHeads, 1, 1}) * distance;
  const Tensor scores = query.matmul(key.transpose(-2, -1)) / std::sqrt(double(kHeadDim)) + bias;
  return scores.masked_fill(distance < 0, -INFINITY).softmax(-1).matmul(value);
}

double Difference(const Tensor& a, const Tensor& b) {
  return (a.to(torch::kDouble) - b).abs().max().item<double>() / b.abs().max().item<double>();
}

}  // namespace

int main() {
  torch::manual_seed(1);
  const Tensor qkv = torch::randn({3, 1, kHeads, kTokens, kHeadDim}).requires_grad_();
  const Tensor exact = qkv.detach().to(torch::kDouble).requires_grad_();
  const Tensor d_out = torch::randn({1, kHeads, kTokens, kHeadDim});

  const sextant::SchemePtr alibi = sextant::MakeScheme("alibi", {{"heads", kHeads}});
  const sextant::PositionList positions = sextant::PositionList::Range(0, kTokens);
  const auto tables =
      sextant::nn::PrepareCausal(alibi, {}, positions, positions, torch::TensorOptions());
  const Tensor out = sextant::nn::CausalAttention(qkv[0], qkv[1], qkv[2], tables);
  out.backward(d_out);
  const Tensor right = ByDefinition(exact[0], exact[1], exact[2]);
  right.backward(d_out.to(torch::kDouble));

  Figures figures;
  figures.Add("attention with ALiBi", Difference(out, right), 1e-5);
  figures.Add("gradients of queries, keys and values", Difference(qkv.grad(), exact.grad()), 1e-5);
  return figures.exit_code();
}
