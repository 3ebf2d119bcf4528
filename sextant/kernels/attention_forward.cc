// The forward pass of fused attention: blocks of queries over tiles of keys, for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/attention_forward.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include <cmath>

#include "sextant/kernels/attention_rows-inl.h"
#include "sextant/kernels/paired_keys.h"

#ifndef SEXTANT_KERNELS_ATTENTION_FORWARD_ONCE
#define SEXTANT_KERNELS_ATTENTION_FORWARD_ONCE
namespace sextant {

// Keys and values packed by head and tile.
struct PackedKeys {
  Index tiles = 0;  // of a head
  Floats key_floats, value_floats;
  std::vector<PackedRows> key, value;  // [kv_heads, tiles]
  const PackedRows& Key(Index kv, Index tile) const { return key[std::size_t(kv * tiles + tile)]; }
  const PackedRows& Value(Index kv, Index tile) const {
    return value[std::size_t(kv * tiles + tile)];
  }
};

struct ForwardCall {
  const AttentionPlan& plan;
  Index tiles;
  const PackedKeys* packed;  // either these
  const PairedKeys* paired;  // or these
  const HeadsOut& out;
  float* log_sum_exp;
  Scratch& scratch;
};

inline Index ForwardFloats(const AttentionPlan& plan) {
  const Index rows = plan.most_rows() == 0 ? 0 : plan.most_rows() + kPanel;
  return kQueryBlock * (4 * plan.width + 2 * kKeyBlock + 2 * rows) + kKeyBlock * rows + 8 * kPanel;
}

}  // namespace sextant
#endif  // SEXTANT_KERNELS_ATTENTION_FORWARD_ONCE

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// The largest score; NaN if there is one.
float Most(const float* scores, const Stretch& columns) {
  const DF d;
  VF most = hn::Set(d, kHidden), zero = hn::Zero(d);
  for (Index j = columns.from; j < columns.to; j += Lanes()) {
    const VF s = hn::LoadU(d, scores + j);
    most = hn::Max(most, s);
    zero = hn::Or(zero, hn::IfThenElseZero(hn::IsNaN(s), hn::Set(d, 1.0f)));
  }
  if (!hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)))) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// scores := 2^(scores - most); returns their sum.
float Exponentials(float* scores, const Stretch& columns, float most) {
  const DF d;
  const VF shift = hn::Set(d, most);
  VF sum = hn::Zero(d), sum1 = hn::Zero(d);
  const Index lanes = Lanes();
  Index j = columns.from;
  for (; j + 2 * lanes <= columns.to; j += 2 * lanes) {
    const VF e = Exp2(hn::Sub(hn::LoadU(d, scores + j), shift));
    const VF e1 = Exp2(hn::Sub(hn::LoadU(d, scores + j + lanes), shift));
    hn::StoreU(e, d, scores + j);
    hn::StoreU(e1, d, scores + j + lanes);
    sum = hn::Add(sum, e);
    sum1 = hn::Add(sum1, e1);
  }
  if (j < columns.to) {
    const VF e = Exp2(hn::Sub(hn::LoadU(d, scores + j), shift));
    hn::StoreU(e, d, scores + j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, sum1)));
}

// A block of queries on its way through the tiles.
class Block {
 public:
  Block(const ForwardCall& call, Index head, Index q0)
      : plan_(call.plan),
        slab_(call.scratch),
        head_(head),
        q0_(q0),
        rows_(std::min(kQueryBlock, plan_.queries - q0)),
        stride_(plan_.most_rows() + kPanel),
        query_(slab_.Cut(kQueryBlock * plan_.width)),
        vector_query_(slab_.Cut(kQueryBlock * plan_.width)),
        sums_(slab_.Cut(kQueryBlock * plan_.width)),
        tile_(slab_.Cut(kQueryBlock * kKeyBlock)) {
    if (plan_.has_vectors()) {
      products_ = slab_.Cut(kQueryBlock * stride_);
      weights_ = slab_.Cut(kQueryBlock * stride_);
      key_products_ = slab_.Cut(stride_ * kKeyBlock);
    }
    const TileAt t = At(0, 0);
    if (call.paired != nullptr) {
      query_pairs_ = CutPairs(PairsOf(plan_.head_dim));
      weight_pairs_ = CutPairs(kKeyBlock / 2);
      CopyPairs(plan_.in.query, head, q0, rows_, PairsOf(plan_.head_dim), query_pairs_);
    }
    ReadQueries(t, plan_.in.vectors.content_bias, query_);
    if (plan_.in.vectors.key != nullptr) {
      ReadQueries(t, plan_.in.vectors.position_bias, vector_query_);
    }
    std::fill(sums_, sums_ + rows_ * plan_.width, 0.0f);
    for (Index i = 0; i < rows_; ++i) {
      most_[i] = kHidden;
      total_[i] = 0;
      if (plan_.skips()) reach_[i] = Norm(query_ + i * plan_.width, plan_.width);
    }
  }

  void Run(const ForwardCall& call) {
    // From the tile beside the last query outwards: nearby scores, which biases that fall with
    // distance leave highest, come first.
    const Index tiles = call.tiles;
    const Index beside = plan_.run ? q0_ + rows_ - 1 + plan_.lead : plan_.keys - 1;
    const Index first = std::clamp<Index>(beside / kKeyBlock, 0, tiles - 1);
    for (Index tile = first; tile >= 0; --tile) Visit(call, tile);
    for (Index tile = first + 1; tile < tiles; ++tile) Visit(call, tile);
    Finish(call);
  }

 private:
  TileAt At(Index k0, Index count) const { return TileAt(plan_, head_, q0_, rows_, k0, count); }

  void Visit(const ForwardCall& call, Index tile) {
    const Index k0 = tile * kKeyBlock;
    Index count = std::min(kKeyBlock, plan_.keys - k0);
    const Sight sight = plan_.Sees(q0_, rows_, k0, count);
    if (sight == Sight::kNone) return;
    if (!plan_.cellwise) count = std::min(count, plan_.SeenTo(q0_ + rows_ - 1) - k0);
    const TileAt t = At(k0, count);
    if (call.paired != nullptr) return VisitPairs(*call.paired, t, sight, tile);
    const Index kv = head_ / plan_.group;
    const PackedRows &key = call.packed->Key(kv, tile), &value = call.packed->Value(kv, tile);
    if (plan_.skips() && key.finite && value.finite && Negligible(t, key.longest, reach_, most_)) {
      return;
    }
    ContentScores(t, query_, key, tile_);
    VectorSpan span;
    if (plan_.has_vectors()) {
      span = SpanOf(t);
      AddVectorScores(t, span, key);
    }
    Softmax(t, sight);
    const ConstRows values(value.rows, plan_.width);
    if (sight == Sight::kSome && !value.finite) {
      ProductOfNonZeros({tile_, kKeyBlock, 1}, rows_, count, values, Sums(), plan_.width);
    } else {
      AddTileTimes(t, tile_, values, Sums());
    }
    if (plan_.in.vectors.value != nullptr) AddVectorValues(t, span);
  }

  // The same with products of pairs, whose scores are scaled after them: the query stays exact.
  void VisitPairs(const PairedKeys& paired, const TileAt& t, Sight sight, Index tile) {
    const Index kv = head_ / plan_.group, pairs = PairsOf(plan_.head_dim);
    if (plan_.skips() && Negligible(t, paired.Longest(kv, tile), reach_, most_)) return;
    const PairKernels& kernels = paired.kernels();
    kernels.product({query_pairs_, pairs}, rows_, pairs, {paired.Key(kv, tile), kPanel},
                    PairStart::kZero, tile_, kKeyBlock, t.padded());
    for (Index i = 0; i < rows_; ++i) {
      float* scores = tile_ + i * kKeyBlock;
      ScaleAndAddBias(t, i, scores);
    }
    Softmax(t, sight);
    for (Index i = 0; i < rows_; ++i) {
      const float* scores = tile_ + i * kKeyBlock;
      kernels.round(scores, t.padded(), weight_pairs_ + i * (kKeyBlock / 2));
    }
    kernels.product({weight_pairs_, kKeyBlock / 2}, rows_, PairsOf(t.count),
                    {paired.Value(kv, tile), plan_.width}, PairStart::kSums, sums_, plan_.width,
                    plan_.width);
  }

  void ScaleAndAddBias(const TileAt& t, Index i, float* scores) {
    const DF d;
    const VF scale = hn::Set(d, plan_.ScoreScale(q0_ + i));
    const bool biased = plan_.bias_stride > 0;
    const float* bias = biased && plan_.run ? plan_.BiasOf(head_) + t.Place(i) : nullptr;
    for (Index j = 0; j < t.padded(); j += Lanes()) {
      const VF add = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + j);
      hn::StoreU(hn::MulAdd(hn::LoadU(d, scores + j), scale, add), d, scores + j);
    }
    if (biased && !plan_.run) AddGatheredBias(t, i, scores);
    if (plan_.in.tile.values != nullptr) AddTileBias(t, i, scores);
  }

  // A block of rows of pairs, in a slab of floats of the same size.
  Pair* CutPairs(Index a_row) {
    void* memory = slab_.Cut(kQueryBlock * a_row);
    return static_cast<Pair*>(memory);
  }

  Rows Sums() const { return {sums_, plan_.width}; }

  void AddVectorScores(const TileAt& t, const VectorSpan& span, const PackedRows& key) {
    const PackedVectors& vectors = plan_.VectorsOf(head_);
    if (plan_.in.vectors.key != nullptr) {
      VectorProducts({vector_query_, plan_.width, 1}, rows_, *vectors.key, plan_, span,
                     {products_, stride_});
      for (Index i = 0; i < rows_; ++i) {
        AddByRow(t, span, i, products_ + i * stride_, tile_ + i * kKeyBlock);
      }
    }
    if (plan_.in.vectors.query == nullptr) return;
    KeyProducts(t, span, *vectors.query, key, {key_products_, kKeyBlock});
    for (Index i = 0; i < rows_; ++i) {
      AddByRowAndKey(t, span, i, plan_.ScoreScale(q0_ + i), {key_products_, kKeyBlock},
                     tile_ + i * kKeyBlock);
    }
  }

  void AddVectorValues(const TileAt& t, const VectorSpan& span) {
    const PackedRows& value = *plan_.VectorsOf(head_).value;
    for (Index i = 0; i < rows_; ++i) {
      float* weights = weights_ + i * stride_;
      std::fill(weights, weights + span.count, 0.0f);
      SumByRow(t, span, i, tile_ + i * kKeyBlock, weights);
    }
    const ConstRows vectors(value.rows + span.first * plan_.width, plan_.width);
    const Left weights{weights_, stride_, 1};
    if (value.finite) {
      Product(weights, rows_, span.count, vectors, Sums(), Sums(), plan_.width);
    } else {
      ProductOfNonZeros(weights, rows_, span.count, vectors, Sums(), plan_.width);
    }
  }

  // Turns scores into weights relative to the largest of the row so far. A few rows at a time,
  // which do not wait for each other.
  void Softmax(const TileAt& t, Sight sight) {
    for (Index first = 0; first < rows_; first += kTogether) {
      const Index end = std::min(first + kTogether, rows_);
      float here[kTogether];
      for (Index i = first; i < end; ++i) {
        float* scores = tile_ + i * kKeyBlock;
        Hide(t, i, sight, kHidden, scores);
        Clear(t, i, scores);
        here[i - first] = Most(scores, t.Computed(i));
      }
      for (Index i = first; i < end; ++i) Weigh(t, i, here[i - first]);
    }
  }

  void Weigh(const TileAt& t, Index i, float here) {
    float* scores = tile_ + i * kKeyBlock;
    const Stretch& computed = t.Computed(i);
    const float now = here > most_[i] || std::isnan(here) ? here : most_[i];
    if (now == kHidden) {
      std::fill(scores + computed.from, scores + computed.to, 0.0f);
      return;
    }
    const float sum = Exponentials(scores, computed, now);
    if (most_[i] != now && most_[i] != kHidden) {
      const float kept = std::isnan(now) ? now : std::exp2(most_[i] - now);
      total_[i] *= kept;
      ScaleRow(sums_ + i * plan_.width, plan_.width, kept);
    }
    total_[i] += sum;
    most_[i] = now;
  }

  void Finish(const ForwardCall& call) {
    for (Index i = 0; i < rows_; ++i) {
      const bool none = most_[i] == kHidden;
      float* row = sums_ + i * plan_.width;
      ScaleRow(row, plan_.width, none ? 0 : 1 / total_[i]);
      call.log_sum_exp[head_ * plan_.queries + q0_ + i] =
          none ? kHidden : (most_[i] + std::log2(total_[i])) / kLog2E;
    }
    WriteTokens(call.out, head_, q0_, rows_, sums_, plan_.width);
  }

  const AttentionPlan& plan_;
  Scratch::Slab slab_;
  const Index head_, q0_, rows_, stride_;
  float *query_, *vector_query_, *sums_, *tile_;
  Pair *query_pairs_ = nullptr, *weight_pairs_ = nullptr;
  float *products_ = nullptr, *weights_ = nullptr, *key_products_ = nullptr;
  // Of each row: the largest score so far, the sum of 2^(score - most), the norm of its left side.
  float most_[kQueryBlock], total_[kQueryBlock], reach_[kQueryBlock];
};

void ForwardBlock(const ForwardCall& call, Index head, Index q0) {
  Block(call, head, q0).Run(call);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(ForwardBlock);

namespace {

PackedKeys PackKeys(const AttentionPlan& plan, Executor& executor) {
  PackedKeys packed;
  packed.tiles = (plan.keys + kKeyBlock - 1) / kKeyBlock;
  const Index pieces = plan.kv_heads * packed.tiles;
  packed.key.resize(std::size_t(pieces));
  packed.value.resize(std::size_t(pieces));
  const Index tokens = packed.tiles * kKeyBlock;
  packed.key_floats = Floats(plan.kv_heads * tokens * plan.head_dim);
  packed.value_floats = Floats(plan.kv_heads * tokens * plan.width);
  executor.Run(pieces, [&](Index piece) {
    const Index kv = piece / packed.tiles, k0 = piece % packed.tiles * kKeyBlock;
    const Index count = std::min(kKeyBlock, plan.keys - k0), from = kv * tokens + k0;
    packed.key[std::size_t(piece)] = PackTokens(plan.in.key, kv, k0, count, nullptr,
                                                packed.key_floats.get() + from * plan.head_dim);
    packed.value[std::size_t(piece)] = PackTokens(
        plan.in.value, kv, k0, count, packed.value_floats.get() + from * plan.width, nullptr);
  });
  return packed;
}

void WriteNothingSeen(const AttentionPlan& plan, const HeadsOut& out, float* log_sum_exp) {
  const std::vector<float> zeros(std::size_t(plan.head_dim));
  for (Index h = 0; h < plan.heads; ++h) {
    for (Index i = 0; i < plan.queries; ++i) out.Write(i, h, zeros.data());
  }
  std::fill(log_sum_exp, log_sum_exp + plan.heads * plan.queries,
            -std::numeric_limits<float>::infinity());
}

}  // namespace

void AttentionForward(const FusedAttention& in, const HeadsOut& out, float* log_sum_exp,
                      Executor& callers) {
  const AttentionPlan plan(in);
  Executor& executor = plan.ExecutorFor(callers);
  plan.CheckOutput("the output", out, in.query);
  if (log_sum_exp == nullptr && plan.queries > 0) FailAttention("log_sum_exp has no numbers");
  if (plan.queries == 0 || plan.heads == 0) return;
  if (plan.keys == 0) return WriteNothingSeen(plan, out, log_sum_exp);
  Fetch({&in.query, &in.key, &in.value});
  PackedKeys packed;
  PairedKeys paired;
  const bool pairs = PairedKeys::Serve(plan);
  if (pairs) paired = PairedKeys(plan, executor);
  if (!pairs || !paired.finite()) packed = PackKeys(plan, executor);
  Scratch scratch(ForwardFloats(plan));
  const ForwardCall call{plan,    (plan.keys + kKeyBlock - 1) / kKeyBlock,
                         &packed, pairs && paired.finite() ? &paired : nullptr,
                         out,     log_sum_exp,
                         scratch};
  const Index blocks = (plan.queries + kQueryBlock - 1) / kQueryBlock;
  executor.Run(plan.heads * blocks, [&](Index piece) {
    // Causal blocks grow towards the end; the longest start first.
    const Index block = blocks - 1 - piece % blocks;
    HWY_DYNAMIC_DISPATCH(ForwardBlock)(call, piece / blocks, block * kQueryBlock);
  });
}

}  // namespace sextant
#endif  // HWY_ONCE
