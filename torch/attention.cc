// The composed path of attention with positions.
#include "torch/attention.h"

#include <cmath>
#include <limits>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "torch/fused_attention.h"
#include "torch/rotate.h"

namespace sextant::nn {
namespace {

using torch::Tensor;

// Shorter sequences are done sooner with a mask (128 tokens, heads of 24 channels); longer ones are
// not, and would hold a matrix of scores.
constexpr Index kFusedFrom = 256;

bool RunsOn(const Positions& positions) {
  for (Index n = 1; n < positions.count(); ++n) {
    if (positions.values(0, n) != positions.values(0, n - 1) + 1) return false;
  }
  return true;
}

Tensor PositionTensor(const Positions& positions, torch::Device device) {
  const auto at = positions.values[0].span();
  return torch::tensor(at::ArrayRef<std::int64_t>(at.data(), at.size()), torch::kLong).to(device);
}

// bias [heads, distances] spread to [heads, queries, keys]. `slices`: queries and keys are the same
// run of positions, so row i is the slice that starts queries - 1 - i in; it is padded past
// distance 0 where all cells are hidden. `distance` is key - query from the first distance of the
// table.
Tensor Spread(const Tensor& bias, const Tensor& distance, bool slices) {
  const std::int64_t queries = distance.size(0), keys = distance.size(1);
  if (slices) {
    const Tensor padded = torch::constant_pad_nd(bias, {0, queries + keys - 1 - bias.size(1)});
    return padded.unfold(1, keys, 1).flip(1);
  }
  return bias.index_select(1, distance.flatten()).view({bias.size(0), queries, keys});
}

// The score terms of distance vectors, [batch, heads, queries, keys], unscaled.
Tensor VectorScores(const Tensor& query, const Tensor& key, const VectorTensors& vectors,
                    const Tensor& rows) {
  const std::int64_t batch = query.size(0), heads = query.size(1);
  const auto index = rows.view({1, 1, rows.size(0), rows.size(1)})
                         .expand({batch, heads, rows.size(0), rows.size(1)});
  Tensor scores;
  const auto add = [&](const Tensor& term) { scores = scores.defined() ? scores + term : term; };
  if (vectors.content_bias.defined()) {
    add(torch::matmul(vectors.content_bias.unsqueeze(0).unsqueeze(2), key.transpose(-1, -2)));
  }
  if (vectors.key.defined()) {
    const Tensor q = vectors.position_bias.defined()
                         ? query + vectors.position_bias.unsqueeze(0).unsqueeze(2)
                         : query;
    add(torch::matmul(q, vectors.key.transpose(-1, -2)).gather(-1, index));
  }
  if (vectors.query.defined()) {
    const Tensor by_key =
        torch::matmul(key, vectors.query.transpose(-1, -2));  // [b, h, keys, rows]
    add(by_key.gather(-1, index.transpose(-1, -2)).transpose(-1, -2));
  }
  return scores;
}

void CheckHeads(const AttentionTables& tables, const Tensor& query) {
  const std::int64_t heads = query.size(1);
  for (const Tensor& bias : {tables.bias, tables.tile}) {
    if (bias.defined() && bias.size(0) != heads) {
      throw Error("attention", tables.scheme->name() + " has a bias for " +
                                   std::to_string(bias.size(0)) + " heads, the queries have " +
                                   std::to_string(heads));
    }
  }
  if (tables.rotary.query_cos.defined()) CheckRotaryFits(*tables.scheme, query.size(3));
}

// Scores, softmax and outputs from matrix products: the path for vectors and contextual biases.
Tensor Composed(const Tensor& query, const Tensor& key, const Tensor& value, double scale,
                const CausalTables& prepared) {
  const AttentionTables& tables = prepared.tables;
  const VectorTensors& vectors = tables.vectors;
  const Tensor& rows = prepared.rows;
  Tensor scores = torch::matmul(query, key.transpose(-1, -2));
  if (rows.defined()) scores = scores + VectorScores(query, key, vectors, rows);
  scores = scores * scale;
  if (tables.query_scale.defined()) scores = scores * tables.query_scale.view({1, 1, -1, 1});
  scores = scores + prepared.mask;
  if (tables.scheme->offers(Hook::kContextual)) {
    scores = scores + ContextualBias(tables, query, key, scores, prepared.hidden.logical_not());
  }
  const Tensor weights = torch::softmax(scores, -1);
  Tensor out = torch::matmul(weights, value);
  if (vectors.value.defined()) {
    const auto index = rows.view({1, 1, rows.size(0), rows.size(1)}).expand(weights.sizes());
    const Tensor by_row =
        torch::zeros({weights.size(0), weights.size(1), weights.size(2), vectors.value.size(1)},
                     weights.options())
            .scatter_add(-1, index, weights);
    out = out + torch::matmul(by_row, vectors.value);
  }
  return out;
}

}  // namespace

CausalTables PrepareCausal(const SchemePtr& scheme, const WeightTensors& weights,
                           const Positions& queries, const Positions& keys,
                           const torch::TensorOptions& options) {
  CausalTables prepared;
  prepared.tables = FillAttentionTables(scheme, weights, queries, keys, Reach::kCausal, options);
  const AttentionTables& tables = prepared.tables;
  const Tensor offset = PositionTensor(keys, options.device()).unsqueeze(0) -
                        PositionTensor(queries, options.device()).unsqueeze(1);
  const Distances covered = tables.distances;
  const Tensor distance =
      (offset - covered.first).clamp(0, std::max<std::int64_t>(covered.count - 1, 0));
  const bool same_run = RunsOn(queries) && RunsOn(keys) && queries.count() > 0 &&
                        queries.count() == keys.count() &&
                        queries.values(0, 0) == keys.values(0, 0);
  prepared.hidden = offset > 0;
  if (tables.vectors.row.defined()) {
    prepared.rows = tables.vectors.row.index_select(0, distance.flatten()).view(distance.sizes());
  }
  const bool biased = tables.bias.defined() || tables.tile.defined();
  const bool composed = prepared.rows.defined() || scheme->offers(Hook::kContextual);
  if (!biased && !composed && same_run) return prepared;
  prepared.fused = same_run && queries.count() >= kFusedFrom && tables.bias.defined() &&
                   !tables.tile.defined() && !composed && options.device().is_cpu() &&
                   tables.bias.scalar_type() == torch::kFloat;
  if (prepared.fused) return prepared;
  Tensor mask = torch::zeros(offset.sizes(), options);
  if (tables.bias.defined()) mask = mask + Spread(tables.bias, distance, same_run);
  if (tables.tile.defined()) mask = mask + tables.tile;
  mask = mask.masked_fill(prepared.hidden, -std::numeric_limits<double>::infinity());
  prepared.mask = mask.dim() == 3 ? mask.unsqueeze(0) : mask.unsqueeze(0).unsqueeze(0);
  return prepared;
}

Tensor CausalAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const CausalTables& prepared) {
  const AttentionTables& tables = prepared.tables;
  CheckHeads(tables, query);
  const double scale = tables.scheme->softmax_multiplier() / std::sqrt(double(query.size(3)));
  Tensor q = query, k = key;
  if (tables.rotary.query_cos.defined()) {
    const RotaryTensors& rotary = tables.rotary;
    q = Rotate(q, rotary.query_cos, rotary.query_sin, rotary.shape);
    k = Rotate(k, rotary.key_cos, rotary.key_sin, rotary.shape);
  }
  if (prepared.rows.defined() || tables.scheme->offers(Hook::kContextual)) {
    return Composed(q, k, value, scale, prepared);
  }
  if (tables.query_scale.defined()) q = q * tables.query_scale.view({1, 1, -1, 1});
  if (prepared.fused) {
    if (FusedAttentionServes(q, k, value, tables.bias)) {
      return FusedCausalAttention(q, k, value, tables.bias, scale);
    }
    const Tensor mask = Spread(tables.bias, prepared.hidden, /*slices=*/true)
                            .masked_fill(prepared.hidden, -std::numeric_limits<double>::infinity());
    return torch::scaled_dot_product_attention(q, k, value, mask.unsqueeze(0).to(q.scalar_type()),
                                               0.0, /*is_causal=*/false, scale);
  }
  if (!prepared.mask.defined()) {
    return torch::scaled_dot_product_attention(q, k, value, {}, 0.0, /*is_causal=*/true, scale);
  }
  return torch::scaled_dot_product_attention(q, k, value, prepared.mask, 0.0, /*is_causal=*/false,
                                             scale);
}

}  // namespace sextant::nn
