// Fused attention with a bias by distance, forth and back, without a matrix of scores.
#pragma once

#include "sextant/kernels/rotate.h"

namespace sextant {

// Which keys query i may see: all, or those with j <= i + keys - queries (the last query sees all).
enum class KernelMask { kNone, kCausal };

// One sequence. Query head h reads key and value head h / (heads / kv_heads).
struct FusedAttention {
  HeadsOf<const float> query;       // [queries, heads, head_dim]
  HeadsOf<const float> key, value;  // [keys, kv_heads, head_dim]
  float scale = 1;                  // on q . k
  // bias of head h, query i and key j: bias[h bias_stride + keys - 1 + j - i - (keys - queries)],
  // so the row of the last query starts at 0 and there are queries + keys - 1 distances; null: none
  const float* bias = nullptr;
  Index bias_stride = 0;
  KernelMask mask = KernelMask::kNone;
};

//   out_i = sum_j softmax_j(scale q_i . k_j + bias[h, j - i]) v_j
//   out [queries, heads, head_dim]; log_sum_exp [heads, queries], natural logarithm
// A query that sees no key has output 0 and log_sum_exp -inf. The largest error is 2e-6 of the
// largest |v| for scores within 50 of 0, and grows with larger scores as float32 rounds them.
// Allocates packed keys and values and a tile a piece of work: O(keys head_dim), never queries x
// keys. The same bits on any executor. Throws Error where shapes do not fit. Tri Dao 2023, arXiv
// 2307.08691, algorithm 1, with the bias as a slice of one vector a head.
void AttentionForward(const FusedAttention& in, const HeadsOf<float>& out, float* log_sum_exp,
                      Executor& executor);

// What the backward pass reads beside the inputs, and where gradients are written (not added).
struct AttentionGradient {
  HeadsOf<const float> out, d_out;         // [queries, heads, head_dim]
  const float* log_sum_exp = nullptr;      // as the forward pass wrote it
  HeadsOf<float> d_query, d_key, d_value;  // as the inputs
  double* d_bias = nullptr;                // as bias, with its stride; null: not wanted
};

// The gradients of sum(out * d_out). Scores are computed again tile by tile; sums over a distance
// run in a fixed order, in double across tiles, so results have the same bits on any executor. The
// largest error is 4e-6 of the largest gradient. Memory as the forward pass.
void AttentionBackward(const FusedAttention& in, const AttentionGradient& gradient,
                       Executor& executor);

}  // namespace sextant
