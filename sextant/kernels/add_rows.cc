// The additive kernel for every SIMD target of the machine, by Highway's run-time dispatch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/add_rows.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include <algorithm>
#include <string>

#include "sextant/core/error.h"
#include "sextant/kernels/add_rows.h"
#include "sextant/kernels/storage-inl.h"

#ifndef SEXTANT_KERNELS_ADD_ROWS_ONCE
#define SEXTANT_KERNELS_ADD_ROWS_ONCE
namespace sextant {
namespace {

constexpr int kAtOnce = 4;  // sequences

// Tokens first .. last - 1 of sequences first .. last - 1.
struct Piece {
  Index first_sequence, last_sequence, first_token, last_token;
};

}  // namespace
}  // namespace sextant
#endif

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// One token of `count` sequences: what lies between their numbers in x and in y.
struct Strides {
  Index x, y;
};

// A vector of the row serves all sequences: on a Zen 4, reading the row again for each takes a
// third of the memory's speed.
template <int count, class T>
HWY_INLINE void AddFrom(const T* x, const float* row, T* y, const Strides& strides, Index i,
                        Index width) {
  const Index lanes = Index(hn::Lanes(DF()));
  for (; i < width; i += lanes) {
    const Index left = width - i;
    const VF add = LoadUpTo(row + i, left);
    for (int k = 0; k < count; ++k) {
      const VF sum = hn::Add(LoadUpTo(x + k * strides.x + i, left), add);
      StoreUpTo(sum, left, y + k * strides.y + i);
    }
  }
}

template <int count, class T>
HWY_NOINLINE void AddRow(const T* x, const float* row, T* y, const Strides strides, Index width) {
  AddFrom<count>(x, row, y, strides, 0, width);
}

#if HWY_TARGET != HWY_SCALAR
template <int count>
HWY_NOINLINE void AddRow(const Bf16* x, const float* row, Bf16* y, const Strides strides,
                         Index width) {
  const DF d;
  const Index lanes = Index(hn::Lanes(d));
  Index i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    const VF r0 = WithPlainNan(LoadFloats(row + i)), r1 = WithPlainNan(LoadFloats(row + i + lanes));
    const VF even = hn::ConcatEven(d, r1, r0), odd = hn::ConcatOdd(d, r1, r0);
    for (int k = 0; k < count; ++k) {
      const VU32 packed = LoadPacked(x + k * strides.x + i);
      StorePacked(hn::Add(EvenOf(packed), even), hn::Add(OddOf(packed), odd),
                  y + k * strides.y + i);
    }
  }
  AddFrom<count>(x, row, y, strides, i, width);
}
#endif

template <class T>
void AddTokens(const ActivationsOf<const T>& x, const RowsOf<const float>& rows,
               const ActivationsOf<T>& out, const Piece& piece) {
  const Strides strides{x.batch_stride, out.batch_stride};
  for (Index b = piece.first_sequence; b < piece.last_sequence;) {
    const Index count = piece.last_sequence - b >= kAtOnce ? kAtOnce : 1;
    for (Index n = piece.first_token; n < piece.last_token; ++n) {
      const T* from = x.data + b * x.batch_stride + n * x.token_stride;
      const float* row = rows.data + n * rows.row_stride;
      T* to = out.data + b * out.batch_stride + n * out.token_stride;
      if (count == 1) {
        AddRow<1>(from, row, to, strides, x.model_dim);
      } else {
        AddRow<kAtOnce>(from, row, to, strides, x.model_dim);
      }
    }
    b += count;
  }
}

// Doubles for a vector of floats: those of its lower half and, past it, of its upper half.
using DD = hn::ScalableTag<double>;
struct Sums {
  hn::Vec<DD> low, high;
};
HWY_INLINE Sums Load(const double* from) {
  const DD d;
  return {hn::Load(d, from), hn::Load(d, from + hn::Lanes(d))};
}
HWY_INLINE void Store(Sums sums, double* to) {
  const DD d;
  hn::Store(sums.low, d, to);
  hn::Store(sums.high, d, to + hn::Lanes(d));
}
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE Sums Plus(Sums sums, VF v) {
  return {hn::Add(sums.low, hn::PromoteTo(DD(), v)), sums.high};
}
HWY_INLINE VF Rounded(Sums sums) { return hn::DemoteTo(DF(), sums.low); }
#else
using DHalf = hn::Half<DF>;
HWY_INLINE Sums Plus(Sums sums, VF v) {
  return {hn::Add(sums.low, hn::PromoteTo(DD(), hn::LowerHalf(DHalf(), v))),
          hn::Add(sums.high, hn::PromoteTo(DD(), hn::UpperHalf(DHalf(), v)))};
}
HWY_INLINE VF Rounded(Sums sums) {
  const DHalf d;
  return hn::Combine(DF(), hn::DemoteTo(d, sums.high), hn::DemoteTo(d, sums.low));
}
#endif

// sums[c] += the channels of `rows` sequences, one after the other.
template <int rows, class T>
HWY_INLINE void AddToSums(const T* x, Index stride, Index width, double* sums) {
  const Index lanes = Index(hn::Lanes(DF()));
  for (Index i = 0; i < width; i += lanes) {
    Sums sum = Load(sums + i);
    for (int k = 0; k < rows; ++k) sum = Plus(sum, LoadUpTo(x + k * stride + i, width - i));
    Store(sum, sums + i);
  }
}

// One token over the batch, in stretches whose sums stay near.
template <class T>
void SumToken(const ActivationsOf<const T>& d_out, const RowsOf<float>& d_rows, Index token) {
  constexpr Index kStretch = 512;
  const Index lanes = Index(hn::Lanes(DF()));
  HWY_ALIGN double sums[kStretch + 2 * HWY_MAX_BYTES];
  for (Index start = 0; start < d_out.model_dim; start += kStretch) {
    const Index width = std::min(kStretch, d_out.model_dim - start);
    const T* x = d_out.data + token * d_out.token_stride + start;
    float* to = d_rows.data + token * d_rows.row_stride + start;
    std::fill(sums, sums + width + 2 * lanes, 0.0);
    Index b = 0;
    for (; b + kAtOnce <= d_out.batch; b += kAtOnce, x += kAtOnce * d_out.batch_stride) {
      AddToSums<kAtOnce>(x, d_out.batch_stride, width, sums);
    }
    for (; b < d_out.batch; ++b, x += d_out.batch_stride) {
      AddToSums<1>(x, d_out.batch_stride, width, sums);
    }
    for (Index i = 0; i < width; i += lanes) {
      StoreUpTo(Rounded(Load(sums + i)), width - i, to + i);
    }
  }
}

template <class T>
void SumTokens(const ActivationsOf<const T>& d_out, const RowsOf<float>& d_rows,
               const Piece& piece) {
  for (Index n = piece.first_token; n < piece.last_token; ++n) SumToken(d_out, d_rows, n);
}

void AddF32(const ActivationsOf<const float>& x, const RowsOf<const float>& rows,
            const ActivationsOf<float>& out, const Piece& piece) {
  AddTokens(x, rows, out, piece);
}
void AddBf16(const ActivationsOf<const Bf16>& x, const RowsOf<const float>& rows,
             const ActivationsOf<Bf16>& out, const Piece& piece) {
  AddTokens(x, rows, out, piece);
}
void AddF16(const ActivationsOf<const F16>& x, const RowsOf<const float>& rows,
            const ActivationsOf<F16>& out, const Piece& piece) {
  AddTokens(x, rows, out, piece);
}
void SumF32(const ActivationsOf<const float>& d_out, const RowsOf<float>& d_rows,
            const Piece& piece) {
  SumTokens(d_out, d_rows, piece);
}
void SumBf16(const ActivationsOf<const Bf16>& d_out, const RowsOf<float>& d_rows,
             const Piece& piece) {
  SumTokens(d_out, d_rows, piece);
}
void SumF16(const ActivationsOf<const F16>& d_out, const RowsOf<float>& d_rows,
            const Piece& piece) {
  SumTokens(d_out, d_rows, piece);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(AddF32);
HWY_EXPORT(AddBf16);
HWY_EXPORT(AddF16);
HWY_EXPORT(SumF32);
HWY_EXPORT(SumBf16);
HWY_EXPORT(SumF16);

namespace {

constexpr Index kTaskBytes = Index{64} << 10;

// As heads, whose overlap is known.
template <class T>
HeadsOf<T> AsHeads(const ActivationsOf<T>& x) {
  return {x.data, x.batch, x.tokens, x.model_dim, x.batch_stride, x.token_stride};
}
template <class T, class U>
HeadsOf<T> AsHeads(const RowsOf<T>& rows, const ActivationsOf<U>& like) {
  return {rows.data, 1, like.tokens, like.model_dim, 0, rows.row_stride};
}

template <class T, class U>
void CheckRows(const char* where, const ActivationsOf<T>& x, const RowsOf<U>& rows) {
  if (x.batch < 0 || x.tokens < 0 || x.model_dim < 0) {
    throw Error(where, "counts must not be negative");
  }
  if (x.tokens > 1 && rows.row_stride < x.model_dim) {
    throw Error(where, "rows must hold " + std::to_string(x.model_dim) + " channels, got " +
                           std::to_string(rows.row_stride));
  }
}

template <class T>
void Check(const ActivationsOf<const T>& x, const RowsOf<const float>& rows,
           const ActivationsOf<T>& out) {
  const char* const where = "add_rows";
  if (x.batch != out.batch || x.tokens != out.tokens || x.model_dim != out.model_dim) {
    throw Error(where, "input and output must have the same shape");
  }
  CheckRows(where, x, rows);
  const bool in_place = static_cast<const void*>(x.data) == static_cast<const void*>(out.data);
  if (in_place && (x.batch_stride != out.batch_stride || x.token_stride != out.token_stride)) {
    throw Error(where, "in place, input and output must have the same strides");
  }
  if (!in_place && Overlap(AsHeads(x), AsHeads(out))) {
    throw Error(where, "the output must be the input itself or lie apart from it");
  }
  if (Overlap(AsHeads(rows, x), AsHeads(out))) {
    throw Error(where, "the output must lie apart from the rows");
  }
}

// Cuts batch x tokens into pieces of about 64 KiB by shape alone: kAtOnce sequences where there are
// as many, more where tokens are few. Pieces of the same tokens follow each other.
template <class Kernel>
void RunPieces(Index batch, Index tokens, Index token_bytes, const Kernel& kernel,
               Executor& executor) {
  const Index together = std::min<Index>(batch, kAtOnce);
  const Index step = std::clamp<Index>(kTaskBytes / (together * token_bytes), 1, tokens);
  const Index group = std::clamp<Index>(kTaskBytes / (step * token_bytes), 1, batch);
  const Index steps = (tokens + step - 1) / step, groups = (batch + group - 1) / group;
  const auto task = [&](Index t) {
    const Index sequence = t % groups * group, token = t / groups * step;
    kernel(
        Piece{sequence, std::min(batch, sequence + group), token, std::min(tokens, token + step)});
  };
  if (steps * groups == 1) return task(0);
  executor.Run(steps * groups, task);
}

template <class T, class Kernel>
void RunAdd(Kernel kernel, const ActivationsOf<const T>& x, const RowsOf<const float>& rows,
            const ActivationsOf<T>& out, Executor& executor) {
  Check(x, rows, out);
  if (x.batch == 0 || x.tokens == 0 || x.model_dim == 0) return;
  RunPieces(
      x.batch, x.tokens, x.model_dim * Index(sizeof(T)),
      [&](const Piece& piece) { kernel(x, rows, out, piece); }, executor);
}

template <class T, class Kernel>
void RunSum(Kernel kernel, const ActivationsOf<const T>& d_out, const RowsOf<float>& d_rows,
            Executor& executor) {
  const char* const where = "add_rows back";
  CheckRows(where, d_out, d_rows);
  if (d_out.tokens == 0 || d_out.model_dim == 0) return;
  if (Overlap(AsHeads(d_out), AsHeads(d_rows, d_out))) {
    throw Error(where, "the gradient of rows must lie apart from that of the sums");
  }
  const Index token_bytes = std::max<Index>(1, d_out.batch) * d_out.model_dim * Index(sizeof(T));
  RunPieces(
      1, d_out.tokens, token_bytes, [&](const Piece& piece) { kernel(d_out, d_rows, piece); },
      executor);
}

}  // namespace

void AddRows(const ActivationsOf<const float>& x, const RowsOf<const float>& rows,
             const ActivationsOf<float>& out, Executor& executor) {
  RunAdd(HWY_DYNAMIC_DISPATCH(AddF32), x, rows, out, executor);
}
void AddRows(const ActivationsOf<const Bf16>& x, const RowsOf<const float>& rows,
             const ActivationsOf<Bf16>& out, Executor& executor) {
  RunAdd(HWY_DYNAMIC_DISPATCH(AddBf16), x, rows, out, executor);
}
void AddRows(const ActivationsOf<const F16>& x, const RowsOf<const float>& rows,
             const ActivationsOf<F16>& out, Executor& executor) {
  RunAdd(HWY_DYNAMIC_DISPATCH(AddF16), x, rows, out, executor);
}

void AddRowsBack(const ActivationsOf<const float>& d_out, const RowsOf<float>& d_rows,
                 Executor& executor) {
  RunSum(HWY_DYNAMIC_DISPATCH(SumF32), d_out, d_rows, executor);
}
void AddRowsBack(const ActivationsOf<const Bf16>& d_out, const RowsOf<float>& d_rows,
                 Executor& executor) {
  RunSum(HWY_DYNAMIC_DISPATCH(SumBf16), d_out, d_rows, executor);
}
void AddRowsBack(const ActivationsOf<const F16>& d_out, const RowsOf<float>& d_rows,
                 Executor& executor) {
  RunSum(HWY_DYNAMIC_DISPATCH(SumF16), d_out, d_rows, executor);
}

}  // namespace sextant
#endif  // HWY_ONCE
