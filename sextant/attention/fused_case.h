// A case of fused attention by its features, and random numbers for it.
#pragma once

#include <string>
#include <vector>

#include "sextant/attention/fused_testing.h"

namespace sextant {

enum class PositionsOf { kPlaces, kRun, kGathered };
// How rows of vector tables follow distances: one step a distance up to a clip, the same downwards,
// one row each, logarithmic buckets, no order at all.
enum class RowsOf { kClipped, kDescending, kEach, kBuckets, kArbitrary };
enum class Table { kNone, kShared, kPerHead };
// Whether tables cover the distances that they must and nothing else, or more.
enum class Cover { kExact, kMore };

struct FusedCase {
  Index queries = 13, keys = 29, heads = 2, kv_heads = 1, head_dim = 5;
  bool causal = false;
  Index window = 0;
  bool padded = false, packed = false, cells = false;
  PositionsOf positions = PositionsOf::kPlaces;
  std::int64_t first_position = 1 << 20;
  bool bias = false;
  Table tile = Table::kNone, vectors = Table::kNone;
  bool vector_key = true, vector_query = true, vector_value = true;  // which, where there are any
  bool content_bias = false, position_bias = false;  // the latter with vector_key alone
  RowsOf rows = RowsOf::kClipped;
  Index clip = 6;  // of distances, so that there are 2 clip + 1 rows
  bool query_scale = false;
  Storage query_as = Storage::kF32, key_as = Storage::kF32, value_as = Storage::kF32,
          out_as = Storage::kF32;
  HeadOrder order = HeadOrder::kTokensFirst;
  Cover cover = Cover::kExact;
  TileSkip skip = TileSkip::kWhereProvable;
  PairProducts pairs = PairProducts::kNever;
  double size = 1;  // of the queries
};

inline std::string Described(const FusedCase& c) {
  const char* rows[] = {"clipped", "descending", "each", "buckets", "arbitrary"};
  const char* positions[] = {"places", "run", "gathered"};
  const char* table[] = {"none", "shared", "per head"};
  const char* storage[] = {"f32", "bf16", "f16"};
  std::string text = std::to_string(c.queries) + " queries, " + std::to_string(c.keys) + " keys, " +
                     std::to_string(c.heads) + "/" + std::to_string(c.kv_heads) + " heads of " +
                     std::to_string(c.head_dim) + ", positions " + positions[int(c.positions)] +
                     ", window " + std::to_string(c.window) + ", tile " + table[int(c.tile)] +
                     ", vectors " + table[int(c.vectors)] + " rows " + rows[int(c.rows)] +
                     " clipped at " + std::to_string(c.clip) + ", stored " +
                     storage[int(c.query_as)] + " " + storage[int(c.key_as)] + " " +
                     storage[int(c.value_as)] + " " + storage[int(c.out_as)] + ":";
  const std::pair<bool, const char*> flags[] = {{c.causal, " causal"},
                                                {c.padded, " padded"},
                                                {c.packed, " packed"},
                                                {c.cells, " cells"},
                                                {c.bias, " bias"},
                                                {c.vector_key, " key"},
                                                {c.vector_query, " query"},
                                                {c.vector_value, " value"},
                                                {c.content_bias, " content_bias"},
                                                {c.position_bias, " position_bias"},
                                                {c.query_scale, " query_scale"},
                                                {c.order == HeadOrder::kHeadsFirst, " heads-first"},
                                                {c.cover == Cover::kExact, " exact-cover"},
                                                {c.skip == TileSkip::kNever, " no-skip"},
                                                {c.pairs == PairProducts::kWhereServed, " pairs"}};
  for (const auto& [set, name] : flags) {
    if (set) text += name;
  }
  return text;
}

// Random numbers, exact in their storage.
class PlainMaker {
 public:
  PlainMaker(const FusedCase& c, std::uint64_t seed) : c_(c), random_(seed) {}

  PlainAttention Make() {
    a_.queries = c_.queries;
    a_.keys = c_.keys;
    a_.heads = c_.heads;
    a_.kv_heads = c_.kv_heads;
    a_.head_dim = c_.head_dim;
    a_.scale = RoundToF32(1 / std::sqrt(double(c_.head_dim)));
    a_.query = Normal(c_.queries * c_.heads * c_.head_dim, c_.size, c_.query_as);
    a_.key = Normal(c_.keys * c_.kv_heads * c_.head_dim, 1, c_.key_as);
    a_.value = Normal(c_.keys * c_.kv_heads * c_.head_dim, 1, c_.value_as);
    a_.d_out = Normal(c_.queries * c_.heads * c_.head_dim, 1, c_.out_as);
    Positions();
    Mask();
    CoverDistances();
    if (c_.bias) a_.bias = Normal(c_.heads * a_.distances, 1);
    const Index tiles = c_.tile == Table::kPerHead ? c_.heads : 1;
    if (c_.tile != Table::kNone) a_.tile = Normal(tiles * c_.queries * c_.keys, 1);
    if (c_.vectors != Table::kNone) Vectors();
    if (c_.content_bias) a_.content_bias = Normal(c_.heads * c_.head_dim, 0.5);
    if (!a_.vector_key.empty() && c_.position_bias) {
      a_.position_bias = Normal(c_.heads * c_.head_dim, 0.5);
    }
    if (c_.query_scale) {
      a_.query_scale = Normal(c_.queries, 0.3);
      for (double& x : a_.query_scale) x = RoundToF32(1 + x);
    }
    return a_;
  }

 private:
  std::vector<double> Normal(Index count, double size, Storage storage = Storage::kF32) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& x : values) x = Rounded(storage, size * random_.Normal());
    return values;
  }
  bool Chance(double likely) { return random_.Uniform() < likely; }

  void Positions() {
    if (c_.positions == PositionsOf::kPlaces) return;
    const bool run = c_.positions == PositionsOf::kRun;
    // Runs start apart, gathered positions repeat and have no order.
    for (Index i = 0; i < c_.queries; ++i) {
      const Index at = run ? c_.keys / 2 + i : Index(random_.Below(std::uint64_t(c_.keys + 3)));
      a_.query_position.push_back(c_.first_position + at);
    }
    for (Index j = 0; j < c_.keys; ++j) {
      const Index at = run ? j : Index(random_.Below(std::uint64_t(c_.keys + 3)));
      a_.key_position.push_back(c_.first_position + at);
    }
  }

  void Mask() {
    a_.causal = c_.causal;
    a_.window = c_.window;
    for (Index j = 0; c_.padded && j < c_.keys; ++j) a_.key_valid.push_back(Chance(0.8) ? 3 : 0);
    if (c_.packed) {
      // Sequences lie one after the other, a third of the keys each, in places and in runs.
      const Index third = c_.keys / 3 + 1;
      for (Index i = 0; i < c_.queries; ++i) {
        a_.query_sequence.push_back(std::int32_t((c_.keys - c_.queries + i + 9 * third) / third));
      }
      for (Index j = 0; j < c_.keys; ++j) {
        a_.key_sequence.push_back(std::int32_t((j + 9 * third) / third));
      }
    }
    for (Index n = 0; c_.cells && n < c_.queries * c_.keys; ++n) {
      a_.cells.push_back(Chance(0.7) ? 1 : 0);
    }
  }

  // From the lowest to the highest distance of a query and a valid key of one sequence, as far as
  // causal and window reach; cells do not count.
  void CoverDistances() {
    std::int64_t first = 0, last = 0;
    bool any = false;
    for (std::size_t i = 0; i < std::size_t(c_.queries); ++i) {
      for (std::size_t j = 0; j < std::size_t(c_.keys); ++j) {
        if (c_.padded && a_.key_valid[j] == 0) continue;
        if (c_.packed && a_.key_sequence[j] != a_.query_sequence[i]) continue;
        const std::int64_t d = a_.Distance(Index(i), Index(j));
        first = any ? std::min(first, d) : d;
        last = any ? std::max(last, d) : d;
        any = true;
      }
    }
    if (c_.causal) last = std::min<std::int64_t>(last, 0);
    if (c_.window > 0) {
      first = std::max(first, 1 - c_.window);
      last = std::min(last, c_.window - 1);
    }
    if (first > last) first = last = 0;
    const Index more = c_.cover == Cover::kMore ? 7 : 0;
    a_.first_distance = first - more;
    a_.distances = last - first + 1 + 2 * more;
  }

  void Vectors() {
    const Index clip = c_.clip;
    const auto row = [&](std::int64_t d) -> std::int64_t {
      const std::int64_t clipped = std::clamp(d, -clip, clip);
      switch (c_.rows) {
        case RowsOf::kClipped:
          return clipped + clip;
        case RowsOf::kDescending:
          return clip - clipped;
        case RowsOf::kEach:
          return d - a_.first_distance;
        case RowsOf::kBuckets: {
          const auto bucket = std::min(clip, Index(2 * std::log2(1.0 + double(std::abs(d)))));
          return d < 0 ? clip - bucket : clip + bucket;
        }
        case RowsOf::kArbitrary:
          return std::int64_t(random_.Below(std::uint64_t(2 * clip + 1)));
      }
      return 0;
    };
    for (Index n = 0; n < a_.distances; ++n) {
      a_.row.push_back(std::int32_t(row(a_.first_distance + n)));
    }
    a_.rows = c_.rows == RowsOf::kEach ? a_.distances : 2 * clip + 1;
    const Index count = (c_.vectors == Table::kPerHead ? c_.heads : 1) * a_.rows * c_.head_dim;
    if (c_.vector_key) a_.vector_key = Normal(count, 0.5);
    if (c_.vector_query) a_.vector_query = Normal(count, 0.5);
    if (c_.vector_value) a_.vector_value = Normal(count, 0.5);
  }

  const FusedCase& c_;
  Random random_;
  PlainAttention a_;
};

// Causal with a bias, of bfloat16 that may be multiplied as pairs.
inline FusedCase Paired(Index queries, Index keys, Index head_dim) {
  FusedCase c{.queries = queries, .keys = keys, .head_dim = head_dim, .causal = true, .bias = true};
  c.query_as = c.key_as = c.value_as = Storage::kBf16;
  c.pairs = PairProducts::kWhereServed;
  return c;
}

inline PlainAttention MakePlain(const FusedCase& c, std::uint64_t seed = 7) {
  return PlainMaker(c, seed).Make();
}

}  // namespace sextant
