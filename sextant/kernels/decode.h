// Attention of the newest queries of one sequence against its cache, at the speed of memory.
#pragma once

#include <cstdint>

#include "sextant/kernels/executor.h"
#include "sextant/kernels/heads.h"

namespace sextant {

// One sequence. Query head h reads key and value head h / (heads / kv_heads).
struct DecodeAttention {
  HeadsIn query;       // [queries, heads, head_dim], at most 16 queries
  HeadsIn key, value;  // [keys, kv_heads, head_dim], as the cache holds them
  float scale = 1;     // of the softmax
  // Which keys a query sees; all that are set must hold.
  bool causal = true;       // key position <= query position
  std::int64_t window = 0;  // |key position - query position| < window; 0: no window
  const std::uint8_t* key_valid = nullptr;  // [keys], 0 where padding; null: all valid
  // [queries] and [keys], any order and repeats. No key positions: keys at 0, 1, ... And no query
  // positions either: queries at the last of them (query i at keys - queries + i).
  const std::int64_t* query_position = nullptr;
  const std::int64_t* key_position = nullptr;
  // A number by head and distance: bias[h bias_head_stride + key - query - first_distance], for the
  // distances first_distance .. first_distance + distances - 1, which must hold every one that
  // `causal` and `window` show; null: none. Where keys run on by one it is read as a slice, else
  // gathered.
  const float* bias = nullptr;
  Index bias_head_stride = 0;
  std::int64_t first_distance = 0;
  Index distances = 0;
  const float* query_scale = nullptr;  // [queries], a factor on scores before the bias
};

//   score_ij = scale c_i q_i . k_j + bias[h, key - query],   out_i = sum_j softmax_j(score_ij) v_j
//   out [queries, heads, head_dim]; log_sum_exp [heads, queries], natural logarithm, null: unwanted
// Each key and value is read from memory once, for all queries and all heads of its group; keys
// outside every query's window are not read where positions run on by one. A query that sees no key
// has output 0 and log_sum_exp -inf. Infinities and NaN reach the rows that see them and no others.
// The largest error is 2e-6 of the largest |v| for scores within 50 of 0, and grows with larger
// scores as float32 rounds them; 16-bit inputs are exact in float32 and outputs rounded once.
// Keys are cut into chunks by shape and merged in order: the same bits on any executor. Keys and
// values of less than 64 KiB wake no thread. Allocates a row of floats for each query and head, and
// one more for each chunk.
// `out` may not overlap an input. Throws Error where shapes do not fit, the table does not cover
// the distances, or positions lie 2^30 or more apart. Dao et al. 2023, "Flash-Decoding for
// long-context inference".
void AttentionDecode(const DecodeAttention& in, const HeadsOut& out, float* log_sum_exp,
                     Executor& executor);

}  // namespace sextant
