// Fused attention with a bias by distance beside PyTorch's SDPA with the same bias as a mask, forth
// and with gradients, in interleaved rounds of one run.
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "bench/rounds.h"
#include "sextant/kernels/attention.h"
#include "torch/aten_executor.h"

namespace sextant::bench {
namespace {

using nn::AtenExecutor;
using torch::Tensor;
constexpr Index kHeads = 8, kWidth = 64;

struct Problem {
  explicit Problem(Index tokens)
      : n(tokens),
        q(torch::randn({n, kHeads, kWidth})),
        k(torch::randn({n, kHeads, kWidth})),
        v(torch::randn({n, kHeads, kWidth})),
        d_out(torch::randn({n, kHeads, kWidth})),
        out(torch::empty_like(q)),
        d_q(torch::empty_like(q)),
        d_k(torch::empty_like(q)),
        d_v(torch::empty_like(q)),
        lse(torch::empty({kHeads, n})),
        bias(torch::randn({kHeads, 2 * n - 1})),
        d_bias(torch::empty({kHeads, 2 * n - 1}, torch::kDouble)) {}

  HeadsOf<const float> In(const Tensor& x) const {
    return {x.data_ptr<float>(), n, kHeads, kWidth, kHeads * kWidth, kWidth};
  }
  HeadsOf<float> Out(const Tensor& x) const {
    return {x.data_ptr<float>(), n, kHeads, kWidth, kHeads * kWidth, kWidth};
  }
  FusedAttention Input(const float* with, KernelMask mask) const {
    FusedAttention in{In(q), In(k), In(v), 0.125f, mask};
    in.first_distance = 1 - n;
    in.distances = 2 * n - 1;
    if (with != nullptr) in.bias = {with, 2 * n - 1};
    return in;
  }
  void Forward(const float* with, KernelMask mask) {
    AttentionForward(Input(with, mask), Out(out), lse.data_ptr<float>(), executor);
  }
  void Backward(KernelMask mask) {
    AttentionBackward(Input(bias.data_ptr<float>(), mask),
                      {In(out), In(d_out), lse.data_ptr<float>(), Out(d_q), Out(d_k), Out(d_v),
                       d_bias.data_ptr<double>()},
                      executor);
  }
  Tensor Heads(const Tensor& x) const { return x.permute({1, 0, 2}).unsqueeze(0); }
  Tensor Mask(const Tensor& by_distance, KernelMask mask) const {
    Tensor spread = by_distance.unfold(1, n, 1).flip(1);
    if (mask.causal) {
      spread = spread.masked_fill(torch::ones({n, n}, torch::kBool).triu(1),
                                  -std::numeric_limits<float>::infinity());
    }
    return spread.unsqueeze(0);
  }

  Index n;
  Tensor q, k, v, d_out, out, d_q, d_k, d_v, lse, bias, d_bias;
  AtenExecutor executor;
};

void Bench(Index tokens, KernelMask mask, int rounds) {
  Problem p(tokens);
  const bool causal = mask.causal;
  const Tensor given = p.Mask(p.bias, mask).contiguous();
  const Tensor q = p.Heads(p.q), k = p.Heads(p.k), v = p.Heads(p.v), d_out = p.Heads(p.d_out);
  // Floating-point work of a forward pass, half of it where causal.
  const double flops = 4.0 * double(tokens * tokens * kHeads * kWidth) / (causal ? 2 : 1);
  std::vector<Measured> all = {
      {"torch SDPA, no bias", flops,
       [&] {
         torch::NoGradGuard no_grad;
         torch::scaled_dot_product_attention(q, k, v, {}, 0.0, causal);
       }},
      {"sextant, no bias", flops, [&] { p.Forward(nullptr, mask); }},
      {"torch SDPA, the bias given as a mask", flops,
       [&] {
         torch::NoGradGuard no_grad;
         torch::scaled_dot_product_attention(q, k, v, given, 0.0, false);
       }},
      {"sextant, bias by distance", flops, [&] { p.Forward(p.bias.data_ptr<float>(), mask); }},
      {"torch SDPA and gradients, table trainable", 3.5 * flops,
       [&] {
         std::vector<Tensor> leaves;
         for (const Tensor& x : {q, k, v, p.bias}) leaves.push_back(x.detach().requires_grad_());
         torch::scaled_dot_product_attention(leaves[0], leaves[1], leaves[2],
                                             p.Mask(leaves[3], mask), 0.0, false)
             .backward(d_out);
       }},
      {"sextant and gradients, table trainable", 3.5 * flops, [&] {
         p.Forward(p.bias.data_ptr<float>(), mask);
         p.Backward(mask);
       }}};
  RunRounds(rounds, all);
  fmt::print("attention{}, {} tokens, {} heads of {}, {} threads, medians of {}\n",
             causal ? ", causal" : "", tokens, kHeads, kWidth, at::get_num_threads(), rounds);
  for (const Measured& one : all) {
    fmt::print("  {:<44} {:>9.1f} ms {:>8.1f} GFLOP/s\n", one.name, one.median() * 1e3,
               one.work / one.median() * 1e-9);
  }
}

}  // namespace
}  // namespace sextant::bench

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  for (sextant::Index tokens : {512, 2048}) {
    for (auto mask : {sextant::KernelMask{}, sextant::KernelMask{.causal = true}}) {
      sextant::bench::Bench(tokens, mask, tokens > 1024 ? 5 : 9);
    }
  }
}
