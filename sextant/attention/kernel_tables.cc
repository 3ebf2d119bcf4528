// Tables filled in slices of double and rounded to float32.
#include "sextant/attention/kernel_tables.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "sextant/attention/sizes.h"
#include "sextant/kernels/angles.h"

namespace sextant {
namespace {

// Positions, distances or queries of a slice: its doubles stay in the processor's caches.
constexpr Index kRowSlice = 128, kDistanceSlice = 1024;
constexpr Index kTileSliceElements = 1 << 16;

void Round(View<const double, 2> from, Index first_column, Index columns, float* to) {
  for (Index n = 0; n < from.extent(0); ++n) {
    for (Index c = 0; c < from.extent(1); ++c) {
      to[n * columns + first_column + c] = static_cast<float>(from(n, c));
    }
  }
}

std::vector<float> Rounded(const std::vector<double>& values) {
  return std::vector<float>(values.begin(), values.end());
}

// A table [1 or heads, rows, head_dim] for `heads` heads.
std::vector<float> Spread(const Array<double, 3>& table, Index heads) {
  std::vector<float> values;
  for (Index h = 0; !table.empty() && h < heads / table.extent(0); ++h) {
    values.insert(values.end(), table.values().begin(), table.values().end());
  }
  return values;
}

// Of one axis, as the kernel takes them.
RowPositions RowsAt(const Positions& positions) {
  if (positions.count() == 0) return RowPositions(0, 0);
  const auto list = positions.values[0].span();
  for (std::size_t n = 1; n < list.size(); ++n) {
    if (list[n] - 1 != list[n - 1]) return RowPositions(list);
  }
  return RowPositions(list[0], positions.count());
}

std::size_t SizeOf(const std::vector<float>& values) { return values.size() * sizeof(float); }

const float* DataOf(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

VectorsByDistance VectorRows::view() const {
  VectorsByDistance view;
  view.row = row.data();
  view.rows = rows;
  view.key = DataOf(key);
  view.query = DataOf(query);
  view.value = DataOf(value);
  view.head_stride = heads == 1 ? 0 : rows * head_dim;
  view.content_bias = DataOf(content_bias);
  view.position_bias = DataOf(position_bias);
  return view;
}

std::size_t VectorRows::bytes() const {
  return row.size() * sizeof(row[0]) + SizeOf(key) + SizeOf(query) + SizeOf(value) +
         SizeOf(content_bias) + SizeOf(position_bias);
}

KernelTables::KernelTables(const Scheme& scheme, Weights weights, Executor& executor,
                           TableCache* cache)
    : scheme_(scheme), weights_(weights), executor_(executor), cache_(cache) {
  if (cache_ != nullptr) scheme_key_ = SchemeKey(scheme, weights);
}

TableKey KernelTables::Key(std::string_view what) const { return TableKey(what).Add(scheme_key_); }

template <class Table, class Fill>
std::shared_ptr<const Table> KernelTables::Get(TableKey key, const Fill& fill) const {
  if (cache_ == nullptr) return std::make_shared<const Table>(fill());
  return cache_->Get<Table>(std::move(key), fill);
}

template <class Fill>
void KernelTables::InSlices(Index count, Index slice, const Fill& fill) const {
  const Index slices = (count + slice - 1) / slice;
  // Tasks of an executor throw nothing; the error of the first slice is the one a plain loop gives.
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(slices));
  const auto task = [&](Index n) {
    try {
      fill(n * slice, std::min(slice, count - n * slice));
    } catch (...) {
      errors[static_cast<std::size_t>(n)] = std::current_exception();
    }
  };
  if (slices == 1) {
    task(0);
  } else {
    executor_.Run(slices, task);
  }
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

std::shared_ptr<const RotaryRows> KernelTables::Turns(const Positions& positions, Side side) const {
  if (!scheme_.offers(Hook::kRotary)) return nullptr;
  std::optional<TurnFrequencies> frequencies;
  if (positions.axes() == 1) frequencies = scheme_.turn_frequencies(weights_, positions.length);
  TableKey key = Key(frequencies ? "turns" : side == Side::kQuery ? "query turns" : "key turns");
  if (cache_ != nullptr) key.Add(positions);
  return Get<RotaryRows>(std::move(key), [&] {
    RotaryRows turns;
    turns.pairs = scheme_.rotary_shape().rotated_dims / 2;
    turns.cos.resize(static_cast<std::size_t>(positions.count() * turns.pairs));
    turns.sin.resize(turns.cos.size());
    if (frequencies) {
      FillTurns(RowsAt(positions), frequencies->inv_freq, frequencies->magnitude,
                {turns.cos.data(), turns.sin.data(), turns.pairs}, executor_);
      return turns;
    }
    InSlices(positions.count(), kRowSlice, [&](Index first, Index count) {
      Array<double, 2> cos({count, turns.pairs}), sin(cos.shape());
      scheme_.FillRotary(weights_, Slice(positions, first, count), side, cos, sin);
      Round(cos.view(), 0, turns.pairs, turns.cos.data() + first * turns.pairs);
      Round(sin.view(), 0, turns.pairs, turns.sin.data() + first * turns.pairs);
    });
    return turns;
  });
}

std::shared_ptr<const AddedRows> KernelTables::Rows(const Positions& positions) const {
  if (!scheme_.offers(Hook::kAdditive)) return nullptr;
  TableKey key = Key("rows");
  if (cache_ != nullptr) key.Add(positions);
  return Get<AddedRows>(std::move(key), [&] {
    AddedRows rows;
    rows.width = scheme_.model_dim();
    rows.values.resize(static_cast<std::size_t>(positions.count() * rows.width));
    InSlices(positions.count(), kRowSlice, [&](Index first, Index count) {
      Array<double, 2> slice({count, rows.width});
      scheme_.FillAdditive(weights_, Slice(positions, first, count), slice);
      Round(slice.view(), 0, rows.width, rows.values.data() + first * rows.width);
    });
    return rows;
  });
}

std::shared_ptr<const DistanceBiasRows> KernelTables::DistanceBias(
    const Distances& distances) const {
  if (!scheme_.offers(Hook::kDistanceBias)) return nullptr;
  return Get<DistanceBiasRows>(Key("distance bias").Add(distances), [&] {
    const Index heads = scheme_.bias_heads();
    DistanceBiasRows bias{distances, {}};
    bias.values.resize(static_cast<std::size_t>(heads * distances.count));
    InSlices(distances.count, kDistanceSlice, [&](Index first, Index count) {
      Array<double, 2> slice({heads, count});
      scheme_.FillDistanceBias(weights_, {distances.first + first, count}, slice);
      Round(slice.view(), first, distances.count, bias.values.data());
    });
    return bias;
  });
}

std::shared_ptr<const VectorRows> KernelTables::Vectors(const Distances& distances, Index heads,
                                                        Index head_dim) const {
  if (!scheme_.offers(Hook::kDistanceVectors)) return nullptr;
  TableKey key = Key("distance vectors");
  key.Add(distances).Add(heads).Add(head_dim);
  return Get<VectorRows>(std::move(key), [&] {
    DistanceVectorTables tables = scheme_.FillDistanceVectors(weights_, distances);
    CheckVectorSizes(scheme_, tables, heads, head_dim);
    VectorRows vectors;
    vectors.distances = distances;
    vectors.head_dim = head_dim;
    for (const auto& [table, table_heads] : {std::pair(&tables.key, &vectors.key_heads),
                                             {&tables.query, &vectors.query_heads},
                                             {&tables.value, &vectors.value_heads}}) {
      if (table->empty()) continue;
      *table_heads = table->extent(0);
      vectors.rows = table->extent(1);
      vectors.heads = std::max(vectors.heads, table->extent(0));
    }
    vectors.row = std::move(tables.row);
    vectors.key = Spread(tables.key, vectors.heads);
    vectors.query = Spread(tables.query, vectors.heads);
    vectors.value = Spread(tables.value, vectors.heads);
    vectors.content_bias = Rounded(tables.content_bias.values());
    vectors.position_bias = Rounded(tables.position_bias.values());
    return vectors;
  });
}

std::shared_ptr<const TileRows> KernelTables::Tile(const Positions& queries,
                                                   const Positions& keys) const {
  if (!scheme_.offers(Hook::kTileBias)) return nullptr;
  TableKey key = Key("tile bias");
  if (cache_ != nullptr) key.Add(queries).Add(keys);
  return Get<TileRows>(std::move(key), [&] {
    const Index heads = scheme_.bias_heads(), columns = keys.count();
    TileRows tile;
    tile.values.resize(static_cast<std::size_t>(heads * queries.count() * columns));
    const Index slice =
        std::max<Index>(1, kTileSliceElements / std::max<Index>(heads * columns, 1));
    InSlices(queries.count(), slice, [&](Index first, Index count) {
      Array<double, 3> part({heads, count, columns});
      scheme_.FillTileBias(weights_, Slice(queries, first, count), keys, part);
      for (Index h = 0; h < heads; ++h) {
        Round(part.view()[h], 0, columns,
              tile.values.data() + (h * queries.count() + first) * columns);
      }
    });
    return tile;
  });
}

std::shared_ptr<const QueryScales> KernelTables::Scales(const Positions& positions) const {
  if (!scheme_.offers(Hook::kQueryScale)) return nullptr;
  TableKey key = Key("query scale");
  if (cache_ != nullptr) key.Add(positions);
  return Get<QueryScales>(std::move(key), [&] {
    Array<double, 1> scales({positions.count()});
    scheme_.FillQueryScale(weights_, positions, scales);
    return QueryScales{Rounded(scales.values())};
  });
}

TurnedChannels TurnedChannelsOf(const RotaryShape& shape) {
  TurnedChannels channels{shape.first, shape.rotated_dims, shape.blocks};
  if (shape.pairing != Pairing::kHalves) channels.read = PairOrder::kAdjacent;
  if (shape.pairing == Pairing::kAdjacent) channels.write = PairOrder::kAdjacent;
  return channels;
}

Positions Slice(const Positions& positions, Index first, Index count) {
  const auto& values = positions.values;
  return {{values.data() + first, {values.extent(0), count}, values.stride()}, positions.length};
}

}  // namespace sextant
