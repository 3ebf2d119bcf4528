// A scheme's tables in float32, as kernels read them, filled through the contract.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sextant/attention/table_cache.h"
#include "sextant/kernels/attention.h"
#include "sextant/kernels/rotate.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

// Cosines and sines [n, pairs], magnitude folded in.
struct RotaryRows {
  Index pairs = 0;
  std::vector<float> cos, sin;

  TurnTable table() const { return {cos.data(), sin.data(), pairs}; }
  std::size_t bytes() const { return (cos.size() + sin.size()) * sizeof(float); }
};

// Rows [n, model_dim] that are added to activations, or to queries and keys.
struct AddedRows {
  Index width = 0;
  std::vector<float> values;

  std::size_t bytes() const { return values.size() * sizeof(float); }
};

// Bias [heads, distances].
struct DistanceBiasRows {
  Distances distances;
  std::vector<float> values;

  std::size_t bytes() const { return values.size() * sizeof(float); }
};

// DistanceVectorTables; where one table is by head, all are spread over heads.
struct VectorRows {
  Distances distances;
  Index rows = 0, head_dim = 0;
  Index heads = 1;  // of the tables here; 1: all heads share them
  Index key_heads = 1, query_heads = 1, value_heads = 1;  // of the scheme's tables
  std::vector<std::int32_t> row;
  std::vector<float> key, query, value;  // [heads, rows, head_dim], empty where not offered
  std::vector<float> content_bias, position_bias;

  VectorsByDistance view() const;
  std::size_t bytes() const;
};

// Bias [heads, queries, keys].
struct TileRows {
  std::vector<float> values;
  std::size_t bytes() const { return values.size() * sizeof(float); }
};

// A factor for each query.
struct QueryScales {
  std::vector<float> values;
  std::size_t bytes() const { return values.size() * sizeof(float); }
};

// The tables of one scheme with its weights, which must outlive this and not change. Each is
// computed in double in slices, in parallel, and rounded once, but for turns by frequencies, which
// kernels/angles.h makes to 3e-7 of the magnitude; with a cache, tables of equal keys are filled
// once. Hooks that are not offered give null. All throw Error where the scheme has no
// table for a position.
class KernelTables {
 public:
  KernelTables(const Scheme& scheme, Weights weights, Executor& executor,
               TableCache* cache = nullptr);

  const Scheme& scheme() const { return scheme_; }
  Weights weights() const { return weights_; }
  Executor& executor() const { return executor_; }

  std::shared_ptr<const RotaryRows> Turns(const Positions& positions, Side side) const;
  std::shared_ptr<const AddedRows> Rows(const Positions& positions) const;
  std::shared_ptr<const DistanceBiasRows> DistanceBias(const Distances& distances) const;
  // Throws Error where the vectors were made for other heads.
  std::shared_ptr<const VectorRows> Vectors(const Distances& distances, Index heads,
                                            Index head_dim) const;
  std::shared_ptr<const TileRows> Tile(const Positions& queries, const Positions& keys) const;
  std::shared_ptr<const QueryScales> Scales(const Positions& positions) const;

 private:
  TableKey Key(std::string_view what) const;
  template <class Table, class Fill>
  std::shared_ptr<const Table> Get(TableKey key, const Fill& fill) const;
  // fill(first, count) for slices of `slice` of 0 .. count - 1.
  template <class Fill>
  void InSlices(Index count, Index slice, const Fill& fill) const;

  const Scheme& scheme_;
  const Weights weights_;
  Executor& executor_;
  TableCache* const cache_;
  std::string scheme_key_;  // empty without a cache
};

// How the kernel is to turn what a rotary scheme's table is for.
TurnedChannels TurnedChannelsOf(const RotaryShape& shape);

// Positions first .. first + count - 1 of a list; the length stays.
Positions Slice(const Positions& positions, Index first, Index count);

}  // namespace sextant
