// Attention with a scheme's tables: fused on the CPU where a bias by distance is all there is, else
// from ATen operations, which run on any device.
#pragma once

#include <torch/torch.h>

#include "torch/scheme_tables.h"

namespace sextant::nn {

// What causal attention needs for given positions: the scheme's tables spread over queries and
// keys. One can serve every layer that shares the scheme's weights. Connected to the weights by
// autograd.
struct CausalTables {
  AttentionTables tables;
  torch::Tensor hidden;  // bool [queries, keys], keys after the query
  torch::Tensor mask;  // [1, 1 or heads, queries, keys], biases, -inf where hidden; undefined where
                       // queries and keys are the same run of positions and there is no bias
  bool fused = false;  // a bias by distance alone, which the fused kernel takes without a mask
  torch::Tensor rows;  // int64 [queries, keys], the row of distance vectors; undefined without them
};

// Positions may be any; where they run on by one, a bias by distance is spread as slices of its
// vector, else it is gathered. Every query must have a key at or before its position. Throws
// sextant::Error where the scheme has no table for a position.
CausalTables PrepareCausal(const SchemePtr& scheme, const WeightTensors& weights,
                           const Positions& queries, const Positions& keys,
                           const torch::TensorOptions& options);

// out [batch, heads, queries, head_dim] by the definition of sextant/attention/reference.h, causal
// by position. query as out; key, value [batch, heads, keys, head_dim]. A bias by distance of one
// run of positions goes to the fused kernel (fused_attention.h); other biases to
// scaled_dot_product_attention as its mask; distance vectors and contextual biases are composed of
// matrix products. Differentiable in everything. Throws sextant::Error where heads or widths
// differ.
torch::Tensor CausalAttention(const torch::Tensor& query, const torch::Tensor& key,
                              const torch::Tensor& value, const CausalTables& prepared);

}  // namespace sextant::nn
