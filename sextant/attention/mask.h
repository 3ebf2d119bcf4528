// Which keys a query may see.
#pragma once

#include <cstdint>
#include <span>

#include "sextant/schemes/scheme.h"

namespace sextant {

// All conditions that are set must hold. Positions are those of axis 0. The spans must outlive use.
struct AttentionMask {
  bool causal = false;      // key position <= query position
  std::int64_t window = 0;  // |key position - query position| < window; 0: no window
  std::span<const std::uint8_t> key_valid = {};  // [keys], 0 where padding; empty: all valid
  // [queries] and [keys]: only keys of the query's own packed sequence; both empty: one sequence
  std::span<const std::int32_t> query_sequence = {};
  std::span<const std::int32_t> key_sequence = {};
  View<const std::uint8_t, 2> cells = {};  // [queries, keys], 0 hides; no cells: none hidden
};

// Throws Error where a span's length differs, only one side has sequences, or the window is
// negative.
void CheckMask(const AttentionMask& mask, Index queries, Index keys);

// visible [queries, keys], 1 where the key may be seen. Throws Error as CheckMask.
Array<std::uint8_t, 2> VisibleKeys(const AttentionMask& mask, const Positions& queries,
                                   const Positions& keys);

}  // namespace sextant
