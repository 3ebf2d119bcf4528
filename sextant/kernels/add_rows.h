// Adds the rows of positions to activations: the additive kernel.
#pragma once

#include "sextant/kernels/executor.h"
#include "sextant/kernels/heads.h"

namespace sextant {

// Channel c of token n of sequence b is at data[b batch_stride + n token_stride + c].
template <class T>
struct ActivationsOf {
  T* data = nullptr;
  Index batch = 0, tokens = 0, model_dim = 0;
  Index batch_stride = 0, token_stride = 0;
};

// Rows [tokens, model_dim] that the sequences of a batch share; that of token n starts at
// n row_stride. Where positions run on by one, `data` is the first one's row of a table.
template <class T>
struct RowsOf {
  T* data = nullptr;
  Index row_stride = 0;
};

//   out[b, n, c] = x[b, n, c] + rows[n, c]
//   x, out [batch, tokens, model_dim], the same data and strides (in place) or apart
// The sum is float32's; 16-bit ones are rounded once more, to nearest even. Infinities and NaN stay
// in their channel. Allocates nothing, runs on the calling thread up to 64 KiB, and gives the same
// bits on any executor. Throws Error before any work where shapes differ, rows are shorter than
// model_dim, or `out` overlaps `x` without being it, or the rows.
void AddRows(const ActivationsOf<const float>& x, const RowsOf<const float>& rows,
             const ActivationsOf<float>& out, Executor& executor);
void AddRows(const ActivationsOf<const Bf16>& x, const RowsOf<const float>& rows,
             const ActivationsOf<Bf16>& out, Executor& executor);
void AddRows(const ActivationsOf<const F16>& x, const RowsOf<const float>& rows,
             const ActivationsOf<F16>& out, Executor& executor);

//   d_rows[n, c] = sum over b of d_out[b, n, c]
// The gradient of AddRows for the rows (that of x is d_out itself). Sums are double, in the order
// of the batch, rounded once to float32: the same bits on any executor. Allocates nothing. Throws
// Error before any work as AddRows does.
void AddRowsBack(const ActivationsOf<const float>& d_out, const RowsOf<float>& d_rows,
                 Executor& executor);
void AddRowsBack(const ActivationsOf<const Bf16>& d_out, const RowsOf<float>& d_rows,
                 Executor& executor);
void AddRowsBack(const ActivationsOf<const F16>& d_out, const RowsOf<float>& d_rows,
                 Executor& executor);

}  // namespace sextant
