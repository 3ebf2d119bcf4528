// Fused attention with any bias a scheme's tables give, forth and back, without a matrix of scores.
#pragma once

#include <cstdint>

#include "sextant/kernels/executor.h"
#include "sextant/kernels/heads.h"

namespace sextant {

// Which keys a query may see; all conditions that are set must hold. Positions decide, not places.
struct KernelMask {
  bool causal = false;      // key position <= query position
  std::int64_t window = 0;  // |key position - query position| < window; 0: no window
  const std::uint8_t* key_valid = nullptr;  // [keys], 0 where padding; null: all valid
  // [queries] and [keys]: only keys of the query's own packed sequence; null: one sequence
  const std::int32_t* query_sequence = nullptr;
  const std::int32_t* key_sequence = nullptr;
  const std::uint8_t* cells = nullptr;  // [queries, keys], 0 hides; null: none hidden
};

// A number by head and distance: values[h head_stride + key - query - first distance].
struct BiasByDistance {
  const float* values = nullptr;
  Index head_stride = 0;
};

// A number by head, query and key: values[h head_stride + i row_stride + j]. A head_stride of 0
// gives all heads one tile.
struct BiasByTile {
  const float* values = nullptr;
  Index head_stride = 0, row_stride = 0;
};

// Vectors by distance, as DistanceVectorTables of sextant/schemes/scheme.h; null: not offered.
struct VectorsByDistance {
  const std::int32_t* row = nullptr;  // [distances], 0 .. rows - 1
  Index rows = 0;
  const float* key = nullptr;            // [1 or heads, rows, head_dim]
  const float* query = nullptr;          // [1 or heads, rows, head_dim]
  const float* value = nullptr;          // [1 or heads, rows, head_dim]
  Index head_stride = 0;                 // 0: all heads share the tables, else rows * head_dim
  const float* content_bias = nullptr;   // [heads, head_dim]
  const float* position_bias = nullptr;  // [heads, head_dim]
};

// Whether tiles whose weights are all provably below 2^-40 of their row's largest, summed over the
// row, are left out. The bound is |q| times the largest |k| of the tile plus the largest bias at
// its distances.
enum class TileSkip { kWhereProvable, kNever };

struct PairKernels;  // sextant/kernels/pair_products.h

// Whether bfloat16 queries, keys and values are multiplied as pairs with weights rounded to
// bfloat16 too, on processors that have an instruction for it and where no vectors join the scores;
// else they are multiplied in float32.
enum class PairProducts { kWhereServed, kNever };

// One sequence. Query head h reads key and value head h / (heads / kv_heads).
struct FusedAttention {
  HeadsIn query;       // [queries, heads, head_dim]
  HeadsIn key, value;  // [keys, kv_heads, head_dim]
  float scale = 1;     // of the softmax
  KernelMask mask = {};
  // [queries] and [keys], any order and repeats; both null: keys at 0, 1, ... and queries at the
  // last of them (query i at keys - queries + i). Where both run on by one, tables by distance are
  // read as slices, else gathered.
  const std::int64_t* query_position = nullptr;
  const std::int64_t* key_position = nullptr;
  // What the tables by distance cover: first_distance .. first_distance + distances - 1. It must
  // reach from the lowest to the highest distance of a query and a valid key of one sequence, as
  // far as causal and window go; cells do not count.
  std::int64_t first_distance = 0;
  Index distances = 0;
  BiasByDistance bias = {};
  BiasByTile tile = {};
  VectorsByDistance vectors = {};
  const float* query_scale = nullptr;  // [queries], a factor on scores of content and vectors
  TileSkip skip = TileSkip::kWhereProvable;
  PairProducts pairs = PairProducts::kWhereServed;
  const PairKernels* pair_kernels = nullptr;  // null: BestPairKernels()
};

//   score_ij = scale c_i ((q_i + u) . k_j + (q_i + v) . key[d] + k_j . query[d]) + bias[h, d]
//              + tile[h, i, j]
//   out_i    = sum_j softmax_j(score_ij) (v_j + value[d]),   d = key position - query position
//   out [queries, heads, head_dim]; log_sum_exp [heads, queries], natural logarithm
// A query that sees no key has output 0 and log_sum_exp -inf. Infinities and NaN reach the rows
// that see them and no others. The largest error is 2e-6 of the largest |v| for scores within 50 of
// 0, and grows with larger scores as float32 rounds them; 16-bit inputs are exact in float32 and
// outputs rounded once. With products of pairs it is 2^-8 of the largest |v|, and 3e-3 in root mean
// square. Allocates packed keys and values and tiles for each thread at work: O(keys head_dim),
// never queries x keys. The same bits on any executor, which small work leaves alone. No output may
// overlap an input or another output. Throws Error where shapes do not fit, tables do not cover the
// distances, or positions lie 2^30 or more apart. Tri Dao 2023, arXiv 2307.08691, algorithm 1, with
// the bias as a slice of one vector a head.
void AttentionForward(const FusedAttention& in, const HeadsOut& out, float* log_sum_exp,
                      Executor& executor);

// What the backward pass reads beside the inputs, and where gradients are written (not added).
// Gradients of tables are given for each head; who shares a table adds them in the order of heads;
// null: not wanted. Those of query, key and value are always written.
struct AttentionGradient {
  HeadsIn out, d_out;                  // [queries, heads, head_dim]
  const float* log_sum_exp = nullptr;  // as the forward pass wrote it
  HeadsOut d_query, d_key, d_value;    // as the inputs
  double* d_bias = nullptr;            // [heads, distances]
  float* d_tile = nullptr;             // [heads, queries, keys]
  double *d_vector_key = nullptr, *d_vector_query = nullptr,
         *d_vector_value = nullptr;                              // [heads, rows, head_dim]
  double *d_content_bias = nullptr, *d_position_bias = nullptr;  // [heads, head_dim]
  double* d_query_scale = nullptr;                               // [heads, queries]
};

// The gradients of sum(out * d_out). Scores are computed again tile by tile; sums run in an order
// fixed by shape, so results have the same bits on any executor. The largest error is 4e-6 of the
// largest gradient. Memory: float32 sums of d_query, up to 16 of them where heads are few, within
// 24 MiB past the first.
void AttentionBackward(const FusedAttention& in, const AttentionGradient& gradient,
                       Executor& executor);

}  // namespace sextant
