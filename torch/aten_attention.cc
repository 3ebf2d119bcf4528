// Masks, matrix products and softmax.
#include "torch/aten_attention.h"

#include <limits>

namespace sextant::nn {
namespace {

using torch::Tensor;

bool RunsOn(const Positions& positions) {
  for (Index n = 1; n < positions.count(); ++n) {
    if (positions.values(0, n) != positions.values(0, n - 1) + 1) return false;
  }
  return true;
}

bool SameRun(const Positions& queries, const Positions& keys) {
  return RunsOn(queries) && RunsOn(keys) && queries.count() > 0 &&
         queries.count() == keys.count() && queries.values(0, 0) == keys.values(0, 0);
}

Tensor PositionTensor(const Positions& positions, torch::Device device) {
  const auto at = positions.values[0].span();
  return torch::tensor(at::ArrayRef<std::int64_t>(at.data(), at.size()), torch::kLong).to(device);
}

// bias [heads, distances] spread to [heads, queries, keys]. `slices`: queries and keys are the same
// run of positions, so row i is the slice that starts queries - 1 - i in; it is padded past
// distance 0 where all cells are hidden. `distance` is key - query from the first distance of the
// table.
Tensor SpreadBias(const Tensor& bias, const Tensor& distance, bool slices) {
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

// Scores, softmax and outputs from matrix products: the path for vectors and contextual biases.
Tensor Composed(const Tensor& query, const Tensor& key, const Tensor& value, double scale,
                const AttentionTables& tables, const SpreadTables& spread) {
  const VectorTensors& vectors = tables.vectors;
  const Tensor& rows = spread.rows;
  Tensor scores = torch::matmul(query, key.transpose(-1, -2));
  if (rows.defined()) scores = scores + VectorScores(query, key, vectors, rows);
  scores = scores * scale;
  if (tables.query_scale.defined()) scores = scores * tables.query_scale.view({1, 1, -1, 1});
  scores = scores + spread.mask;
  if (tables.scheme->offers(Hook::kContextual)) {
    scores = scores + ContextualBias(tables, query, key, scores, spread.hidden.logical_not());
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

SpreadTables Spread(const AttentionTables& tables, const torch::TensorOptions& options) {
  const Positions queries = *tables.queries, keys = *tables.keys;
  const Tensor offset = PositionTensor(keys, options.device()).unsqueeze(0) -
                        PositionTensor(queries, options.device()).unsqueeze(1);
  const Distances covered = tables.distances;
  const Tensor distance =
      (offset - covered.first).clamp(0, std::max<std::int64_t>(covered.count - 1, 0));
  const bool same_run = SameRun(queries, keys);
  SpreadTables spread;
  spread.hidden = offset > 0;
  if (tables.vectors.row.defined()) {
    spread.rows = tables.vectors.row.index_select(0, distance.flatten())
                      .view(distance.sizes())
                      .to(torch::kLong);
  }
  const bool biased = tables.bias.defined() || tables.tile.defined();
  const bool composed = spread.rows.defined() || tables.scheme->offers(Hook::kContextual);
  if (!biased && !composed && same_run) return spread;
  Tensor mask = torch::zeros(offset.sizes(), options);
  if (tables.bias.defined()) mask = mask + SpreadBias(tables.bias, distance, same_run);
  if (tables.tile.defined()) mask = mask + tables.tile;
  mask = mask.masked_fill(spread.hidden, -std::numeric_limits<double>::infinity());
  spread.mask = mask.dim() == 3 ? mask.unsqueeze(0) : mask.unsqueeze(0).unsqueeze(0);
  return spread;
}

Tensor AtenAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttentionTables& tables, const SpreadTables& spread, double scale) {
  const std::int64_t group = query.size(1) / key.size(1);
  const auto of_query_heads = [&](const Tensor& x) {
    return group == 1 ? x : x.repeat_interleave(group, 1);
  };
  const Tensor k = of_query_heads(key), v = of_query_heads(value);
  const auto type = query.scalar_type();
  if (spread.rows.defined() || tables.scheme->offers(Hook::kContextual)) {
    // Tables of 16-bit tensors are float32.
    const auto wide = at::promote_types(type, spread.mask.scalar_type());
    return Composed(query.to(wide), k.to(wide), v.to(wide), scale, tables, spread).to(type);
  }
  Tensor q = query;
  if (tables.query_scale.defined()) q = (q * tables.query_scale.view({1, 1, -1, 1})).to(type);
  const bool masked = spread.mask.defined();
  return torch::scaled_dot_product_attention(
      q, k, v, masked ? std::optional<Tensor>(spread.mask.to(type)) : std::nullopt, 0.0,
      /*is_causal=*/!masked, scale);
}

}  // namespace sextant::nn
