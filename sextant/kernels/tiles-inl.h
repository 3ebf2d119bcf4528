// Small matrix products and sums over rows: what attention's kernels share, for each SIMD
// target. Included by kernel files only, inside Highway's foreach_target.
#if defined(SEXTANT_KERNELS_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEXTANT_KERNELS_TILES_INL_H_
#undef SEXTANT_KERNELS_TILES_INL_H_
#else
#define SEXTANT_KERNELS_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include "sextant/core/view.h"
#include "sextant/kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// A small matrix A: element (row, k) at data[row * by_row + k * by_k].
struct Left {
  const float* data;
  Index by_row, by_k;
  Left From(Index row) const { return {data + row * by_row, by_row, by_k}; }
};

// Rows of floats to read or to write.
struct Rows {
  float* data;
  Index stride;
  Rows At(Index row, Index column) const { return {data + row * stride + column, stride}; }
};
struct ConstRows {
  const float* data;
  Index stride;
  ConstRows(const float* from, Index by) : data(from), stride(by) {}
  ConstRows(const Rows& rows) : data(rows.data), stride(rows.stride) {}  // NOLINT
  ConstRows At(Index row, Index column) const { return {data + row * stride + column, stride}; }
};

// C [rows, vectors] = start + A B for `rows` rows and `vectors` vectors of columns; a null start is
// zero.
template <int rows, int vectors>
HWY_INLINE void Multiply(const Left& a, Index inner, ConstRows b, ConstRows start, Rows c) {
  const DF d;
  const Index lanes = Lanes();
  VF sum[rows][vectors];
  if (start.data == nullptr) {
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
    }
  } else {
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        sum[r][v] = hn::LoadU(d, start.data + r * start.stride + v * lanes);
      }
    }
  }
  for (Index k = 0; k < inner; ++k) {
    VF right[vectors];
    for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b.data + k * b.stride + v * lanes);
    for (int r = 0; r < rows; ++r) {
      const VF left = hn::Set(d, a.data[r * a.by_row + k * a.by_k]);
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) hn::StoreU(sum[r][v], d, c.data + r * c.stride + v * lanes);
  }
}

// As many rows as a product holds in registers.
constexpr Index kTogether = 6;

template <int vectors>
HWY_INLINE void MultiplyRows(const Left& a, Index count, Index inner, ConstRows b, ConstRows start,
                             Rows c) {
  const auto from = [&](Index row) { return start.data == nullptr ? start : start.At(row, 0); };
  Index row = 0;
  for (; row + kTogether <= count; row += kTogether) {
    Multiply<kTogether, vectors>(a.From(row), inner, b, from(row), c.At(row, 0));
  }
  for (; row + 2 <= count; row += 2) {
    Multiply<2, vectors>(a.From(row), inner, b, from(row), c.At(row, 0));
  }
  if (row < count) Multiply<1, vectors>(a.From(row), inner, b, from(row), c.At(row, 0));
}

// C [count, columns] = start + A [count, inner] B [inner, columns]; columns is a multiple of the
// lanes. `start` may be C; its data null: zero.
HWY_NOINLINE void Product(const Left& a, Index count, Index inner, ConstRows b, ConstRows start,
                          Rows c, Index columns) {
  const Index lanes = Lanes();
  const auto from = [&](Index at) { return start.data == nullptr ? start : start.At(0, at); };
  Index at = 0;
  for (; at + 4 * lanes <= columns; at += 4 * lanes) {
    MultiplyRows<4>(a, count, inner, b.At(0, at), from(at), c.At(0, at));
  }
  const Index left = columns - at;
  if (left == 3 * lanes) {
    MultiplyRows<3>(a, count, inner, b.At(0, at), from(at), c.At(0, at));
  } else if (left == 2 * lanes) {
    MultiplyRows<2>(a, count, inner, b.At(0, at), from(at), c.At(0, at));
  } else if (left == lanes) {
    MultiplyRows<1>(a, count, inner, b.At(0, at), from(at), c.At(0, at));
  }
}

// As Product onto C, but zeros of A add nothing whatever B holds: where a weight is 0 because its
// key is hidden, an infinity or NaN there stays there.
HWY_NOINLINE void ProductOfNonZeros(const Left& a, Index count, Index inner, ConstRows b, Rows c,
                                    Index columns) {
  const DF d;
  for (Index row = 0; row < count; ++row) {
    for (Index k = 0; k < inner; ++k) {
      const float weight = a.data[row * a.by_row + k * a.by_k];
      if (weight == 0) continue;
      for (Index at = 0; at < columns; at += Lanes()) {
        float* to = c.data + row * c.stride + at;
        hn::StoreU(hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, b.data + k * b.stride + at),
                              hn::LoadU(d, to)),
                   d, to);
      }
    }
  }
}

HWY_INLINE void ScaleRow(float* row, Index width, float factor) {
  const DF d;
  for (Index c = 0; c < width; c += Lanes()) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + c), hn::Set(d, factor)), d, row + c);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#endif  // SEXTANT_KERNELS_TILES_INL_H_
