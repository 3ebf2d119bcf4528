// The attention kernels under autograd, on CPU tensors.
#pragma once

#include <torch/torch.h>

#include "torch/scheme_tables.h"

namespace sextant::nn {

// Causal attention by sextant/kernels/attention.h on ATen's threads: no [queries, keys] tensor
// forth or back, but for a tile bias and its gradient.
//   query [batch, queries, heads, head_dim]; key, value [batch, keys, kv_heads, head_dim] -> as
//   query
// Tensors are float32, bfloat16 or float16 on the CPU, tables float32 and for their positions;
// `rotary` (its tables without gradients; nothing where undefined) turns queries and keys on their
// way. Gradients reach the tensors and every other table, summed in an order fixed by shape:
// results have the same bits for any number of threads. Throws sextant::Error where the backward
// pass is to be differentiated again, and where the kernels refuse.
torch::Tensor FusedCausalAttention(const torch::Tensor& query, const torch::Tensor& key,
                                   const torch::Tensor& value, const AttentionTables& tables,
                                   const RotaryTensors& rotary, double scale);

// The same of qkv [batch, n, 3, heads, head_dim] -> [batch, n, heads, head_dim], turned by the
// tables' own rotary.
torch::Tensor FusedCausalSelfAttention(const torch::Tensor& qkv, const AttentionTables& tables,
                                       double scale);

}  // namespace sextant::nn
