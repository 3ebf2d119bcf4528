// What is done to one row of a tile of scores, for each SIMD target: biases, vectors by distance,
// masks, softmax. Included by the files of fused attention only, inside Highway's foreach_target.
#if defined(SEXTANT_KERNELS_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEXTANT_KERNELS_ATTENTION_ROWS_INL_H_
#undef SEXTANT_KERNELS_ATTENTION_ROWS_INL_H_
#else
#define SEXTANT_KERNELS_ATTENTION_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "sextant/kernels/attention_plan.h"
#include "sextant/kernels/heads-inl.h"
#include "sextant/kernels/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

static_assert(kQueryBlock % kTogether == 0);
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// from .. to - 1, of the rows or the columns of a tile.
struct Stretch {
  Index from, to;
  bool empty() const { return from >= to; }
  bool operator==(const Stretch&) const = default;
};

// run(first, count, stretch) for groups of kTogether of `count` rows or columns, where those that
// have the same stretch and follow each other are one. None for empty stretches.
template <class StretchOf, class Run>
HWY_INLINE void ForEachStretch(Index count, const StretchOf& stretch_of, const Run& run) {
  for (Index first = 0, end = 0; first < count; first = end) {
    const Stretch stretch = stretch_of(first);
    end = first + kTogether;
    while (end < count && stretch_of(end) == stretch) end += kTogether;
    end = std::min(end, count);
    if (!stretch.empty()) run(first, end - first, stretch);
  }
}

// A block of queries and a tile of keys of one head. Products with it are made for kTogether rows,
// and of the tile's columns only for those that one of these rows sees.
struct TileAt {
  TileAt(const AttentionPlan& of, Index of_head, Index first_query, Index queries, Index first_key,
         Index keys)
      : plan(of), head(of_head), q0(first_query), rows(queries), k0(first_key), count(keys) {
    const Index lanes = Lanes();
    for (Index i = 0; i < rows; i += kTogether) {
      const Stretch all{Seen(i).from, Seen(std::min(i + kTogether, rows) - 1).to};
      seen[i / kTogether] = all;
      // Lanes are a power of two.
      computed[i / kTogether] =
          all.empty() ? Stretch{0, 0} : Stretch{all.from & -lanes, (all.to + lanes - 1) & -lanes};
    }
  }

  const AttentionPlan& plan;
  Index head, q0, rows, k0, count;
  // By kTogether rows: the columns they see, and whole vectors that hold them.
  Stretch seen[kQueryBlock / kTogether], computed[kQueryBlock / kTogether];

  Index padded() const { return RoundUp(count, kPanel); }
  // Of row i of the block: the place of key k0's distance, where positions run on.
  Index Place(Index i) const { return plan.queries - 1 + k0 - (q0 + i); }
  // The columns that row i sees; all where cells decide.
  Stretch Seen(Index i) const {
    const Index from = std::clamp<Index>(plan.SeenFrom(q0 + i) - k0, 0, count);
    return {from, std::clamp<Index>(plan.SeenTo(q0 + i) - k0, from, count)};
  }
  const Stretch& Computed(Index i) const { return computed[i / kTogether]; }
  // The rows that see one of the columns j .. j + kTogether - 1.
  Stretch SeeingTogether(Index j) const {
    const Index away = k0 + j - q0;
    const Index from = std::clamp<Index>(away - plan.last_diagonal, 0, rows);
    return {from, std::clamp<Index>(away + kTogether - plan.first_diagonal, from, rows)};
  }
  std::int32_t query_at(Index i) const { return plan.query_at[std::size_t(q0 + i)]; }
  const std::int32_t* keys_at() const { return plan.key_at.data() + k0; }
};

// The places of lanes j .. of row i, where positions are gathered.
HWY_INLINE hn::Vec<DI> GatheredPlaces(const TileAt& t, Index i, Index j) {
  const DI d;
  const auto place =
      hn::Sub(hn::LoadU(d, t.keys_at() + j), hn::Set(d, t.query_at(i) + t.plan.first_place));
  return hn::Min(hn::Max(place, hn::Zero(d)), hn::Set(d, std::int32_t(t.plan.places - 1)));
}

// scores += bias, where it was not the start of the product.
void AddGatheredBias(const TileAt& t, Index i, float* scores) {
  const DF d;
  const float* bias = t.plan.BiasOf(t.head);
  for (Index j = 0; j < t.count; j += Lanes()) {
    const VF add = hn::GatherIndex(d, bias, GatheredPlaces(t, i, j));
    hn::StoreU(hn::Add(hn::LoadU(d, scores + j), add), d, scores + j);
  }
}

void AddTileBias(const TileAt& t, Index i, float* scores) {
  const BiasByTile& tile = t.plan.in.tile;
  const float* bias = tile.values + t.head * tile.head_stride + (t.q0 + i) * tile.row_stride + t.k0;
  for (Index j = 0; j < t.count; ++j) scores[j] += bias[j] * kLog2E;
}

// Writes `fill` where row i does not see the key, among the columns that are computed.
void Hide(const TileAt& t, Index i, Sight sight, float fill, float* scores) {
  const AttentionPlan& plan = t.plan;
  const Stretch& computed = t.Computed(i);
  if (sight == Sight::kAll && computed.to <= t.count) return;
  const Stretch row = t.Seen(i);
  const Index from = std::clamp(row.from, computed.from, computed.to);
  const Index to = std::clamp(row.to, from, computed.to);
  std::fill(scores + computed.from, scores + from, fill);
  std::fill(scores + to, scores + computed.to, fill);
  if (sight != Sight::kSome || !plan.cellwise) return;
  const DF d;
  const DI di;
  const KernelMask& mask = plan.in.mask;
  const auto group = hn::Set(di, plan.query_group[std::size_t(t.q0 + i)]);
  const auto at = hn::Set(di, t.query_at(i));
  const auto window = hn::Set(di, std::int32_t(std::min<std::int64_t>(plan.window, INT32_MAX)));
  for (Index j = 0; j < t.count; j += Lanes()) {
    const auto away = hn::Sub(hn::LoadU(di, t.keys_at() + j), at);
    auto seen = hn::Eq(hn::LoadU(di, plan.key_group.data() + t.k0 + j), group);
    if (mask.causal) seen = hn::And(seen, hn::Lt(away, hn::Set(di, 1)));
    if (plan.window > 0) seen = hn::And(seen, hn::Lt(hn::Abs(away), window));
    const VF kept =
        hn::IfThenElse(hn::RebindMask(d, seen), hn::LoadU(d, scores + j), hn::Set(d, fill));
    hn::StoreU(kept, d, scores + j);
  }
  std::fill(scores + t.count, scores + computed.to, fill);
  if (mask.cells == nullptr) return;
  const std::uint8_t* cells = mask.cells + (t.q0 + i) * plan.keys + t.k0;
  for (Index j = 0; j < t.count; ++j) {
    if (cells[j] == 0) scores[j] = fill;
  }
}

// Writes zeros to the columns of row i that are not computed.
void Clear(const TileAt& t, Index i, float* row) {
  const Stretch& computed = t.Computed(i);
  if (computed.from > 0) std::fill(row, row + computed.from, 0.0f);
  if (computed.to < t.padded()) std::fill(row + computed.to, row + t.padded(), 0.0f);
}

// tile [rows, kKeyBlock] = start + left [rows, width] times the transposed rows of `panels`, where
// computed; start row i is `start` - i, or zeros where null.
void TileProduct(const TileAt& t, const float* left, const float* panels, const float* start,
                 float* tile) {
  const Index width = t.plan.width, dim = t.plan.head_dim;
  for (Index k = 0; k < t.count; k += kPanel) {
    const auto columns = [&](Index i) {
      const Stretch& computed = t.Computed(i);
      return Stretch{std::clamp(computed.from, k, k + kPanel),
                     std::clamp(computed.to, k, k + kPanel)};
    };
    ForEachStretch(t.rows, columns, [&](Index i, Index count, const Stretch& at) {
      Product({left + i * width, width, 1}, count, dim, {panels + k * dim + (at.from - k), kPanel},
              {start == nullptr ? nullptr : start + at.from - i, -1},
              {tile + i * kKeyBlock + at.from, kKeyBlock}, at.to - at.from);
    });
  }
}

// sums [rows, width] += tile . right [count, width], whose unseen cells are zeros.
void AddTileTimes(const TileAt& t, const float* tile, ConstRows right, Rows sums) {
  const auto columns = [&](Index i) { return t.seen[i / kTogether]; };
  ForEachStretch(t.rows, columns, [&](Index i, Index count, const Stretch& seen) {
    Product({tile + i * kKeyBlock + seen.from, kKeyBlock, 1}, count, seen.to - seen.from,
            right.At(seen.from, 0), sums.At(i, 0), sums.At(i, 0), t.plan.width);
  });
}

// Rows of vectors that one tile reads: packed rows first + skip .. first + skip + rows - 1. `first`
// starts a panel and `count` columns from it on, whole vectors, hold them.
struct VectorSpan {
  Index first = 0, count = 0;
  Index skip = 0, rows = 0;
};
VectorSpan SpanOf(const TileAt& t) {
  const auto rows = t.plan.RowsOf(t.plan.PlacesOf(t.q0, t.rows, t.k0, t.count));
  const Index first = rows.first / kPanel * kPanel;
  return {first, RoundUp(rows.last + 1 - first, kPadding), rows.first - first,
          rows.last + 1 - rows.first};
}

// products [count, span] = left . vectors of the span; its columns are packed rows from span.first.
void VectorProducts(const Left& left, Index count, const PackedRows& vectors,
                    const AttentionPlan& plan, const VectorSpan& span, Rows products) {
  for (Index r = 0; r < span.count; r += kPanel) {
    const ConstRows panel(vectors.panels + (span.first + r) * plan.head_dim, kPanel);
    Product(left, count, plan.head_dim, panel, {nullptr, 0}, products.At(0, r),
            std::min(kPanel, span.count - r));
  }
}

// Which packed rows a vector of lanes reads, from the span's first: one after the other, all the
// same, or any.
enum class Steps { kByOne, kSame, kAny };
struct RowLanes {
  Steps steps = Steps::kAny;
  Index first = 0;
  hn::Vec<DI> rows;
};
HWY_INLINE RowLanes RowsAt(const TileAt& t, const VectorSpan& span, Index i, Index j) {
  const DI d;
  RowLanes lanes;
  const std::int32_t* row = t.plan.row.data();
  // Lanes past the last key read any row of the span.
  const auto within = [&](hn::Vec<DI> rows) {
    const auto from_first = hn::Sub(rows, hn::Set(d, std::int32_t(span.first)));
    return hn::Min(hn::Max(from_first, hn::Zero(d)), hn::Set(d, std::int32_t(span.count - 1)));
  };
  if (!t.plan.run) {
    lanes.rows = within(hn::GatherIndex(d, row, GatheredPlaces(t, i, j)));
    return lanes;
  }
  row += t.Place(i) + j;
  lanes.rows = within(hn::LoadU(d, row));
  lanes.first = row[0] - span.first;
  const Index rise = row[Lanes() - 1] - row[0];
  if (t.plan.rows_by_one && rise == Lanes() - 1) lanes.steps = Steps::kByOne;
  if (t.plan.rows_by_one && rise == 0) lanes.steps = Steps::kSame;
  return lanes;
}

// scores_j += products[row(i, j)], products of row i.
void AddByRow(const TileAt& t, const VectorSpan& span, Index i, const float* products,
              float* scores) {
  const DF d;
  for (Index j = 0; j < t.count; j += Lanes()) {
    const RowLanes at = RowsAt(t, span, i, j);
    VF add;
    if (at.steps == Steps::kByOne) {
      add = hn::LoadU(d, products + at.first);
    } else if (at.steps == Steps::kSame) {
      add = hn::Set(d, products[at.first]);
    } else {
      add = hn::GatherIndex(d, products, at.rows);
    }
    hn::StoreU(hn::Add(hn::LoadU(d, scores + j), add), d, scores + j);
  }
}

// sums[row(i, j)] += values_j, the transpose of AddByRow.
void SumByRow(const TileAt& t, const VectorSpan& span, Index i, const float* values, float* sums) {
  const DF d;
  const DI di;
  const Index lanes = Lanes();
  HWY_ALIGN std::int32_t rows[HWY_MAX_BYTES / sizeof(std::int32_t)];
  Index j = 0;
  for (; j + lanes <= t.count; j += lanes) {
    const RowLanes at = RowsAt(t, span, i, j);
    const VF add = hn::LoadU(d, values + j);
    if (at.steps == Steps::kByOne) {
      hn::StoreU(hn::Add(hn::LoadU(d, sums + at.first), add), d, sums + at.first);
    } else if (at.steps == Steps::kSame) {
      sums[at.first] += hn::GetLane(hn::SumOfLanes(d, add));
    } else {
      hn::Store(at.rows, di, rows);
      for (Index l = 0; l < lanes; ++l) sums[rows[l]] += values[j + l];
    }
  }
  if (j == t.count) return;
  hn::Store(RowsAt(t, span, i, j).rows, di, rows);
  for (Index l = 0; j + l < t.count; ++l) sums[rows[l]] += values[j + l];
}

// products [span.rows, keys of the tile] = the span's vectors . keys.
void KeyProducts(const TileAt& t, const VectorSpan& span, const PackedRows& vectors,
                 const PackedRows& keys, Rows products) {
  const AttentionPlan& plan = t.plan;
  const float* rows = vectors.rows + (span.first + span.skip) * plan.width;
  for (Index k = 0; k < t.count; k += kPanel) {
    Product({rows, plan.width, 1}, span.rows, plan.head_dim,
            {keys.panels + k * plan.head_dim, kPanel}, {nullptr, 0}, products.At(0, k), kPanel);
  }
}

// scores_j += factor products[row(i, j), j], of KeyProducts.
void AddByRowAndKey(const TileAt& t, const VectorSpan& span, Index i, float factor,
                    ConstRows products, float* scores) {
  const DF d;
  const DI di;
  const auto stride = hn::Set(di, std::int32_t(products.stride));
  const auto most = hn::Set(di, std::int32_t(span.rows - 1));
  for (Index j = 0; j < t.count; j += Lanes()) {
    const RowLanes at = RowsAt(t, span, i, j);
    VF add;
    if (at.steps == Steps::kSame) {
      add = hn::LoadU(d, products.data + (at.first - span.skip) * products.stride + j);
    } else {
      const auto row = hn::Min(hn::Sub(at.rows, hn::Set(di, std::int32_t(span.skip))), most);
      const auto place = hn::Add(hn::Mul(row, stride), hn::Iota(di, std::int32_t(j)));
      add = hn::GatherIndex(d, products.data, place);
    }
    const VF sum = hn::MulAdd(hn::Set(d, factor), add, hn::LoadU(d, scores + j));
    hn::StoreU(sum, d, scores + j);
  }
}

// The left sides of the products with keys and with vectors of keys, [rows, width]: scale c_i
// log2(e) (q_i + u) and the same with v.
void ReadQueries(const TileAt& t, const float* added, float* to) {
  const AttentionPlan& plan = t.plan;
  ReadTokens(plan.in.query, t.head, t.q0, t.rows, plan.width, to);
  for (Index i = 0; i < t.rows; ++i) {
    float* row = to + i * plan.width;
    if (added != nullptr) {
      const float* bias = added + t.head * plan.head_dim;
      for (Index c = 0; c < plan.head_dim; ++c) row[c] += bias[c];
    }
    const float own =
        plan.in.query_scale == nullptr ? 1.0f : plan.in.query_scale[std::size_t(t.q0 + i)];
    ScaleRow(row, plan.width, plan.in.scale * own * kLog2E);
  }
}

// The tile's scores [rows, kKeyBlock] in base 2, where computed, but without the terms of
// vectors. Where positions run on, the products start from the bias.
void ContentScores(const TileAt& t, const float* queries, const PackedRows& keys, float* tile) {
  const AttentionPlan& plan = t.plan;
  const bool biased = plan.bias_stride > 0;
  const float* bias = biased && plan.run ? plan.BiasOf(t.head) + t.Place(0) : nullptr;
  TileProduct(t, queries, keys.panels, bias, tile);
  for (Index i = 0; i < t.rows; ++i) {
    if (biased && !plan.run) AddGatheredBias(t, i, tile + i * kKeyBlock);
    if (plan.in.tile.values != nullptr) AddTileBias(t, i, tile + i * kKeyBlock);
  }
}

// The norm of a row of whole vectors.
float Norm(const float* row, Index width) {
  const DF d;
  VF square = hn::Zero(d);
  for (Index c = 0; c < width; c += Lanes()) {
    const VF x = hn::LoadU(d, row + c);
    square = hn::MulAdd(x, x, square);
  }
  return std::sqrt(hn::GetLane(hn::SumOfLanes(d, square)));
}

// Whether no key of the tile can have a weight that counts, for rows of which `reach` is the norm
// of the query's left side and `most` a score that one of its keys reaches, in base 2.
bool Negligible(const TileAt& t, float longest_key, const float* reach, const float* most) {
  const DF d;
  const float* bias = t.plan.BiasOf(t.head) + t.Place(t.rows - 1);
  const Index lanes = Lanes(), count = t.rows + t.count - 1;
  VF largest = hn::Set(d, kHidden);
  Index n = 0;
  for (; n + lanes <= count; n += lanes) largest = hn::Max(largest, hn::LoadU(d, bias + n));
  float bound = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; n < count; ++n) bound = std::max(bound, bias[n]);
  for (Index i = 0; i < t.rows; ++i) {
    // Norms are rounded; a ten thousandth covers that.
    if (!(reach[i] * longest_key * 1.0001f + bound < most[i] - t.plan.cut)) return false;
  }
  return true;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#endif  // SEXTANT_KERNELS_ATTENTION_ROWS_INL_H_
