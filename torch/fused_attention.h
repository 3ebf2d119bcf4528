// Fused attention on CPU tensors, under autograd.
#pragma once

#include <torch/torch.h>

namespace sextant::nn {

// Whether FusedCausalAttention takes them: float32 on the CPU, channels together.
bool FusedAttentionServes(const torch::Tensor& query, const torch::Tensor& key,
                          const torch::Tensor& value, const torch::Tensor& bias);

// Causal attention of queries and keys at the same run of positions by sextant/kernels, on ATen's
// threads: no [n, n] tensor forth or back.
//   query, key, value [batch, heads, n, head_dim] -> the same shape
//   bias [heads, n], of the distances 1 - n .. 0, natural; its gradient is summed in a fixed order
torch::Tensor FusedCausalAttention(const torch::Tensor& query, const torch::Tensor& key,
                                   const torch::Tensor& value, const torch::Tensor& bias,
                                   double scale);

}  // namespace sextant::nn
