// Attention with a scheme's tables from ATen operations, on any device: what the kernels do not
// serve, and their check.
#pragma once

#include <torch/torch.h>

#include "torch/scheme_tables.h"

namespace sextant::nn {

// The tables spread over queries and keys, causal by position.
struct SpreadTables {
  torch::Tensor hidden;  // bool [queries, keys], keys after the query
  torch::Tensor mask;  // [1, 1 or heads, queries, keys], biases, -inf where hidden; undefined where
                       // the causal mask of scaled_dot_product_attention does
  torch::Tensor rows;  // int64 [queries, keys], the row of distance vectors; undefined without
};

// Where positions run on by one, a bias by distance is spread as slices of its vector, else it is
// gathered. `options` are those of the mask.
SpreadTables Spread(const AttentionTables& tables, const torch::TensorOptions& options);

// out [batch, heads, queries, head_dim] of query alike and key, value [batch, kv_heads, keys,
// head_dim], channel pairs turned already; heads is a multiple of kv_heads. Biases go to
// scaled_dot_product_attention as its mask; distance vectors and contextual biases are composed of
// matrix products. Every query must have a key at or before its position.
torch::Tensor AtenAttention(const torch::Tensor& query, const torch::Tensor& key,
                            const torch::Tensor& value, const AttentionTables& tables,
                            const SpreadTables& spread, double scale);

}  // namespace sextant::nn
