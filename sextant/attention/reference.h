// Attention with positions, by definition: slow, in double, every hook; what fast paths are held
// to.
#pragma once

#include "sextant/attention/mask.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

// The inputs. Query head h reads key and value head h / (heads / kv_heads); heads is a multiple of
// kv_heads. Views and spans must outlive the call.
struct AttentionInput {
  View<const double, 3> query;  // [heads, queries, head_dim]
  View<const double, 3> key;    // [kv_heads, keys, head_dim]
  View<const double, 3> value;  // [kv_heads, keys, head_dim]
  Positions query_positions;    // [axes, queries]
  Positions key_positions;      // [axes, keys]
  AttentionMask mask;
  double scale = 0;  // of the softmax; 0: 1 / sqrt(head_dim)
};

// Scores of keys a query may not see are -inf and their weights 0. A query that sees no key has
// output 0, log_sum_exp -inf and weights 0.
struct AttentionOutput {
  Array<double, 3> out;          // [heads, queries, head_dim]
  Array<double, 3> scores;       // [heads, queries, keys]
  Array<double, 3> weights;      // [heads, queries, keys], rows sum to 1
  Array<double, 2> log_sum_exp;  // [heads, queries], natural logarithm
};

//   score_ij = c_i ((q_i + u) . k_j + (q_i + v) . key[d] + k_j . query[d]) + bias[h, d] + tile[h,
//   i, j] out_i    = sum_j softmax_j(score_ij + contextual_ij) (v_j + value[d]),   d = j - i
// with q and k encoded (encode.h) and c_i = scale * softmax multiplier * query scale. Allocates its
// results. Throws Error where shapes, head counts or positions do not fit.
AttentionOutput ReferenceAttention(const Scheme& scheme, Weights weights,
                                   const AttentionInput& input);

struct AttentionGradients {
  Array<double, 3> query, key, value;        // as the inputs
  std::vector<std::vector<double>> weights;  // as the scheme's weights
};

// The gradients of sum(out * d_out), d_out [heads, queries, head_dim].
AttentionGradients ReferenceAttentionBackward(const Scheme& scheme, Weights weights,
                                              const AttentionInput& input,
                                              View<const double, 3> d_out);

// The four terms of an additive scheme's scores, each [heads, queries, keys], scaled:
// (x_i + p_i) . (y_j + p_j) = x_i . y_j + x_i . p_j + p_i . y_j + p_i . p_j
struct ScoreTerms {
  Array<double, 3> content_content, content_position, position_content, position_position;
};
ScoreTerms AdditiveScoreTerms(const Scheme& scheme, Weights weights, const AttentionInput& input);

}  // namespace sextant
