// The backward pass of fused attention: tiles of keys over blocks of queries, for every SIMD
// target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/attention_backward.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include <cmath>

#include "sextant/kernels/attention_rows-inl.h"
#include "sextant/kernels/attention_shares.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// weights := 2^(weights - log2_sum), d_weights := weights (d_weights - mean): P and dS of one row.
void ScoreGradients(float* weights, float* d_weights, const Stretch& columns, float log2_sum,
                    float mean) {
  const DF d;
  const VF shift = hn::Set(d, log2_sum), center = hn::Set(d, mean);
  for (Index j = columns.from; j < columns.to; j += Lanes()) {
    const VF p = Exp2(hn::Sub(hn::LoadU(d, weights + j), shift));
    hn::StoreU(p, d, weights + j);
    hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(d, d_weights + j), center)), d, d_weights + j);
  }
}

// sums [count, width] += tile^T . right [rows, width].
void AddTransposeTimes(const TileAt& t, const float* tile, ConstRows right, Rows sums) {
  const auto rows = [&](Index j) { return t.SeeingTogether(j); };
  ForEachStretch(t.count, rows, [&](Index j, Index count, const Stretch& seeing) {
    Product({tile + seeing.from * kKeyBlock + j, 1, kKeyBlock}, count, seeing.to - seeing.from,
            right.At(seeing.from, 0), sums.At(j, 0), sums.At(j, 0), t.plan.width);
  });
}

// Adds the rows of a tile of dS along its diagonals to d_bias, through floats of one tile.
void AddDiagonals(const TileAt& t, const float* d_scores, double* d_bias, float* band) {
  const DF d;
  const Index lanes = Lanes(), places = t.rows + t.count - 1;
  std::fill(band, band + places, 0.0f);
  for (Index i = 0; i < t.rows; ++i) {
    const float* row = d_scores + i * kKeyBlock;
    float* to = band + (t.rows - 1 - i);
    Index j = 0;
    for (; j + lanes <= t.count; j += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, to + j), hn::LoadU(d, row + j)), d, to + j);
    }
    for (; j < t.count; ++j) to[j] += row[j];
  }
  d_bias += t.Place(t.rows - 1);
  for (Index n = 0; n < places; ++n) d_bias[n] += double(band[n]);
}

void AddGathered(const TileAt& t, const float* d_scores, double* d_bias) {
  const DI d;
  HWY_ALIGN std::int32_t places[HWY_MAX_BYTES / sizeof(std::int32_t)];
  for (Index i = 0; i < t.rows; ++i) {
    const float* row = d_scores + i * kKeyBlock;
    for (Index j = 0; j < t.count; j += Lanes()) {
      hn::Store(GatheredPlaces(t, i, j), d, places);
      const Index here = std::min(Lanes(), t.count - j);
      for (Index l = 0; l < here; ++l) d_bias[places[l]] += double(row[j + l]);
    }
  }
}

// to [count, head_dim] += factor from [count, width].
void AddRows(ConstRows from, Index count, Index head_dim, double factor, double* to) {
  for (Index r = 0; r < count; ++r) {
    const float* row = from.data + r * from.stride;
    for (Index c = 0; c < head_dim; ++c) to[r * head_dim + c] += factor * double(row[c]);
  }
}

// sums[row(i, j), j] += factor values_j, the transpose of AddByRowAndKey; returns the sum of values
// times products.
double SumByRowAndKey(const TileAt& t, const VectorSpan& span, Index i, float factor,
                      const float* values, ConstRows products, Rows sums) {
  const DF d;
  const DI di;
  HWY_ALIGN std::int32_t rows[HWY_MAX_BYTES / sizeof(std::int32_t)];
  double dot = 0;
  for (Index j = 0; j < t.count; j += Lanes()) {
    const RowLanes at = RowsAt(t, span, i, j);
    if (at.steps == Steps::kSame && j + Lanes() <= t.count) {
      const Index row = at.first - span.skip;
      float* to = sums.data + row * sums.stride + j;
      const VF value = hn::LoadU(d, values + j);
      const VF product = hn::LoadU(d, products.data + row * products.stride + j);
      const auto none = hn::Eq(value, hn::Zero(d));  // false for NaN
      const VF add = hn::IfThenZeroElse(none, hn::Mul(hn::Set(d, factor), value));
      const VF counted = hn::IfThenZeroElse(none, hn::Mul(value, product));
      hn::StoreU(hn::Add(hn::LoadU(d, to), add), d, to);
      dot += double(hn::GetLane(hn::SumOfLanes(d, counted)));
      continue;
    }
    hn::Store(at.rows, di, rows);
    for (Index l = 0; l < std::min(Lanes(), t.count - j); ++l) {
      if (values[j + l] == 0) continue;
      const Index row = rows[l] - span.skip;
      sums.data[row * sums.stride + j + l] += factor * values[j + l];
      dot += double(values[j + l]) * double(products.data[row * products.stride + j + l]);
    }
  }
  return dot;
}

// One tile of keys with all blocks of queries of the heads that read it.
class KeyTile {
 public:
  KeyTile(BackwardCall& call, Index kv, Index tile)
      : call_(call),
        plan_(call.plan),
        slab_(call.scratch),
        kv_(kv),
        k0_(tile * kKeyBlock),
        count_(std::min(kKeyBlock, plan_.keys - k0_)),
        share_(tile % call.shares),
        stride_(plan_.most_rows() + kPanel),
        key_(Pack(plan_.in.key, slab_.Cut(kKeyBlock * plan_.width))),
        value_(Pack(plan_.in.value, nullptr)),
        query_(slab_.Cut(kQueryBlock * plan_.width)),
        vector_query_(slab_.Cut(kQueryBlock * plan_.width)),
        d_out_(slab_.Cut(kQueryBlock * plan_.width)),
        weights_(slab_.Cut(kQueryBlock * kKeyBlock)),
        d_scores_(slab_.Cut(kQueryBlock * kKeyBlock)),
        band_(slab_.Cut(kQueryBlock + kKeyBlock + kPanel)),
        d_key_(slab_.Cut(kKeyBlock * plan_.width)),
        d_value_(slab_.Cut(kKeyBlock * plan_.width)) {
    if (plan_.has_vectors()) {
      products_ = slab_.Cut(kQueryBlock * stride_);
      sums_ = slab_.Cut(kQueryBlock * stride_);
      key_products_ = slab_.Cut(stride_ * kKeyBlock);
      key_sums_ = slab_.Cut(stride_ * kKeyBlock);
      table_ = slab_.Cut(stride_ * plan_.width);
    }
    std::fill(d_key_, d_key_ + count_ * plan_.width, 0.0f);
    std::fill(d_value_, d_value_ + count_ * plan_.width, 0.0f);
  }

  void Run() {
    for (Index head = kv_ * plan_.group; head < (kv_ + 1) * plan_.group; ++head) {
      for (Index q0 = 0; q0 < plan_.queries; q0 += kQueryBlock) Visit(head, q0);
    }
    // The queries carried log2(e).
    ScaleRow(d_key_, count_ * plan_.width, 1 / kLog2E);
    WriteTokens(call_.gradient.d_key, kv_, k0_, count_, d_key_, plan_.width);
    WriteTokens(call_.gradient.d_value, kv_, k0_, count_, d_value_, plan_.width);
  }

 private:
  PackedRows Pack(const HeadsIn& from, float* rows) {
    return PackTokens(from, kv_, k0_, count_, rows, slab_.Cut(kKeyBlock * plan_.width));
  }

  void Visit(Index head, Index q0) {
    const Index rows = std::min(kQueryBlock, plan_.queries - q0);
    const Sight sight = plan_.Sees(q0, rows, k0_, count_);
    if (sight == Sight::kNone) return;
    Index count = count_;
    if (!plan_.cellwise) count = std::min(count, plan_.SeenTo(q0 + rows - 1) - k0_);
    const TileAt t(plan_, head, q0, rows, k0_, count);
    const Index first = head * plan_.queries + q0;
    const bool finite = call_.Finite(head, q0) && key_.finite && value_.finite;
    ReadQueries(t, plan_.in.vectors.content_bias, query_);
    if (plan_.skips() && finite && Far(t)) return;
    ReadTokens(call_.gradient.d_out, head, q0, rows, plan_.width, d_out_);
    ContentScores(t, query_, key_, weights_);
    TileProduct(t, d_out_, value_.panels, nullptr, d_scores_);
    VectorSpan span;
    if (plan_.has_vectors()) {
      span = SpanOf(t);
      AddVectorScores(t, span);
    }
    for (Index i = 0; i < rows; ++i) {
      float *weights = weights_ + i * kKeyBlock, *d_scores = d_scores_ + i * kKeyBlock;
      Hide(t, i, sight, kHidden, weights);
      ScoreGradients(weights, d_scores, t.Computed(i), call_.log2_sum[std::size_t(first + i)],
                     call_.mean[std::size_t(first + i)]);
      Clear(t, i, weights);
      Clear(t, i, d_scores);
      if (finite || sight == Sight::kAll) continue;
      Hide(t, i, sight, 0, weights);
      Hide(t, i, sight, 0, d_scores);
    }
    AddGradients(t, finite || sight == Sight::kAll);
    AddTableGradients(t);
    if (plan_.has_vectors()) AddVectorGradients(t, span, finite);
  }

  // Whether the tile's weights are too small for all rows of the block.
  bool Far(const TileAt& t) {
    float reach[kQueryBlock];
    for (Index i = 0; i < t.rows; ++i) {
      reach[i] = Norm(query_ + i * plan_.width, plan_.width);
    }
    return Negligible(t, key_.longest, reach,
                      call_.log2_sum.data() + t.head * plan_.queries + t.q0);
  }

  void Add(bool finite, const Left& a, Index count, Index inner, ConstRows b, Rows c) const {
    if (finite) {
      Product(a, count, inner, b, c, c, plan_.width);
    } else {
      ProductOfNonZeros(a, count, inner, b, c, plan_.width);
    }
  }

  Rows QuerySums(const TileAt& t, Index part) const {
    const Index stride = call_.parts * plan_.width;
    return {call_.ShareOf(t.head, share_).d_query.get() + t.q0 * stride + part * plan_.width,
            stride};
  }

  void AddGradients(const TileAt& t, bool finite) {
    const Index width = plan_.width;
    const ConstRows queries(query_, width), d_out(d_out_, width), keys(key_.rows, width);
    const Rows d_value{d_value_, width}, d_key{d_key_, width}, d_query = QuerySums(t, 0);
    if (finite) {
      AddTransposeTimes(t, weights_, d_out, d_value);
      AddTransposeTimes(t, d_scores_, queries, d_key);
      AddTileTimes(t, d_scores_, keys, d_query);
    } else {
      ProductOfNonZeros({weights_, 1, kKeyBlock}, t.count, t.rows, d_out, d_value, width);
      ProductOfNonZeros({d_scores_, 1, kKeyBlock}, t.count, t.rows, queries, d_key, width);
      ProductOfNonZeros({d_scores_, kKeyBlock, 1}, t.rows, t.count, keys, d_query, width);
    }
  }

  void AddTableGradients(const TileAt& t) {
    Share& share = call_.ShareOf(t.head, share_);
    if (!share.d_bias.empty()) {
      if (plan_.run) {
        AddDiagonals(t, d_scores_, share.d_bias.data(), band_);
      } else {
        AddGathered(t, d_scores_, share.d_bias.data());
      }
    }
    if (call_.gradient.d_tile == nullptr) return;
    float* to = call_.gradient.d_tile + (t.head * plan_.queries + t.q0) * plan_.keys + t.k0;
    for (Index i = 0; i < t.rows; ++i) {
      const float* row = d_scores_ + i * kKeyBlock;
      std::copy(row, row + t.count, to + i * plan_.keys);
    }
  }

  void AddVectorScores(const TileAt& t, const VectorSpan& span) {
    const VectorsByDistance& offered = plan_.in.vectors;
    const PackedVectors& vectors = plan_.VectorsOf(t.head);
    if (offered.key != nullptr) {
      ReadQueries(t, offered.position_bias, vector_query_);
      AddProducts(t, span, vector_query_, *vectors.key, weights_);
    }
    if (offered.value != nullptr) AddProducts(t, span, d_out_, *vectors.value, d_scores_);
    if (offered.query == nullptr) return;
    KeyProducts(t, span, *vectors.query, key_, {key_products_, kKeyBlock});
    for (Index i = 0; i < t.rows; ++i) {
      AddByRowAndKey(t, span, i, plan_.ScoreScale(t.q0 + i), {key_products_, kKeyBlock},
                     weights_ + i * kKeyBlock);
    }
  }

  void AddProducts(const TileAt& t, const VectorSpan& span, const float* left,
                   const PackedRows& vectors, float* tile) {
    VectorProducts({left, plan_.width, 1}, t.rows, vectors, plan_, span, {products_, stride_});
    for (Index i = 0; i < t.rows; ++i) {
      AddByRow(t, span, i, products_ + i * stride_, tile + i * kKeyBlock);
    }
  }

  // The gradients of tables of vectors, and what goes through them to queries and keys.
  void AddVectorGradients(const TileAt& t, const VectorSpan& span, bool finite) {
    const VectorsByDistance& offered = plan_.in.vectors;
    Share& share = call_.ShareOf(t.head, share_);
    const PackedRows& of_key = *plan_.VectorsOf(t.head).key;
    if (offered.key != nullptr) {
      SumRows(t, span, d_scores_);
      Add(of_key.finite, {sums_, stride_, 1}, t.rows, span.count,
          {of_key.rows + span.first * plan_.width, plan_.width}, QuerySums(t, call_.parts - 1));
      AddTable(t, span, finite, vector_query_, 1 / double(kLog2E), share.d_key);
    }
    if (offered.value != nullptr) {
      SumRows(t, span, weights_);
      AddTable(t, span, finite, d_out_, 1, share.d_value);
    }
    if (offered.query != nullptr) AddQueryVectorGradients(t, span, finite);
  }

  // sums_ [rows, span] := the tile's values summed by the row of vectors their cells read.
  void SumRows(const TileAt& t, const VectorSpan& span, const float* tile) {
    for (Index i = 0; i < t.rows; ++i) {
      std::fill(sums_ + i * stride_, sums_ + i * stride_ + span.count, 0.0f);
      SumByRow(t, span, i, tile + i * kKeyBlock, sums_ + i * stride_);
    }
  }

  // table [rows, head_dim] += factor sums_^T right.
  void AddTable(const TileAt& t, const VectorSpan& span, bool finite, const float* right,
                double factor, std::vector<double>& table) {
    if (table.empty()) return;
    const Index rows = std::min(span.count, plan_.in.vectors.rows - span.first);
    SetProduct(finite, {sums_, 1, stride_}, rows, t.rows, {right, plan_.width});
    AddRows({table_, plan_.width}, rows, plan_.head_dim, factor,
            table.data() + span.first * plan_.head_dim);
  }

  // table_ := a right, where zeros of `a` may not meet what is not finite.
  void SetProduct(bool finite, const Left& a, Index count, Index inner, ConstRows right) {
    std::fill(table_, table_ + count * plan_.width, 0.0f);
    Add(finite, a, count, inner, right, {table_, plan_.width});
  }

  void AddQueryVectorGradients(const TileAt& t, const VectorSpan& span, bool finite) {
    const Rows sums{key_sums_, kKeyBlock};
    for (Index r = 0; r < span.rows; ++r) {
      std::fill(key_sums_ + r * kKeyBlock, key_sums_ + r * kKeyBlock + t.count, 0.0f);
    }
    Share& share = call_.ShareOf(t.head, share_);
    for (Index i = 0; i < t.rows; ++i) {
      const double dot =
          SumByRowAndKey(t, span, i, plan_.ScoreScale(t.q0 + i), d_scores_ + i * kKeyBlock,
                         {key_products_, kKeyBlock}, sums);
      if (!share.scores.empty()) share.scores[std::size_t(t.q0 + i)] += dot;
    }
    const PackedRows& vectors = *plan_.VectorsOf(t.head).query;
    const Index first = span.first + span.skip;
    Add(vectors.finite, {key_sums_, 1, kKeyBlock}, t.count, span.rows,
        {vectors.rows + first * plan_.width, plan_.width}, {d_key_, plan_.width});
    if (share.d_query_vectors.empty()) return;
    SetProduct(finite, {key_sums_, kKeyBlock, 1}, span.rows, t.count, {key_.rows, plan_.width});
    AddRows({table_, plan_.width}, span.rows, plan_.head_dim, 1 / double(kLog2E),
            share.d_query_vectors.data() + first * plan_.head_dim);
  }

  BackwardCall& call_;
  const AttentionPlan& plan_;
  Scratch::Slab slab_;
  const Index kv_, k0_, count_, share_, stride_;
  const PackedRows key_, value_;
  float *query_, *vector_query_, *d_out_, *weights_, *d_scores_, *band_, *d_key_, *d_value_;
  float *products_ = nullptr, *sums_ = nullptr, *key_products_ = nullptr, *key_sums_ = nullptr,
        *table_ = nullptr;
};

// The tiles of one share of a key head, one after the other.
void BackwardShare(BackwardCall& call, Index kv, Index share) {
  const Index tiles = (call.plan.keys + kKeyBlock - 1) / kKeyBlock;
  for (Index tile = share; tile < tiles; tile += call.shares) KeyTile(call, kv, tile).Run();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(BackwardShare);

void RunBackwardShare(BackwardCall& call, Index kv, Index share) {
  HWY_DYNAMIC_DISPATCH(BackwardShare)(call, kv, share);
}

}  // namespace sextant
#endif  // HWY_ONCE
