// Checks, ranges, tables and packs of fused attention; no SIMD of its own.
#include "sextant/kernels/attention_plan.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::size_t kAlignment = 64, kHugePage = std::size_t{1} << 21;
constexpr float kLog2E = 1.44269504088896341f;
constexpr std::int64_t kReach = std::int64_t{1} << 30;

std::string ShapeText(const HeadsLayout& heads) {
  return "[" + std::to_string(heads.tokens) + ", " + std::to_string(heads.heads) + ", " +
         std::to_string(heads.head_dim) + "]";
}

void CheckLayout(const char* name, const HeadsLayout& heads, const void* data) {
  if (heads.tokens < 0 || heads.heads < 0 || heads.head_dim < 0 || heads.token_stride < 0 ||
      heads.head_stride < 0) {
    FailAttention(std::string(name) + " has a negative size or stride: " + ShapeText(heads));
  }
  if (heads.tokens > kReach || heads.heads > 65536) {
    FailAttention(std::string(name) +
                  " has more than 2^30 tokens or 65536 heads: " + ShapeText(heads));
  }
  if (data == nullptr && heads.tokens > 0 && heads.heads > 0) {
    FailAttention(std::string(name) + " has no numbers");
  }
}

bool RunsOn(const std::int64_t* at, Index count) {
  for (Index n = 1; n < count; ++n) {
    if (at[n] - 1 != at[n - 1]) return false;
  }
  return true;
}

}  // namespace

void FailAttention(const std::string& rule) { throw Error("attention kernel", rule); }

Floats::Floats(Index count) {
  const auto bytes = static_cast<std::size_t>(count + kPanel) * sizeof(float);
  const bool huge = bytes >= 2 * kHugePage;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // Without huge pages all is well, but slower.
  if (huge) madvise(data, bytes, MADV_HUGEPAGE);
#endif
  data_.reset(static_cast<float*>(data));
}

void Floats::Free::operator()(float* data) const { std::free(data); }

Scratch::Slab::Slab(Scratch& scratch) : scratch_(scratch) {
  const std::lock_guard lock(scratch_.mutex_);
  if (scratch_.free_.empty()) {
    floats_ = Floats(scratch_.floats_);
  } else {
    floats_ = std::move(scratch_.free_.back());
    scratch_.free_.pop_back();
  }
}

Scratch::Slab::~Slab() {
  const std::lock_guard lock(scratch_.mutex_);
  scratch_.free_.push_back(std::move(floats_));
}

float* Scratch::Slab::Cut(Index count) {
  float* part = floats_.get() + used_;
  used_ += RoundUp(count, kPadding);
  return part;
}

void Fetch(std::initializer_list<const HeadsIn*> heads) {
  constexpr Index kLine = 64, kNear = Index{768} << 10;
  Index bytes = 0, tokens = 0;
  for (const HeadsIn* of : heads) {
    if (of->head_stride != of->head_dim) return;
    bytes += of->tokens * of->heads * of->head_dim * BytesOf(of->storage());
    tokens = std::max(tokens, of->tokens);
  }
  if (bytes > kNear) return;
  for (Index n = 0; n < tokens; ++n) {
    for (const HeadsIn* of : heads) {
      if (n >= of->tokens) continue;
      const Index size = BytesOf(of->storage());
      const auto* row = static_cast<const volatile std::byte*>(of->data());
      row += of->Offset(n, 0) * size;
      for (Index at = 0; at < of->heads * of->head_dim * size; at += kLine) (void)row[at];
    }
  }
}

float SquaredNorm(const float* x, Index count) {
  constexpr Index kSums = 16;
  float sums[kSums] = {};
  Index c = 0;
  for (; c + kSums <= count; c += kSums) {
    for (Index n = 0; n < kSums; ++n) sums[n] += x[c + n] * x[c + n];
  }
  for (; c < count; ++c) sums[0] += x[c] * x[c];
  float sum = 0;
  for (float part : sums) sum += part;
  return sum;
}

PackedTable::PackedTable(const float* from, Index count, Index head_dim)
    : floats_(RoundUp(count, kPanel) * (RoundUp(head_dim, kPadding) + head_dim)) {
  const HeadsOf<const float> table{from, count, 1, head_dim, head_dim, head_dim};
  float* rows = floats_.get();
  packed_ = PackTokens(table, 0, 0, count, rows,
                       rows + RoundUp(count, kPanel) * RoundUp(head_dim, kPadding));
}

AttentionPlan::AttentionPlan(const FusedAttention& input) : in(input) {
  CheckShapes();
  queries = in.query.tokens;
  keys = in.key.tokens;
  heads = in.query.heads;
  kv_heads = in.key.heads;
  group = heads / kv_heads;
  head_dim = in.query.head_dim;
  width = RoundUp(head_dim, kPadding);
  window = std::min<std::int64_t>(in.mask.window, 2 * kReach);
  cut = 40 + std::log2(float(std::max<Index>(keys, 1)));
  CheckVectors();
  FindPositions();
  FindGroups();
  FindDiagonals();
  FindPlaces();
  SetBias();
  SetVectors();
}

void AttentionPlan::CheckShapes() const {
  const HeadsIn &q = in.query, &k = in.key, &v = in.value;
  CheckLayout("the query", q, q.data());
  CheckLayout("the key", k, k.data());
  CheckLayout("the value", v, v.data());
  if (!k.SameShape(v)) {
    FailAttention("key and value must have the same shape, got " + ShapeText(k) + " and " +
                  ShapeText(v));
  }
  if (q.head_dim != k.head_dim || q.head_dim < 1 || q.head_dim > 4096) {
    FailAttention("query and key must have the same head_dim from 1 to 4096, got " +
                  std::to_string(q.head_dim) + " and " + std::to_string(k.head_dim));
  }
  if (k.heads < 1 || q.heads % k.heads != 0) {
    FailAttention("query heads must be a multiple of key heads, got " + std::to_string(q.heads) +
                  " and " + std::to_string(k.heads));
  }
  if (in.mask.window < 0)
    FailAttention("the window must be 0 or more, got " + std::to_string(in.mask.window));
  if ((in.mask.query_sequence == nullptr) != (in.mask.key_sequence == nullptr)) {
    FailAttention("sequences are given for queries and keys or for neither");
  }
  if ((in.query_position == nullptr) != (in.key_position == nullptr)) {
    FailAttention("positions are given for queries and keys or for neither");
  }
  if (in.distances < 0) FailAttention("there are " + std::to_string(in.distances) + " distances");
  if (in.bias.values != nullptr && in.bias.head_stride < in.distances) {
    FailAttention("the bias of a head must have " + std::to_string(in.distances) +
                  " distances, got " + std::to_string(in.bias.head_stride));
  }
  if (in.tile.values != nullptr &&
      (in.tile.row_stride < k.tokens ||
       (in.tile.head_stride != 0 && in.tile.head_stride < q.tokens * k.tokens))) {
    FailAttention("a tile bias has a row of " + std::to_string(k.tokens) + " keys for each of " +
                  std::to_string(q.tokens) + " queries, got strides " +
                  std::to_string(in.tile.row_stride) + " and " +
                  std::to_string(in.tile.head_stride));
  }
}

void AttentionPlan::CheckVectors() const {
  const VectorsByDistance& v = in.vectors;
  const bool tables = v.key != nullptr || v.query != nullptr || v.value != nullptr;
  if (v.position_bias != nullptr && v.key == nullptr) {
    FailAttention("a position bias needs vectors of keys");
  }
  if (!tables) return;
  if (v.row == nullptr || v.rows < 1)
    FailAttention("vectors by distance need a row for each distance");
  if (v.head_stride != 0 && v.head_stride < v.rows * head_dim) {
    FailAttention("the vectors of a head are " + std::to_string(v.rows * head_dim) +
                  " numbers, got a stride of " + std::to_string(v.head_stride));
  }
  for (Index d = 0; d < in.distances; ++d) {
    if (v.row[d] < 0 || v.row[d] >= v.rows) {
      FailAttention("row " + std::to_string(v.row[d]) + " of distance " +
                    std::to_string(in.first_distance + d) + " is not one of " +
                    std::to_string(v.rows));
    }
  }
}

void AttentionPlan::FindPositions() {
  const std::int64_t *q = in.query_position, *k = in.key_position;
  if (q == nullptr || queries == 0 || keys == 0) {
    lead = keys - queries;
    return;
  }
  run = RunsOn(q, queries) && RunsOn(k, keys);
  const auto [k_min, k_max] = std::minmax_element(k, k + keys);
  const auto [q_min, q_max] = std::minmax_element(q, q + queries);
  const std::int64_t low = std::min(*q_min, *k_min), high = std::max(*q_max, *k_max);
  // The difference of any two int64 fits an unsigned one.
  if (std::uint64_t(high) - std::uint64_t(low) >= std::uint64_t(kReach)) {
    FailAttention("positions must lie within 2^30 of each other, got " + std::to_string(low) +
                  " and " + std::to_string(high));
  }
  lead = *q - *k;
  if (run) return;
  for (Index i = 0; i < queries; ++i) query_at.push_back(std::int32_t(q[i] - low));
  for (Index j = 0; j < keys; ++j) key_at.push_back(std::int32_t(k[j] - low));
}

void AttentionPlan::FindGroups() {
  const KernelMask& mask = in.mask;
  cellwise =
      mask.key_valid != nullptr || mask.query_sequence != nullptr || mask.cells != nullptr || !run;
  if (!cellwise) return;
  query_group.assign(std::size_t(queries), 0);
  key_group.assign(std::size_t(keys + kPadding), 0);
  if (mask.query_sequence != nullptr) {
    std::copy(mask.query_sequence, mask.query_sequence + queries, query_group.begin());
    std::copy(mask.key_sequence, mask.key_sequence + keys, key_group.begin());
    for (std::int32_t id : query_group) {
      if (id == kNoGroup) FailAttention("a sequence may not be numbered -2^31");
    }
  }
  for (Index j = 0; mask.key_valid != nullptr && j < keys; ++j) {
    if (mask.key_valid[j] == 0) key_group[std::size_t(j)] = kNoGroup;
  }
  if (run) {
    const Index low = std::min<Index>(lead, 0);
    for (Index i = 0; i < queries; ++i) query_at.push_back(std::int32_t(i + lead - low));
    for (Index j = 0; j < keys; ++j) key_at.push_back(std::int32_t(j - low));
  }
  key_at.resize(std::size_t(keys + kPadding));
  query_ranges_ = RangesOf(query_at, query_group, queries, kQueryBlock);
  key_ranges_ = RangesOf(key_at, key_group, keys, kKeyBlock);
}

void AttentionPlan::FindDiagonals() {
  first_diagonal = -queries;
  last_diagonal = keys;
  if (cellwise) return;
  if (in.mask.causal) last_diagonal = lead;
  if (window == 0) return;
  first_diagonal = lead - window + 1;
  last_diagonal = std::min<Index>(last_diagonal, lead + window - 1);
}

std::vector<AttentionPlan::Range> AttentionPlan::RangesOf(const std::vector<std::int32_t>& at,
                                                          const std::vector<std::int32_t>& group,
                                                          Index count, Index block) {
  std::vector<Range> ranges;
  for (Index first = 0; first < count; first += block) {
    Range range{at[std::size_t(first)], at[std::size_t(first)], group[std::size_t(first)],
                group[std::size_t(first)]};
    for (auto n = std::size_t(first); n < std::size_t(std::min(first + block, count)); ++n) {
      range.at_min = std::min(range.at_min, at[n]);
      range.at_max = std::max(range.at_max, at[n]);
      range.group_min = std::min(range.group_min, group[n]);
      range.group_max = std::max(range.group_max, group[n]);
    }
    ranges.push_back(range);
  }
  return ranges;
}

// Sets which distances are seen, and checks that the tables cover them.
void AttentionPlan::FindPlaces() {
  const bool tables = in.bias.values != nullptr || in.vectors.key != nullptr ||
                      in.vectors.query != nullptr || in.vectors.value != nullptr;
  if (!tables || queries == 0 || keys == 0) return;
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = -low;
  const auto widen = [&](std::int64_t q_min, std::int64_t q_max, std::int64_t k_min,
                         std::int64_t k_max) {
    low = std::min(low, k_min - q_max);
    high = std::max(high, k_max - q_min);
  };
  if (!cellwise) {
    widen(lead, lead + queries - 1, 0, keys - 1);
  } else {
    std::map<std::int32_t, Range> of_queries;  // at_min, at_max by group
    for (std::size_t i = 0; i < query_at.size(); ++i) {
      Range& range = of_queries.try_emplace(query_group[i], Range{query_at[i], query_at[i], 0, 0})
                         .first->second;
      range.at_min = std::min(range.at_min, query_at[i]);
      range.at_max = std::max(range.at_max, query_at[i]);
    }
    for (auto j = std::size_t(0); j < std::size_t(keys); ++j) {
      const auto found = of_queries.find(key_group[j]);
      if (found == of_queries.end()) continue;
      widen(found->second.at_min, found->second.at_max, key_at[j], key_at[j]);
    }
  }
  if (in.mask.causal) high = std::min<std::int64_t>(high, 0);
  if (window > 0) {
    low = std::max(low, 1 - window);
    high = std::min(high, window - 1);
  }
  const bool seen = low <= high;
  // Of any two numbers the larger less the smaller fits an unsigned one.
  if (seen && (in.first_distance > low || std::uint64_t(high) - std::uint64_t(in.first_distance) >=
                                              std::uint64_t(in.distances))) {
    FailAttention("tables must hold the distances " + std::to_string(low) + " to " +
                  std::to_string(high) + ", got " + std::to_string(in.distances) + " from " +
                  std::to_string(in.first_distance) + " on");
  }
  covered = seen ? high - low + 1 : 0;
  first_covered_distance = seen ? low - in.first_distance : 0;
  if (run) {
    places = queries + keys - 1;
    first_covered = seen ? low + lead + queries - 1 : 0;
    first_place = 0;
  } else {
    places = std::max<Index>(covered, 1);
    first_covered = 0;
    first_place = seen ? std::int32_t(low) : 0;
  }
}

void AttentionPlan::SetBias() {
  if (in.bias.values == nullptr || places == 0) return;
  // Tiles read whole panels past the last key.
  bias_stride = places + kKeyBlock;
  bias = Floats(heads * bias_stride);
  std::fill(bias.get(), bias.get() + heads * bias_stride, 0.0f);
  for (Index h = 0; h < heads; ++h) {
    const float* from = in.bias.values + h * in.bias.head_stride + first_covered_distance;
    float* to = bias.get() + h * bias_stride + first_covered;
    for (Index n = 0; n < covered; ++n) to[n] = from[n] * kLog2E;
  }
}

void AttentionPlan::SetVectors() {
  const VectorsByDistance& v = in.vectors;
  if ((v.key == nullptr && v.query == nullptr && v.value == nullptr) || places == 0) return;
  row.assign(std::size_t(places + kKeyBlock), 0);
  for (Index n = 0; covered > 0 && n < places; ++n) {
    row[std::size_t(n)] =
        v.row[first_covered_distance + std::clamp<Index>(n - first_covered, 0, covered - 1)];
  }
  const auto end = row.begin() + places;
  rows_backwards = row.front() > *(end - 1);
  if (rows_backwards) {
    for (auto n = row.begin(); n != end; ++n) *n = std::int32_t(v.rows - 1 - *n);
  }
  rows_by_one = true;
  for (auto n = row.begin() + 1; n < end; ++n) {
    if (*n != *(n - 1) && *n != *(n - 1) + 1) rows_by_one = false;
  }
  std::fill(end, row.end(), *(end - 1));
  std::vector<float> turned;
  const auto pack = [&](const float* table, Index head) {
    if (table == nullptr) return PackedTable();
    table += head * v.head_stride;
    if (!rows_backwards) return PackedTable(table, v.rows, head_dim);
    turned.clear();
    for (Index r = v.rows; r-- > 0;) {
      turned.insert(turned.end(), table + r * head_dim, table + (r + 1) * head_dim);
    }
    return PackedTable(turned.data(), v.rows, head_dim);
  };
  for (Index h = 0; h < (v.head_stride == 0 ? 1 : heads); ++h) {
    vectors.push_back({pack(v.key, h), pack(v.query, h), pack(v.value, h)});
  }
}

float AttentionPlan::ScoreScale(Index i) const {
  return in.scale * kLog2E * (in.query_scale == nullptr ? 1.0f : in.query_scale[std::size_t(i)]);
}

void AttentionPlan::CheckOutput(const char* name, const HeadsOut& out,
                                const HeadsLayout& like) const {
  CheckLayout(name, out, out.data());
  if (!out.SameShape(like)) {
    FailAttention(std::string(name) + " must have the shape " + ShapeText(like) + ", got " +
                  ShapeText(out));
  }
  for (const HeadsIn* input : {&in.query, &in.key, &in.value}) {
    if (Overlap(*input, out)) FailAttention(std::string(name) + " overlaps an input");
  }
}

Sight AttentionPlan::Sees(Index q0, Index rows, Index k0, Index count) const {
  const Index last = q0 + rows - 1, end = k0 + count;
  if (!cellwise) {
    if (k0 >= SeenTo(last) || end <= SeenFrom(q0)) return Sight::kNone;
    return end <= SeenTo(q0) && k0 >= SeenFrom(last) ? Sight::kAll : Sight::kSome;
  }
  const Range& q = query_ranges_[std::size_t(q0 / kQueryBlock)];
  const Range& k = key_ranges_[std::size_t(k0 / kKeyBlock)];
  if (in.mask.causal && k.at_min > q.at_max) return Sight::kNone;
  if (window > 0 && (k.at_min - q.at_max >= window || q.at_min - k.at_max >= window)) {
    return Sight::kNone;
  }
  if (k.group_min > q.group_max || k.group_max < q.group_min) return Sight::kNone;
  const bool one_group =
      q.group_min == q.group_max && k.group_min == q.group_min && k.group_max == q.group_min;
  const bool near = window == 0 || (k.at_max - q.at_min < window && q.at_max - k.at_min < window);
  const bool before = !in.mask.causal || k.at_max <= q.at_min;
  return one_group && near && before && in.mask.cells == nullptr ? Sight::kAll : Sight::kSome;
}

AttentionPlan::Places AttentionPlan::PlacesOf(Index q0, Index rows, Index k0, Index count) const {
  if (run) return {queries - 1 + k0 - (q0 + rows - 1), queries - 1 + (k0 + count - 1) - q0};
  const Range& q = query_ranges_[std::size_t(q0 / kQueryBlock)];
  const Range& k = key_ranges_[std::size_t(k0 / kKeyBlock)];
  return {std::clamp<Index>(k.at_min - q.at_max - first_place, 0, places - 1),
          std::clamp<Index>(k.at_max - q.at_min - first_place, 0, places - 1)};
}

AttentionPlan::Places AttentionPlan::RowsOf(const Places& at) const {
  const auto first = row.begin() + at.first, last = row.begin() + at.last;
  if (rows_by_one) return {*first, *last};
  const auto [low, high] = std::minmax_element(first, last + 1);
  return {*low, *high};
}

Executor& AttentionPlan::ExecutorFor(Executor& callers) const {
  constexpr Index kSmall = Index{1} << 19;  // products; some ten microseconds
  return heads * queries * keys * head_dim <= kSmall ? SerialExecutor() : callers;
}

Index AttentionPlan::most_rows() const {
  if (!has_vectors()) return 0;
  const Index all = RoundUp(in.vectors.rows, kPanel);
  // Two panels more, because they start and end at whole ones.
  const Index near = RoundUp(kQueryBlock + kKeyBlock, kPanel) + 2 * kPanel;
  return rows_by_one && run ? std::min(all, near) : all;
}

}  // namespace sextant
