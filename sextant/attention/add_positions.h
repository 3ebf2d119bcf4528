// A scheme's additive rows in activations, forth and back, on the kernels: what a model with
// sinusoidal or learned positions does before its first layer.
#pragma once

#include "sextant/attention/attention.h"
#include "sextant/kernels/add_rows.h"

namespace sextant {

//   out[b, n, c] = x[b, n, c] + row(positions[n])[c]
//   x, out [batch, tokens, model_dim], the same data and strides (in place) or apart
//   positions [axes, tokens], shared by the batch
// The rows are computed in double and rounded to float32, the sum is float32's and rounded once
// more to 16 bits: off by at most 2^-24 of the row and of the sum. Of `settings`, `executor` and
// `tables` are read: with a cache, calls with the same positions fill the rows once. Allocates the
// rows [tokens, model_dim] of a table that is not kept yet. The same bits on any executor. Throws
// Error, before anything is written, where the scheme adds no rows, is one by layer, or has another
// width, weights are not as declared, a token has no position, a position has no row, or `out`
// overlaps `x` without being it.
void AddPositions(const Scheme& scheme, Weights weights, const Positions& positions,
                  const ActivationsOf<const float>& x, const ActivationsOf<float>& out,
                  const AttentionSettings& settings = {});
void AddPositions(const Scheme& scheme, Weights weights, const Positions& positions,
                  const ActivationsOf<const Bf16>& x, const ActivationsOf<Bf16>& out,
                  const AttentionSettings& settings = {});
void AddPositions(const Scheme& scheme, Weights weights, const Positions& positions,
                  const ActivationsOf<const F16>& x, const ActivationsOf<F16>& out,
                  const AttentionSettings& settings = {});

// Adds to `d_weights`, which is as the weights, the gradient of sum(out * d_out); that of x is
// d_out itself. A token's sum over the batch is double and rounded to float32, the rest is double:
// off by at most 2^-23 of the sum of |d_out| over all that a weight met, for rows that are weights
// themselves. The same bits on any executor. Allocates the gradient of the rows. Throws Error,
// before anything is written, as AddPositions.
void AddPositionsBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                          const ActivationsOf<const float>& d_out, WeightGradients d_weights,
                          const AttentionSettings& settings = {});
void AddPositionsBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                          const ActivationsOf<const Bf16>& d_out, WeightGradients d_weights,
                          const AttentionSettings& settings = {});
void AddPositionsBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                          const ActivationsOf<const F16>& d_out, WeightGradients d_weights,
                          const AttentionSettings& settings = {});

}  // namespace sextant
