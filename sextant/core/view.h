// Views of numbers with their shape, and the owning array behind them.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace sextant {

using Index = std::int64_t;

template <std::size_t rank>
using Shape = std::array<Index, rank>;

// Elements a shape holds; shapes are trusted here (untrusted sizes are checked where bytes are
// read).
template <std::size_t rank>
constexpr Index Elements(const Shape<rank>& shape) {
  Index count = 1;
  for (Index extent : shape) count *= extent;
  return count;
}

// A view of `rank` axes over memory it does not own: element (i, j, ...) is at
// data + i * stride[0] + j * stride[1] + ...  The last axis has stride 1. Copying a view copies no
// number. Indices are checked by assert in debug builds only; callers check shapes first.
template <class T, std::size_t rank>
class View {
 public:
  View() = default;

  // Over contiguous memory in row-major order.
  View(T* data, const Shape<rank>& shape) : data_(data), shape_(shape) {
    Index stride = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      stride_[axis] = stride;
      stride *= shape[axis];
    }
  }

  // Over memory with given strides (in elements); the last must be 1.
  View(T* data, const Shape<rank>& shape, const Shape<rank>& stride)
      : data_(data), shape_(shape), stride_(stride) {
    assert(stride[rank - 1] == 1);
  }

  // A view of mutable numbers serves where constant ones are asked for.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
      View(const View<U, rank>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), shape_(other.shape()), stride_(other.stride()) {}

  T* data() const { return data_; }
  const Shape<rank>& shape() const { return shape_; }
  const Shape<rank>& stride() const { return stride_; }
  Index extent(std::size_t axis) const { return shape_[axis]; }
  Index elements() const { return Elements(shape_); }

  template <class... Indices>
  requires(sizeof...(Indices) == rank) T& operator()(Indices... indices) const {
    const Index at[] = {static_cast<Index>(indices)...};
    Index offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      assert(at[axis] >= 0 && at[axis] < shape_[axis]);
      offset += at[axis] * stride_[axis];
    }
    return data_[offset];
  }

  // The view of axis 0 fixed at `index`.
  View<T, rank - 1> operator[](Index index) const requires(rank >= 2) {
    assert(index >= 0 && index < shape_[0]);
    Shape<rank - 1> shape, stride;
    for (std::size_t axis = 1; axis < rank; ++axis) {
      shape[axis - 1] = shape_[axis];
      stride[axis - 1] = stride_[axis];
    }
    return View<T, rank - 1>(data_ + index * stride_[0], shape, stride);
  }

  std::span<T> span() const requires(rank == 1) {
    return {data_, static_cast<std::size_t>(shape_[0])};
  }

 private:
  T* data_ = nullptr;
  Shape<rank> shape_{};
  Shape<rank> stride_{};
};

// Owns numbers in row-major order, zero at first.
template <class T, std::size_t rank>
class Array {
 public:
  Array() = default;
  explicit Array(const Shape<rank>& shape)
      : shape_(shape), values_(static_cast<std::size_t>(Elements(shape))) {}

  View<T, rank> view() { return {values_.data(), shape_}; }
  View<const T, rank> view() const { return {values_.data(), shape_}; }
  operator View<T, rank>() { return view(); }              // NOLINT(google-explicit-constructor)
  operator View<const T, rank>() const { return view(); }  // NOLINT(google-explicit-constructor)

  const Shape<rank>& shape() const { return shape_; }
  Index extent(std::size_t axis) const { return shape_[axis]; }
  bool empty() const { return values_.empty(); }
  std::vector<T>& values() { return values_; }
  const std::vector<T>& values() const { return values_; }

  template <class... Indices>
  T& operator()(Indices... indices) {
    return view()(indices...);
  }
  template <class... Indices>
  const T& operator()(Indices... indices) const {
    return view()(indices...);
  }

 private:
  Shape<rank> shape_{};
  std::vector<T> values_;
};

}  // namespace sextant
