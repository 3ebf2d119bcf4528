// Masks as a matrix, for the reference.
#include "sextant/attention/mask.h"

#include <cstdlib>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

void RequireLength(const char* what, std::size_t got, Index needed) {
  if (got != 0 && static_cast<Index>(got) != needed) {
    throw Error("mask", std::string(what) + " must have " + std::to_string(needed) +
                            " entries, got " + std::to_string(got));
  }
}

}  // namespace

void CheckMask(const AttentionMask& mask, Index queries, Index keys) {
  RequireLength("key_valid", mask.key_valid.size(), keys);
  RequireLength("query_sequence", mask.query_sequence.size(), queries);
  RequireLength("key_sequence", mask.key_sequence.size(), keys);
  const bool empty = queries == 0 || keys == 0;
  if (!empty && mask.query_sequence.empty() != mask.key_sequence.empty()) {
    throw Error("mask", "query_sequence and key_sequence must be given together");
  }
  if (mask.cells.data() != nullptr && mask.cells.shape() != Shape<2>{queries, keys}) {
    throw Error("mask", "cells must be [queries, keys]");
  }
  if (mask.window < 0) {
    throw Error("mask", "window must not be negative, got " + std::to_string(mask.window));
  }
}

Array<std::uint8_t, 2> VisibleKeys(const AttentionMask& mask, const Positions& queries,
                                   const Positions& keys) {
  CheckMask(mask, queries.count(), keys.count());
  const bool by_cell = mask.cells.data() != nullptr;
  Array<std::uint8_t, 2> visible({queries.count(), keys.count()});
  for (Index i = 0; i < queries.count(); ++i) {
    for (Index j = 0; j < keys.count(); ++j) {
      const std::size_t query = static_cast<std::size_t>(i), key = static_cast<std::size_t>(j);
      const std::int64_t distance = keys.values(0, j) - queries.values(0, i);
      visible(i, j) =
          (!mask.causal || distance <= 0) &&
          (mask.window == 0 || std::abs(distance) < mask.window) &&
          (!by_cell || mask.cells(i, j) != 0) &&
          (mask.key_valid.empty() || mask.key_valid[key] != 0) &&
          (mask.key_sequence.empty() || mask.key_sequence[key] == mask.query_sequence[query]);
    }
  }
  return visible;
}

}  // namespace sextant
