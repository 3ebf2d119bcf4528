// Few queries against a cache of keys and values, for every SIMD target by Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/decode.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include "sextant/kernels/cache_rows-inl.h"
#include "sextant/kernels/decode.h"
#include "sextant/kernels/decode_call.h"
#include "sextant/kernels/exp2-inl.h"

#ifndef SEXTANT_KERNELS_DECODE_ONCE
#define SEXTANT_KERNELS_DECODE_ONCE
namespace sextant {

constexpr Index kBlock = kDecodeBlock;
constexpr Index kRows = 16;    // whose scores are held at a time
constexpr Index kWidest = 16;  // floats of the widest vector
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// A call and its rows of floats. A row of sums holds channels, then the lanes of the total of the
// weights, and last the largest score.
struct DecodeWork : DecodeCall {
  DecodeWork(const DecodeAttention& attention, const HeadsOut& out)
      : DecodeCall(attention, out),
        total((head_dim + kWidest - 1) / kWidest * kWidest),
        most(total + kWidest),
        stride(most + kWidest),
        query(Rows(rows * kv_heads * stride)),
        sums(Rows(chunks * rows * kv_heads * stride)) {}

  static hwy::AlignedFreeUniquePtr<float[]> Rows(Index floats) {
    auto all = hwy::AllocateAligned<float>(std::size_t(std::max<Index>(floats, 1)));
    if (all == nullptr) throw std::bad_alloc();
    return all;
  }

  Index total, most;                         // their place in a row
  Index stride;                              // of rows
  hwy::AlignedFreeUniquePtr<float[]> query;  // [rows], times the factor of the softmax in base 2
  hwy::AlignedFreeUniquePtr<float[]> sums;   // [chunks, rows]
};

}  // namespace sextant
#endif  // SEXTANT_KERNELS_DECODE_ONCE

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// Rows of queries whose sums with four keys, or with four vectors of a value, stay in registers.
constexpr int kTile = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 4 : 2;

// 2^(from - to), 1 where nothing changes (also from -inf to -inf).
float Shrink(float from, float to) {
  return from == to ? 1.0f : hn::GetLane(Exp2(hn::Set(DF(), from - to)));
}

// Four rows of a cache.
template <class T>
struct Four {
  const T* row[4];
};

// scores[r kBlock + j] = query row r . key j.
template <int rows, class T>
HWY_INLINE void Dots(const Channels& channels, const float* query, Index stride, const Four<T>& key,
                     float* scores) {
#if HWY_TARGET == HWY_SCALAR
  // One lane takes all channels: in double its sum is no worse than that of many lanes.
  for (int at = 0; at < 4 * rows; ++at) {
    const T* k = key.row[at % 4];
    double sum = 0;
    for (Index c = 0; c < channels.whole; ++c) {
      sum += double(query[at / 4 * stride + c]) * double(hn::GetLane(LoadFloats(k + c)));
    }
    scores[at / 4 * kBlock + at % 4] = float(sum);
  }
#else
  const DF d;
  VF sum[rows][4];
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < 4; ++j) sum[r][j] = hn::Zero(d);
  }
  const auto add = [&](Index place, const VF(&k)[4]) HWY_ATTR {
    for (int r = 0; r < rows; ++r) {
      const VF q = hn::Load(d, query + r * stride + place);
      for (int j = 0; j < 4; ++j) sum[r][j] = hn::MulAdd(q, k[j], sum[r][j]);
    }
  };
  for (Index c = 0; c < channels.whole; c += Lanes()) {
    add(c, {LoadFloats(key.row[0] + c), LoadFloats(key.row[1] + c), LoadFloats(key.row[2] + c),
            LoadFloats(key.row[3] + c)});
  }
  if (channels.shift != 0) {
    add(channels.whole, {LoadLast(key.row[0], channels), LoadLast(key.row[1], channels),
                         LoadLast(key.row[2], channels), LoadLast(key.row[3], channels)});
  }
  for (int r = 0; r < rows; ++r) StoreSums(sum[r], scores + r * kBlock);
#endif
}

// A few rows at work, number `row` of the kv head on, and for each its head, its query and the keys
// it sees.
struct Tile {
  Tile(const DecodeWork& call, const KeyBlock& block, Index kv_head, Index first_row)
      : kv(kv_head), row(first_row), rows(std::min(kRows, call.rows - first_row)) {
    Index h = (kv * call.rows + row) / call.queries, i = row % call.queries;
    for (Index r = 0; r < rows; ++r) {
      head[r] = h;
      query[r] = i;
      seen[r] = block.seen[i];
      i = i + 1 == call.queries ? 0 : i + 1;
      h += i == 0 ? 1 : 0;
    }
  }

  Index kv, row, rows;
  Index head[kRows], query[kRows];
  KeyBits seen[kRows];
};

template <class T>
void Scores(const DecodeWork& call, const KeyBlock& block, const Tile& tile, const Ahead& ahead,
            float* scores) {
  const HeadsIn& keys = call.in->key;
  const T* first = static_cast<const T*>(keys.data()) + keys.Offset(block.first, tile.kv);
  const float* query = call.query.get() + (tile.kv * call.rows + tile.row) * call.stride;
  const Channels channels(call.head_dim);
  for (Index j = 0; j < block.count; j += 4) {
    for (Index i = j; i < j + 4 && ahead.rows > 0; ++i) {
      ahead.FetchRow(i, call.head_dim * Index(sizeof(T)));
    }
    if ((block.any >> j & 15) == 0) continue;
    // Past the end the last key serves again; its scores there are hidden.
    const auto at = [&](Index i) {
      return first + std::min(i, block.count - 1) * keys.token_stride;
    };
    const Four<T> key{{at(j), at(j + 1), at(j + 2), at(j + 3)}};
    Index r = 0;
    for (; r + kTile <= tile.rows; r += kTile) {
      Dots<kTile>(channels, query + r * call.stride, call.stride, key, scores + r * kBlock + j);
    }
    const float* rest = query + r * call.stride;
    float* to = scores + r * kBlock + j;
    if constexpr (kTile == 4) {
      if (tile.rows - r == 3) Dots<3>(channels, rest, call.stride, key, to);
      if (tile.rows - r == 2) Dots<2>(channels, rest, call.stride, key, to);
    }
    if (tile.rows - r == 1) Dots<1>(channels, rest, call.stride, key, to);
  }
}

// Adds the bias in base 2 to the scores that row r of the tile sees.
void AddBias(const DecodeWork& call, const KeyBlock& block, const Tile& tile, Index r,
             float* scores) {
  const DecodeAttention& in = *call.in;
  const float* values = in.bias + tile.head[r] * in.bias_head_stride;
  const std::int64_t zero = call.query_position[tile.query[r]];
  if (!block.runs_on) {
    for (KeyBits left = tile.seen[r]; left != 0; left &= left - 1) {
      const int j = std::countr_zero(left);
      scores[j] += values[in.key_position[block.first + j] - zero - in.first_distance] * kLog2E;
    }
    return;
  }
  const DF d;
  const Index at = block.position - zero - in.first_distance;
  for (Index j = kBlock; j < 2 * kBlock && at + j < in.distances; j += kWidest) {
    Fetch(reinterpret_cast<const std::byte*>(values + at + j));
  }
  Index j = std::countr_zero(tile.seen[r]);
  const Index end = kBlock - std::countl_zero(tile.seen[r]);
  for (; j + Lanes() <= end; j += Lanes()) {
    const VF bias = hn::LoadU(d, values + at + j);
    hn::StoreU(hn::MulAdd(bias, hn::Set(d, kLog2E), hn::LoadU(d, scores + j)), d, scores + j);
  }
  for (; j < end; ++j) scores[j] += values[at + j] * kLog2E;
}

// Turns the scores of row r into weights 2^(score - most), adds them to the row's total, and
// returns the factor on what was summed before.
float Weights(const DecodeWork& call, const KeyBlock& block, const Tile& tile, Index r,
              float* scores, float* sums) {
  const DF d;
  if (tile.seen[r] == 0) return 1;
  if (call.in->bias != nullptr) AddBias(call, block, tile, r, scores);
  for (KeyBits hidden = ~tile.seen[r]; hidden != 0; hidden &= hidden - 1) {
    scores[std::countr_zero(hidden)] = kHidden;
  }
  VF largest = hn::Load(d, scores);
  for (Index j = Lanes(); j < kBlock; j += Lanes()) {
    largest = hn::Max(largest, hn::Load(d, scores + j));
  }
  float& most = sums[call.most];
  float kept = 1;
  if (!hn::AllTrue(d, hn::Le(largest, hn::Set(d, most)))) {
    const float now = std::max(most, hn::GetLane(hn::MaxOfLanes(d, largest)));
    kept = Shrink(most, now);
    most = now;
  }
  const VF shift = hn::Set(d, most == kHidden ? 0.0f : most);
  VF total = hn::Mul(hn::Load(d, sums + call.total), hn::Set(d, kept));
  for (Index j = 0; j < kBlock; j += Lanes()) {
    const VF weight = Exp2(hn::Sub(hn::Load(d, scores + j), shift));
    hn::Store(weight, d, scores + j);
    total = hn::Add(total, weight);
  }
  hn::Store(total, d, sums + call.total);
  return kept;
}

// Whole vectors of the channels of values, and the last one where they do not fill it.
template <class T>
struct WholeVectors {
  static constexpr Index kBytes = Index(sizeof(T));
  const T* first;
  Index stride;
  HWY_INLINE VF Vector(Index row, int v) const {
    return LoadFloats(first + row * stride + v * Lanes());
  }
};
template <class T>
struct LastVector {
  static constexpr Index kBytes = Index(sizeof(T));
  const T* first;
  Index stride;
  const Channels& channels;
  HWY_INLINE VF Vector(Index row, int) const { return LoadLast(first + row * stride, channels); }
};

// Of rows of sums: what values are multiplied by, kBlock for each row; what the sums are multiplied
// by before; which keys are seen.
struct Factors {
  const float *weights, *kept;
  const KeyBits* seen;

  Factors From(Index row) const { return {weights + row * kBlock, kept + row, seen + row}; }
};

// sums[r] = kept[r] sums[r] + weights of row r times the values of `count` keys from j0 on.
template <int rows, int vectors, class Source>
HWY_INLINE void AddKeys(const Source& source, Index j0, Index count, const Factors& factors,
                        const Ahead& ahead, float* sums, Index stride) {
  const DF d;
  const Index lanes = Lanes();
  VF sum[rows][vectors];
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (Index j = j0; j < j0 + count; ++j) {
    if (ahead.rows > 0) {
      const std::byte* next = ahead.Row(j);
      for (int v = 0; v < vectors; ++v) {
        if (v * lanes * Source::kBytes % kLine == 0) Fetch(next + v * lanes * Source::kBytes);
      }
    }
    VF value[vectors];
    for (int v = 0; v < vectors; ++v) value[v] = source.Vector(j, v);
    for (int r = 0; r < rows; ++r) {
      const VF weight = hn::Set(d, factors.weights[r * kBlock + j]);
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(weight, value[v], sum[r][v]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      float* to = sums + r * stride + v * lanes;
      hn::Store(hn::MulAdd(hn::Load(d, to), hn::Set(d, factors.kept[r]), sum[r][v]), d, to);
    }
  }
}

// One run of keys over all channels.
template <int rows, class T>
HWY_INLINE void AddRun(const DecodeWork& call, const T* first, Index j0, Index count,
                       const Factors& factors, Ahead ahead, float* sums) {
  const Channels channels(call.head_dim);
  const Index stride = call.in->value.token_stride, lanes = Lanes();
  Index c = 0;
  const auto add = [&]<int vectors>() HWY_ATTR {
    for (; c + vectors * lanes <= channels.whole; c += vectors * lanes) {
      AddKeys<rows, vectors>(WholeVectors<T>{first + c, stride}, j0, count, factors, ahead,
                             sums + c, call.stride);
      ahead.SkipBytes(vectors * lanes * Index(sizeof(T)));
    }
  };
  if constexpr (rows == 1) add.template operator()<8>();
  add.template operator()<4>();
  add.template operator()<1>();
  if (channels.shift == 0) return;
  AddKeys<rows, 1>(LastVector<T>{first, stride, channels}, j0, count, factors, ahead,
                   sums + channels.whole, call.stride);
}

// The keys in `seen`, run by run. With none, sums are still multiplied by `kept`.
template <int rows, class T>
void AddRuns(const DecodeWork& call, const T* first, KeyBits seen, Factors factors,
             const Ahead& ahead, float* sums) {
  constexpr float kAll[4] = {1, 1, 1, 1};
  do {
    const int j0 = seen == 0 ? 0 : std::countr_zero(seen);
    const int count = std::countr_one(seen >> j0);
    AddRun<rows>(call, first, j0, count, factors, ahead, sums);
    seen &= seen + (KeyBits{1} << j0);
    factors.kept = kAll;
  } while (seen != 0);
}

// Keys that all of these rows see are read once for them; a weight of 0 would not do for others,
// for 0 times infinity is NaN.
template <int rows, class T>
void AddRows(const DecodeWork& call, const T* first, const Factors& factors, const Ahead& ahead,
             float* sums) {
  KeyBits common = ~KeyBits{0};
  for (int r = 0; r < rows; ++r) common &= factors.seen[r];
  AddRuns<rows>(call, first, common, factors, ahead, sums);
  if (rows == 1) return;
  constexpr float kAll[1] = {1};
  for (int r = 0; r < rows; ++r) {
    const KeyBits own = factors.seen[r] & ~common;
    if (own == 0) continue;
    Factors of_row = factors.From(r);
    of_row.kept = kAll;
    AddRuns<1>(call, first, own, of_row, {}, sums + r * call.stride);
  }
}

template <class T>
void AddValues(const DecodeWork& call, const KeyBlock& block, const Tile& tile,
               const Factors& factors, Ahead ahead, float* sums) {
  const HeadsIn& values = call.in->value;
  const T* first = static_cast<const T*>(values.data()) + values.Offset(block.first, tile.kv);
  Index r = 0;
  const auto add = [&]<int rows>() HWY_ATTR {
    AddRows<rows>(call, first, factors.From(r), ahead, sums + r * call.stride);
    ahead = {};
    r += rows;
  };
  while (r + kTile <= tile.rows) add.template operator()<kTile>();
  if constexpr (kTile == 4) {
    if (tile.rows - r == 3) return add.template operator()<3>();
    if (tile.rows - r == 2) return add.template operator()<2>();
  }
  if (tile.rows - r == 1) add.template operator()<1>();
}

Ahead RowsAhead(const HeadsIn& heads, Index kv, Index first, Index count) {
  const Index bytes = heads.storage() == Storage::kF32 ? 4 : 2;
  const auto* data = static_cast<const std::byte*>(heads.data());
  return {data + heads.Offset(first, kv) * bytes, heads.token_stride * bytes, count};
}

// While the keys of a block are worked on its values are fetched, and with those the `next` keys.
void AttendBlock(const DecodeWork& call, const KeyBlock& block, Index kv, Ahead next, float* sums) {
  HWY_ALIGN float scores[kRows * kBlock];
  float kept[kRows];
  const HeadsIn &keys = call.in->key, &values = call.in->value;
  Ahead values_ahead = RowsAhead(values, kv, block.first, block.count);
  for (Index row = 0; row < call.rows; row += kRows) {
    const Tile tile(call, block, kv, row);
    if (keys.storage() == Storage::kF32) {
      Scores<float>(call, block, tile, values_ahead, scores);
    } else if (keys.storage() == Storage::kBf16) {
      Scores<Bf16>(call, block, tile, values_ahead, scores);
    } else {
      Scores<F16>(call, block, tile, values_ahead, scores);
    }
    float* to = sums + row * call.stride;
    for (Index r = 0; r < tile.rows; ++r) {
      kept[r] = Weights(call, block, tile, r, scores + r * kBlock, to + r * call.stride);
    }
    const Factors factors{scores, kept, tile.seen};
    if (values.storage() == Storage::kF32) {
      AddValues<float>(call, block, tile, factors, next, to);
    } else if (values.storage() == Storage::kBf16) {
      AddValues<Bf16>(call, block, tile, factors, next, to);
    } else {
      AddValues<F16>(call, block, tile, factors, next, to);
    }
    values_ahead = next = {};
  }
}

// One chunk of keys and a few kv heads.
void DecodePiece(const DecodeWork& call, Index piece) {
  const Index chunk = piece % call.chunks;
  const Index kv0 = piece / call.chunks * call.span_heads;
  const Index kv1 = std::min(kv0 + call.span_heads, call.kv_heads);
  const Index begin = call.begin + chunk * call.chunk_keys;
  const Index end = std::min(begin + call.chunk_keys, call.end);
  float* sums = call.sums.get() + (chunk * call.kv_heads + kv0) * call.rows * call.stride;
  for (Index row = 0; row < (kv1 - kv0) * call.rows; ++row) {
    float* to = sums + row * call.stride;
    std::fill(to, to + call.stride, 0.0f);
    to[call.most] = kHidden;
  }
  for (Index first = begin; first < end; first += kBlock) {
    const KeyBlock block(call, first, std::min(kBlock, end - first));
    if (block.any == 0) continue;
    const Index after = first + kBlock;
    for (Index kv = kv0; kv < kv1; ++kv) {
      Ahead next;
      if (kv + 1 < kv1) {
        next = RowsAhead(call.in->key, kv + 1, first, block.count);
      } else if (after < call.end) {
        next = RowsAhead(call.in->key, kv0, after, std::min(kBlock, call.end - after));
      } else if (kv1 < call.kv_heads) {
        next = RowsAhead(call.in->key, kv1, call.begin, block.count);
      }
      AttendBlock(call, block, kv, next, sums + (kv - kv0) * call.rows * call.stride);
    }
  }
}

void PlaceQueries(const DecodeWork& call) {
  const DecodeAttention& in = *call.in;
  const Channels channels(call.head_dim);
  std::vector<float> read(std::size_t(call.head_dim));
  for (Index row = 0; row < call.rows * call.kv_heads; ++row) {
    const Index head = row / call.queries, i = row % call.queries;
    in.query.Read(head, i, 1, call.head_dim, read.data());
    const double own = in.query_scale == nullptr ? 1.0 : double(in.query_scale[i]);
    const auto factor = float(double(in.scale) * own * 1.44269504088896341);
    float* to = call.query.get() + row * call.stride;
    std::fill(to, to + call.stride, 0.0f);
    for (Index c = 0; c < call.head_dim; ++c) {
      to[channels.Place(c)] = read[std::size_t(c)] * factor;
    }
  }
}

// Merges the chunks of a row in their order into the first of them; returns the log-sum-exp.
float MergeRow(const DecodeWork& call, Index row, float* out) {
  const DF d;
  const Index step = call.rows * call.kv_heads * call.stride;
  float* first = call.sums.get() + row * call.stride;
  float most = kHidden;
  for (Index c = 0; c < call.chunks; ++c) most = std::max(most, first[c * step + call.most]);
  float total = 0;
  for (Index c = 0; c < call.chunks; ++c) {
    const float* from = first + c * step;
    const float factor = Shrink(from[call.most], most);
    total += factor * hn::GetLane(hn::SumOfLanes(d, hn::Load(d, from + call.total)));
    for (Index at = 0; at < call.total; at += Lanes()) {
      const VF before = c == 0 ? hn::Zero(d) : hn::Load(d, first + at);
      hn::Store(hn::MulAdd(hn::Load(d, from + at), hn::Set(d, factor), before), d, first + at);
    }
  }
  const Channels channels(call.head_dim);
  // A total of NaN is kept.
  for (Index c = 0; c < call.head_dim; ++c) {
    out[c] = total == 0 ? 0.0f : first[channels.Place(c)] / total;
  }
  return total == 0 ? kHidden : (most + std::log2(total)) / kLog2E;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(PlaceQueries);
HWY_EXPORT(DecodePiece);
HWY_EXPORT(MergeRow);

void AttentionDecode(const DecodeAttention& in, const HeadsOut& out, float* log_sum_exp,
                     Executor& executor) {
  const DecodeWork call(in, out);
  if (call.rows == 0) return;
  HWY_DYNAMIC_DISPATCH(PlaceQueries)(call);
  const auto piece = [&](Index i) { HWY_DYNAMIC_DISPATCH(DecodePiece)(call, i); };
  (call.Small() ? SerialExecutor() : executor).Run(call.Pieces(), piece);
  std::vector<float> merged(std::size_t(call.head_dim));
  for (Index row = 0; row < call.rows * call.kv_heads; ++row) {
    const float sum = HWY_DYNAMIC_DISPATCH(MergeRow)(call, row, merged.data());
    out.Write(row % call.queries, row / call.queries, merged.data());
    if (log_sum_exp != nullptr) log_sum_exp[row] = sum;
  }
}

}  // namespace sextant
#endif  // HWY_ONCE
