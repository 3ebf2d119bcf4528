// NumPy's .npy files: arrays of numbers to bytes and back.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/core/view.h"

namespace sextant {

// Numbers in row-major order; no extents stand for one number.
struct NpyArray {
  std::vector<Index> shape;
  std::vector<double> values;
};

// A file of format version 1.0: float64, little-endian, row-major, data at a multiple of 64 bytes.
// Throws Error where there are more than 4 extents, one is negative, or `values` do not fill them.
std::string WriteNpy(std::span<const double> values, std::span<const Index> shape);

// The same from a view with any strides.
template <std::size_t rank>
std::string WriteNpy(View<const double, rank> values);

// What ReadNpy takes: the header's bytes and the numbers of the array.
struct NpyLimits {
  std::size_t header_bytes = 10000;
  std::size_t elements = std::size_t{1} << 28;
};

// The array in a file of unknown origin. Reads versions 1.0 and 2.0 of types '<f8' and '<f4' (made
// double) in row-major order with at most 4 extents. Throws UnreadableInput starting with `where`
// for everything else, before it allocates: another start, version, type or order, a header that is
// too long, cut or malformed, keys missing, unknown or given twice, extents beyond the limits, and
// bytes missing or left over.
NpyArray ReadNpy(std::string_view bytes, std::string_view where, const NpyLimits& limits = {});

template <std::size_t rank>
std::string WriteNpy(View<const double, rank> values) {
  std::vector<double> flat;
  flat.reserve(static_cast<std::size_t>(values.elements()));
  const auto add = [&flat](const auto& self, const auto& part) -> void {
    if constexpr (requires { part.span(); }) {
      flat.insert(flat.end(), part.span().begin(), part.span().end());
    } else {
      for (Index i = 0; i < part.extent(0); ++i) self(self, part[i]);
    }
  };
  add(add, values);
  return WriteNpy(flat, values.shape());
}

}  // namespace sextant
