// Attention with a scheme's positions in one call, forth and back, on the kernels.
#pragma once

#include <cstddef>

#include "sextant/attention/mask.h"
#include "sextant/attention/table_cache.h"
#include "sextant/kernels/attention.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

// Heads [tokens, heads, head_dim] that lie one after another.
template <class T>
HeadsOf<T> DenseHeads(T* data, Index tokens, Index heads, Index head_dim) {
  return {data, tokens, heads, head_dim, heads * head_dim, head_dim};
}

// One sequence: queries, keys and values without positions, and where they stand. Query head h
// reads key and value head h / (heads / kv_heads). What views refer to must outlive the call.
struct PositionedHeads {
  HeadsIn query;              // [queries, heads, head_dim]
  HeadsIn key, value;         // [keys, kv_heads, head_dim]
  Positions query_positions;  // [axes, queries]
  Positions key_positions;    // [axes, keys]
  AttentionMask mask = {};
  double scale = 0;  // of the softmax; 0: 1 / sqrt(head_dim)
};

// Where a call runs and what it may keep.
struct AttentionSettings {
  Executor* executor = nullptr;  // null: DefaultExecutor()
  TableCache* tables = nullptr;  // null: tables are filled for this call
  TileSkip skip = TileSkip::kWhereProvable;
  // The most of a bias by tile, as float32, that is filled at a time.
  std::size_t tile_bytes = std::size_t{32} << 20;
};

//   out = ReferenceAttention(scheme, weights, in)   (reference.h, where every term is defined)
//   out [queries, heads, head_dim]; log_sum_exp [heads, queries], natural logarithm, or null
// Queries, keys, values and out may each be float32, bfloat16 or float16. The scheme's rows and
// turns are computed in float32 into a copy of queries and keys; its biases, vectors and factors go
// to the fused kernel as tables. So no matrix of scores is made, except: a bias by tile is filled
// for as many queries at a time as fit into tile_bytes; and a contextual bias, which no table
// holds, sends the call to the double reference, in memory of heads * queries * keys. The largest
// error is 2e-6 of the largest |value| for scores within 50 of 0, as the kernel's; 16-bit inputs
// are exact and outputs rounded once. The same bits on any executor, with or without kept tables.
// `out` may not overlap an input. Throws Error, before anything is written, where shapes, weights,
// masks or positions do not fit, or the scheme has no table for a position.
void Attention(const Scheme& scheme, Weights weights, const PositionedHeads& in,
               const HeadsOut& out, float* log_sum_exp = nullptr,
               const AttentionSettings& settings = {});

// What the backward pass reads beside the inputs, and where gradients go.
struct PositionedGradients {
  HeadsIn out, d_out;                  // [queries, heads, head_dim]
  const float* log_sum_exp = nullptr;  // as Attention wrote it
  HeadsOut d_query, d_key, d_value;    // as the inputs, written
  WeightGradients d_weights = {};      // as the weights, added; empty: not wanted
};

// The gradients of sum(out * d_out): ReferenceAttentionBackward by the kernels. Scores are computed
// again; tables' gradients are summed in double in an order fixed by shape and mapped back by the
// scheme, so all have the same bits on any executor. The largest error is 4e-6 of the largest
// gradient, and 1e-5 of it for weights, which are sums over all cells. `d_query`, `d_key` and
// `d_value` may not overlap an input. Allocates encoded queries and keys with their gradients in
// float32; never queries x keys but for tile_bytes of a tile and its gradient, and contextual
// schemes. Throws Error, before anything is written, as Attention.
void AttentionBackward(const Scheme& scheme, Weights weights, const PositionedHeads& in,
                       const PositionedGradients& gradients,
                       const AttentionSettings& settings = {});

}  // namespace sextant
