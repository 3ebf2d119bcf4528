// A scheme's tables as tensors: filled through the contract, gradients mapped back through it.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant::nn {

// Tensors of a scheme's weights, in the order it declares them; any device, any floating type.
using WeightTensors = std::vector<torch::Tensor>;

// The tables one attention layer consumes for given positions; undefined where a hook is not
// offered. All are of `options` and connected to the weights by autograd.
struct RotaryTensors {
  RotaryShape shape;
  torch::Tensor query_cos, query_sin;  // [queries, rotated_dims / 2]
  torch::Tensor key_cos, key_sin;      // [keys, rotated_dims / 2]
};
struct VectorTensors {
  torch::Tensor row;                          // int32 [distances], the row of each distance
  torch::Tensor key, query, value;            // [1 or heads, rows, head_dim]
  torch::Tensor content_bias, position_bias;  // [heads, head_dim]
};
struct AttentionTables {
  SchemePtr scheme;
  WeightTensors weights;  // what the tables were filled from
  Distances distances;    // those `bias` and `vectors` cover; others are masked
  RotaryTensors rotary;
  torch::Tensor bias;  // [heads, distances]
  torch::Tensor tile;  // [heads, queries, keys]
  VectorTensors vectors;
  torch::Tensor query_scale;  // [queries]
  std::shared_ptr<const PositionList> queries, keys;
};

// Rows [n, model_dim] to add to embeddings. Throws sextant::Error past a table's end.
torch::Tensor AdditiveRows(const SchemePtr& scheme, const WeightTensors& weights,
                           const Positions& positions, const torch::TensorOptions& options);

// Which distances the tables cover. Causal: none after the query.
enum class Reach { kCausal, kBothSides };

AttentionTables FillAttentionTables(const SchemePtr& scheme, const WeightTensors& weights,
                                    const Positions& queries, const Positions& keys, Reach reach,
                                    const torch::TensorOptions& options);

// The contextual bias [batch, heads, queries, keys] of a scheme that offers it.
//   query, key [batch, heads, queries or keys, head_dim], scores as the result, visible uint8
//   [queries, keys]
torch::Tensor ContextualBias(const AttentionTables& tables, const torch::Tensor& query,
                             const torch::Tensor& key, const torch::Tensor& scores,
                             const torch::Tensor& visible);

}  // namespace sextant::nn
