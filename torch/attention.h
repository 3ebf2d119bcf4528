// Attention with a scheme's tables: the kernels on the CPU, else ATen operations, which run on any
// device.
#pragma once

#include <torch/torch.h>

#include <optional>

#include "torch/aten_attention.h"
#include "torch/scheme_tables.h"

namespace sextant::nn {

// What computes attention.
enum class AttentionPath {
  kFastest,  // sextant/kernels where they serve, else ATen operations
  kAten,     // ATen operations alone: what the kernels are checked against
};

// What causal attention needs for given positions. One can serve every layer that shares the
// scheme's weights. Connected to the weights by autograd.
struct CausalTables {
  AttentionTables tables;
  torch::TensorOptions options;  // of the tables
  AttentionPath path = AttentionPath::kFastest;
  std::optional<SpreadTables>
      spread;  // nothing where the kernels serve, which take tables as they are
};

// The kernels serve float32, bfloat16 and float16 on the CPU and every scheme without a contextual
// bias; then nothing of the size queries x keys is made, but for a tile bias. Tables for 16-bit
// `options` are float32. Positions may be any. Throws sextant::Error where the scheme has no table
// for a position.
CausalTables PrepareCausal(const SchemePtr& scheme, const WeightTensors& weights,
                           const Positions& queries, const Positions& keys,
                           const torch::TensorOptions& options,
                           AttentionPath path = AttentionPath::kFastest);

// out [batch, heads, queries, head_dim] by the definition of sextant/attention/reference.h, causal
// by position. query as out; key, value [batch, kv_heads, keys, head_dim], of which query head h
// reads head h / (heads / kv_heads). Differentiable in everything, once where the kernels serve.
// The two paths agree to 1e-5 of the largest number in float32; 16-bit results are the float32 ones
// rounded. Every query must have a key at or before its position. Throws sextant::Error where
// shapes do not fit the tables or each other.
torch::Tensor CausalAttention(const torch::Tensor& query, const torch::Tensor& key,
                              const torch::Tensor& value, const CausalTables& prepared);

// The same of queries, keys and values in one tensor, as one product of a model gives them: qkv
// [batch, n, 3, heads, head_dim] -> out [batch, n, heads, head_dim]. The kernels read it in place
// and write its gradient as one.
torch::Tensor CausalSelfAttention(const torch::Tensor& qkv, const CausalTables& prepared);

}  // namespace sextant::nn
