// Checks of decode calls, their chunks and their masks.
#include "sextant/kernels/decode_call.h"

#include <algorithm>
#include <limits>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

// Pieces are cut to at least this many keys, and to about this many pieces a call.
constexpr Index kLeastChunk = 256, kPieces = 128;
// Where a token's heads lie together, a piece reads this many bytes of them before the next token.
constexpr Index kSpanBytes = 4096;
constexpr Index kSmallBytes = Index{64} << 10;
constexpr std::int64_t kFarthest = std::int64_t{1} << 30;

void Fail(const std::string& rule) { throw Error("decode attention", rule); }

void CheckLayout(const HeadsLayout& heads, const void* data, const std::string& name) {
  if (heads.tokens < 0 || heads.heads < 0) Fail("counts of the " + name + " must not be negative");
  if (heads.token_stride < 0 || heads.head_stride < 0) {
    Fail("strides of the " + name + " must not be negative");
  }
  if (data == nullptr && heads.tokens > 0 && heads.heads > 0) Fail("the " + name + " has no data");
}

void CheckShapes(const DecodeAttention& in, const HeadsOut& out) {
  const HeadsIn &q = in.query, &k = in.key, &v = in.value;
  CheckLayout(q, q.data(), "query");
  CheckLayout(k, k.data(), "key");
  CheckLayout(v, v.data(), "value");
  CheckLayout(out, out.data(), "output");
  if (!k.SameShape(v)) Fail("key and value must have the same shape");
  if (q.head_dim != k.head_dim || q.head_dim < 1 || q.head_dim > 4096) {
    Fail("query and key must have the same head_dim from 1 to 4096, got " +
         std::to_string(q.head_dim) + " and " + std::to_string(k.head_dim));
  }
  if (k.heads < 1 || q.heads % k.heads != 0) {
    Fail("query heads must be a multiple of key heads, got " + std::to_string(q.heads) + " and " +
         std::to_string(k.heads));
  }
  if (q.tokens > kMostDecodeQueries) {
    Fail("there may be at most " + std::to_string(kMostDecodeQueries) + " queries, got " +
         std::to_string(q.tokens));
  }
  if (!out.SameShape(q)) Fail("the output must have the shape of the queries");
  if (Overlap(q, out) || Overlap(k, out) || Overlap(v, out)) {
    Fail("the output must not overlap an input");
  }
  if (in.window < 0) {
    Fail("the window must not be negative, got " + std::to_string(in.window));
  }
  if (q.tokens > 0 && in.query_position == nullptr && in.key_position != nullptr) {
    Fail("where keys have positions, queries must have them too");
  }
}

std::int64_t KeyPosition(const DecodeCall& call, Index key) {
  return call.runs_on ? call.first_position + key : call.in->key_position[key];
}

void PlacePositions(DecodeCall& call) {
  const DecodeAttention& in = *call.in;
  for (Index i = 0; i < call.queries; ++i) {
    call.query_position[i] =
        in.query_position == nullptr ? call.keys - call.queries + i : in.query_position[i];
  }
  if (call.queries == 0 || call.keys == 0) return;
  auto [least, most] = std::minmax_element(call.query_position, call.query_position + call.queries);
  std::int64_t first = std::min<std::int64_t>(*least, 0), last = std::max(*most, call.keys - 1);
  if (in.key_position != nullptr) {
    const auto [low, high] = std::minmax_element(in.key_position, in.key_position + call.keys);
    first = std::min(*least, *low);
    last = std::max(*most, *high);
    call.first_position = in.key_position[0];
    for (Index j = 0; j < call.keys && call.runs_on; ++j) {
      call.runs_on = in.key_position[j] - call.first_position == j;
    }
  }
  if (std::uint64_t(last) - std::uint64_t(first) >= std::uint64_t(kFarthest)) {
    Fail("positions must lie less than 2^30 apart, got " + std::to_string(first) + " and " +
         std::to_string(last));
  }
}

bool Valid(const DecodeAttention& in, Index key) {
  return in.key_valid == nullptr || in.key_valid[key] != 0;
}

struct Range {
  std::int64_t first, end;
};

// The distances that query and mask show, wherever keys are.
Range Distances(const DecodeAttention& in) {
  const std::int64_t far = in.window == 0 ? kFarthest : std::min(in.window, kFarthest);
  return {1 - far, in.causal ? 1 : far};
}

// Keys of first .. end - 1 that query i sees, where positions run on by one.
Range Seen(const DecodeCall& call, Index i, Index first, Index end) {
  const Range distances = Distances(*call.in);
  const std::int64_t place = call.query_position[i] - call.first_position;
  return {std::clamp<std::int64_t>(place + distances.first, first, end),
          std::clamp<std::int64_t>(place + distances.end, first, end)};
}

// Checks that the table covers the distances and leaves out the keys that no query sees.
void PlaceKeys(DecodeCall& call) {
  const DecodeAttention& in = *call.in;
  const Range shown = Distances(in);
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -least;
  call.begin = call.runs_on ? call.keys : 0;
  call.end = call.runs_on ? 0 : call.keys;
  for (Index i = 0; i < call.queries; ++i) {
    if (call.runs_on) {
      Range seen = Seen(call, i, 0, call.keys);
      while (seen.first < seen.end && !Valid(in, seen.first)) ++seen.first;
      while (seen.first < seen.end && !Valid(in, seen.end - 1)) --seen.end;
      if (seen.first >= seen.end) continue;
      const std::int64_t place = call.query_position[i] - call.first_position;
      call.begin = std::min(call.begin, seen.first);
      call.end = std::max(call.end, seen.end);
      least = std::min(least, seen.first - place);
      most = std::max(most, seen.end - 1 - place);
      continue;
    }
    for (Index j = 0; j < call.keys && in.bias != nullptr; ++j) {
      const std::int64_t distance = in.key_position[j] - call.query_position[i];
      if (distance < shown.first || distance >= shown.end || !Valid(in, j)) continue;
      least = std::min(least, distance);
      most = std::max(most, distance);
    }
  }
  call.begin = std::min(call.begin, call.end);
  if (in.bias == nullptr || least > most) return;
  // The difference of two 64-bit numbers needs an unsigned one.
  const std::uint64_t past = std::uint64_t(most) - std::uint64_t(in.first_distance);
  if (least < in.first_distance || past >= std::uint64_t(std::max<Index>(in.distances, 0))) {
    Fail("the bias must cover distances " + std::to_string(least) + " to " + std::to_string(most) +
         ", got " + std::to_string(in.distances) + " from " + std::to_string(in.first_distance) +
         " on");
  }
}

void Cut(DecodeCall& call) {
  const HeadsIn& keys = call.in->key;
  const Index count = call.end - call.begin;
  const Index share = (count * call.kv_heads + kPieces - 1) / kPieces;
  call.chunk_keys = std::max(kLeastChunk, (share + kDecodeBlock - 1) / kDecodeBlock * kDecodeBlock);
  call.chunks = (count + call.chunk_keys - 1) / call.chunk_keys;
  const bool by_token = keys.head_stride < keys.token_stride;
  const Index together = kSpanBytes / (keys.head_dim * BytesOf(keys.storage()));
  call.span_heads = by_token ? std::clamp<Index>(together, 1, call.kv_heads) : 1;
  call.spans = (call.kv_heads + call.span_heads - 1) / call.span_heads;
}

KeyBits Bits(Index first, Index end) {
  if (first >= end) return 0;
  return ~KeyBits{0} >> (kDecodeBlock - (end - first)) << first;
}

}  // namespace

DecodeCall::DecodeCall(const DecodeAttention& attention, const HeadsOut& out) : in(&attention) {
  CheckShapes(attention, out);
  queries = attention.query.tokens;
  keys = attention.key.tokens;
  kv_heads = attention.key.heads;
  head_dim = attention.key.head_dim;
  rows = attention.query.heads / kv_heads * queries;
  PlacePositions(*this);
  PlaceKeys(*this);
  Cut(*this);
}

bool DecodeCall::Small() const {
  const Index bytes = BytesOf(in->key.storage()) + BytesOf(in->value.storage());
  return (end - begin) * kv_heads * head_dim * bytes < kSmallBytes;
}

KeyBlock::KeyBlock(const DecodeCall& call, Index first_key, Index key_count)
    : first(first_key), count(key_count), runs_on(true), position(KeyPosition(call, first_key)) {
  const DecodeAttention& in = *call.in;
  KeyBits valid = Bits(0, count);
  for (Index j = 0; j < count && in.key_valid != nullptr; ++j) {
    if (!Valid(in, first + j)) valid &= ~(KeyBits{1} << j);
  }
  for (Index j = 0; j < count && runs_on && !call.runs_on; ++j) {
    runs_on = in.key_position[first + j] - position == j;
  }
  const Range shown = Distances(in);
  for (Index i = 0; i < call.queries; ++i) {
    if (call.runs_on) {
      const Range range = Seen(call, i, first, first + count);
      seen[i] = valid & Bits(range.first - first, range.end - first);
    } else {
      seen[i] = 0;
      for (Index j = 0; j < count; ++j) {
        const std::int64_t distance = in.key_position[first + j] - call.query_position[i];
        const bool is_shown = distance >= shown.first && distance < shown.end;
        seen[i] |= KeyBits{is_shown} << j;
      }
      seen[i] &= valid;
    }
    any |= seen[i];
  }
}

}  // namespace sextant
