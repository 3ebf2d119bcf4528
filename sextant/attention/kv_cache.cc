// Tokens kept in order; every change is planned in full before anything is written.
#include "sextant/attention/kv_cache.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "sextant/attention/double_heads.h"
#include "sextant/attention/encode.h"
#include "sextant/attention/encoded_scheme.h"
#include "sextant/attention/reference.h"
#include "sextant/attention/rerotate.h"
#include "sextant/attention/sizes.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::int64_t kLastPosition = std::int64_t{1} << 62;
constexpr Index kMaxAxes = 16;
constexpr Index kTurnSlice = 128;
constexpr Index kCheckedTokens = 64;  // at a time
// Tables by distance are made wider than asked for up to this many distances.
constexpr std::int64_t kWidest = std::int64_t{1} << 22;

[[noreturn]] void Fail(const std::string& rule, const std::string& hint = "") {
  throw Error("kv cache", rule, hint);
}

std::string ShapeText(const HeadsLayout& heads) {
  return "[" + std::to_string(heads.tokens) + ", " + std::to_string(heads.heads) + ", " +
         std::to_string(heads.head_dim) + "]";
}

// The largest position of any axis and one; 0 without positions.
std::int64_t LengthOf(const Positions& positions) {
  std::int64_t length = 0;
  for (Index axis = 0; positions.count() > 0 && axis < positions.axes(); ++axis) {
    for (std::int64_t position : positions.values[axis].span()) {
      length = std::max(length, position + 1);
    }
  }
  return length;
}

void CheckPositions(const Positions& positions, Index axes) {
  if (positions.count() == 0) return;
  if (positions.axes() != axes) {
    Fail("positions must have " + std::to_string(axes) + " axes, got " +
         std::to_string(positions.axes()));
  }
  for (Index axis = 0; axis < axes; ++axis) {
    for (std::int64_t position : positions.values[axis].span()) {
      if (position < 0) Fail("positions must not be negative, got " + std::to_string(position));
      if (position >= kLastPosition) {
        Fail("positions must be below 2^62, got " + std::to_string(position));
      }
    }
  }
}

using Fill = std::function<std::vector<double>(const Positions&)>;

Fill RowsOf(const Scheme& scheme, Weights weights) {
  return [&scheme, weights](const Positions& at) {
    Array<double, 2> rows({at.count(), scheme.model_dim()});
    scheme.FillAdditive(weights, at, rows);
    return rows.values();
  };
}

Fill KeyTurnsOf(const Scheme& scheme, Weights weights) {
  return [&scheme, weights](const Positions& at) {
    Array<double, 2> cos({at.count(), scheme.rotary_shape().rotated_dims / 2}), sin(cos.shape());
    scheme.FillRotary(weights, at, Side::kKey, cos, sin);
    std::vector<double> turns = cos.values();
    turns.insert(turns.end(), sin.values().begin(), sin.values().end());
    return turns;
  };
}

// Whether a table reads the length: at position 1 a turn is the frequency itself, and every rule
// that reads the length is another one at some power of two.
bool ReadsLength(const Fill& fill, Index axes, std::int64_t position) {
  Array<std::int64_t, 2> at({axes, 1});
  std::fill(at.values().begin(), at.values().end(), position);
  const std::vector<double> first = fill({at.view(), 1});
  for (int power = 1; power <= 40; ++power) {
    if (fill({at.view(), std::int64_t{1} << power}) != first) return true;
  }
  return false;
}

// The largest distance reached, rounded up to a power of two on each side.
Distances Wider(const Distances& shown, const Distances& before) {
  const auto round = [](std::int64_t reach) {
    return std::int64_t(std::bit_ceil(std::uint64_t(std::max<std::int64_t>(reach, 1))));
  };
  std::int64_t first = shown.first, last = shown.first + shown.count - 1;
  if (before.count > 0) {
    first = std::min(first, before.first);
    last = std::max(last, before.first + before.count - 1);
  }
  if (last - first >= kWidest) return shown;
  first = first < 0 ? -round(-first) : first;
  last = last > 0 ? round(last) : std::max<std::int64_t>(last, 0);
  return {first, last - first + 1};
}

bool Covers(const Distances& table, const Distances& shown) {
  return table.first <= shown.first && shown.first + shown.count <= table.first + table.count;
}

}  // namespace

struct KvCache::Following {
  Index first = 0, count = 0;
  HeadsEncoding encoding;  // of keys as given
  RotaryRows turns;        // of keys as they are
};

KvCache::KvCache(SchemePtr scheme, std::vector<std::vector<double>> weights,
                 const KvCacheSettings& settings)
    : settings_(settings),
      scheme_(std::move(scheme)),
      weights_(std::move(weights)),
      keys_(settings.storage, settings.capacity, settings.kv_heads, settings.head_dim),
      values_(settings.storage, settings.capacity, settings.kv_heads, settings.head_dim) {
  if (scheme_ == nullptr) Fail("needs a scheme");
  if (settings.axes < 1 || settings.axes > kMaxAxes) {
    Fail("axes must be 1 to 16, got " + std::to_string(settings.axes));
  }
  if (!scheme_->layer_pattern().empty()) {
    Fail("a model's layers differ; make a cache for each of the schemes of " + scheme_->name());
  }
  CheckWeights(*scheme_, weights_);
  const bool biased = scheme_->offers(Hook::kDistanceBias) || scheme_->offers(Hook::kTileBias);
  if (biased && scheme_->bias_heads() % settings.kv_heads != 0) {
    Fail("the " + std::to_string(scheme_->bias_heads()) + " heads of " + scheme_->name() +
         " must be a multiple of key heads, got " + std::to_string(settings.kv_heads));
  }
  if (scheme_->offers(Hook::kAdditive)) {
    RowStep(*scheme_, settings.kv_heads, settings.head_dim);
    if (ReadsLength(RowsOf(*scheme_, weights_), settings.axes, 0)) {
      Fail(scheme_->name() + " adds rows that change with the length",
           "what a model computed from them is lost in keys and values; compute all again");
    }
  }
  if (scheme_->offers(Hook::kRotary)) {
    CheckRotaryFits(*scheme_, settings.head_dim);
    follows_length_ = ReadsLength(KeyTurnsOf(*scheme_, weights_), settings.axes, 1);
    if (settings.moves == KeyMoves::kReencoded) {
      given_ =
          StoredHeads(settings.storage, settings.capacity, settings.kv_heads, settings.head_dim);
    }
  }
  positions_ = Array<std::int64_t, 2>({settings.axes, settings.capacity});
  Executor& executor =
      settings.run.executor != nullptr ? *settings.run.executor : DefaultExecutor();
  tables_ = std::make_unique<const KernelTables>(*scheme_, weights_, executor, settings.run.tables);
}

Positions KvCache::Held(Index first, Index count, std::int64_t length) const {
  const Shape<2> shape{settings_.axes, count}, stride{settings_.capacity, 1};
  return {{positions_.values().data() + first, shape, stride}, length};
}

std::size_t KvCache::bytes() const {
  return keys_.bytes() + values_.bytes() + (keeps_given() ? given_.bytes() : 0) +
         positions_.values().size() * sizeof(std::int64_t);
}

void KvCache::CheckAppend(const HeadsIn& key, const HeadsIn& value,
                          const Positions& positions) const {
  CheckLayout("key", key, key.data());
  CheckLayout("value", value, value.data());
  const HeadsLayout needed{key.tokens, settings_.kv_heads, settings_.head_dim};
  if (!key.SameShape(needed) || !value.SameShape(needed)) {
    Fail("keys and values must be [tokens, " + std::to_string(settings_.kv_heads) + ", " +
         std::to_string(settings_.head_dim) + "], got " + ShapeText(key) + " and " +
         ShapeText(value));
  }
  if (positions.count() != key.tokens) {
    Fail("every key needs one position, got " + std::to_string(positions.count()) + " for " +
         std::to_string(key.tokens) + " keys");
  }
  CheckPositions(positions, settings_.axes);
  std::int64_t last = size_ > 0 ? positions_(0, size_ - 1) : 0;
  for (Index n = 0; n < positions.count(); ++n) {
    const std::int64_t position = positions.values(0, n);
    if (position < last) {
      Fail("positions must not fall, got " + std::to_string(position) + " after " +
               std::to_string(last),
           "truncate to where the sequence goes on from");
    }
    last = position;
  }
  if (key.tokens > settings_.capacity - size_) {
    Fail("is full: " + std::to_string(size_) + " of " + std::to_string(settings_.capacity) +
             " tokens are held, " + std::to_string(key.tokens) + " more do not fit",
         "make it larger, or drop or shift tokens first");
  }
}

// Throws where a bias has no row for a position: Attend would find it out too late.
void KvCache::CheckServed(const Positions& positions) const {
  if (positions.count() == 0) return;
  const bool biased = scheme().offers(Hook::kDistanceBias) || scheme().offers(Hook::kTileBias);
  const Index heads = biased ? scheme().bias_heads() : settings_.kv_heads;
  const Positions first = Slice(positions, 0, 1);
  if (scheme().offers(Hook::kTileBias)) {
    Array<double, 3> tile({heads, 1, positions.count()});
    scheme().FillTileBias(weights_, first, positions, tile);
  }
  if (scheme().offers(Hook::kContextual)) {
    const Array<double, 3> query({heads, 1, settings_.head_dim});
    const Array<double, 3> key({settings_.kv_heads, positions.count(), settings_.head_dim});
    ReferenceAttention(EncodedScheme(scheme()), weights_,
                       {query, key, key, first, positions, {}, 1});
  }
}

// Throws where storage lost what was finite.
void KvCache::CheckStored(const HeadsIn& given, const HeadsIn& stored, const char* what) const {
  const auto lost = [&](Index head, Index token) {
    return !stored.Finite(head, token) && given.Finite(head, token);
  };
  const Index pieces = (stored.tokens + kCheckedTokens - 1) / kCheckedTokens;
  std::atomic<bool> any = false;
  const auto piece = [&](Index n) {
    const Index end = std::min(stored.tokens, (n + 1) * kCheckedTokens);
    for (Index token = n * kCheckedTokens; token < end; ++token) {
      for (Index h = 0; h < stored.heads; ++h) {
        if (lost(h, token)) any = true;
      }
    }
  };
  if (pieces <= 1) {
    for (Index n = 0; n < pieces; ++n) piece(n);
  } else {
    tables_->executor().Run(pieces, piece);
  }
  if (!any) return;
  for (Index h = 0; h < stored.heads; ++h) {
    for (Index n = 0; n < stored.tokens; ++n) {
      if (!lost(h, n)) continue;
      Fail(std::string(what) + " of head " + std::to_string(h) + " of token " +
               std::to_string(size_ + n) + " is too large for the storage",
           "bfloat16 and float32 reach to 3e38, float16 to 65504");
    }
  }
}

bool KvCache::RuleChanges(const Positions& held, std::int64_t length) const {
  if (!follows_length_ || held.count() == 0 || length == held.length) return false;
  if (settings_.axes == 1) {
    const auto now = scheme().turn_frequencies(weights_, held.length);
    if (now) return now != scheme().turn_frequencies(weights_, length);
  }
  // Any rule that changes turns the first, the last or one of those between otherwise.
  const Fill turns = KeyTurnsOf(scheme(), weights_);
  for (const Index n : {held.count() - 1, Index{0}, held.count() / 3, held.count() * 2 / 3}) {
    const Positions probe = Slice(held, n, 1);
    if (turns(probe) != turns({probe.values, length})) return true;
  }
  return false;
}

KvCache::Following KvCache::Follow(const Positions& from, const Positions& to, Index first) const {
  Following following;
  if (!scheme().offers(Hook::kRotary) || to.count() == 0) return following;
  following.first = first;
  following.count = to.count();
  switch (settings_.moves) {
    case KeyMoves::kReencoded:
      following.encoding =
          EncodingOf(*tables_, to, Side::kKey, settings_.kv_heads, settings_.head_dim);
      return following;
    case KeyMoves::kNone:
      Fail("keys of " + scheme().name() +
               " hold a rotation that must be turned, and the cache was made with KeyMoves::kNone",
           "make it with KeyMoves::kReencoded or KeyMoves::kTurned");
    case KeyMoves::kTurned:
      break;
  }
  // A key of (1, 0) in each pair turns into the cosine and the sine of its turn.
  const RotaryShape shape = scheme().rotary_shape();
  RotaryRows& turns = following.turns;
  turns.pairs = shape.rotated_dims / 2;
  for (Index at = 0; at < to.count(); at += kTurnSlice) {
    const Index count = std::min(kTurnSlice, to.count() - at);
    Array<double, 3> unit({1, count, settings_.head_dim});
    for (Index n = 0; n < count; ++n) {
      for (Index i = 0; i < turns.pairs; ++i) unit(0, n, ChannelsOf(shape, i).write0) = 1;
    }
    Rerotate({scheme(), weights_, Slice(from, at, count)},
             {scheme(), weights_, Slice(to, at, count)}, unit);
    for (Index n = 0; n < count; ++n) {
      for (Index i = 0; i < turns.pairs; ++i) {
        const PairChannels channels = ChannelsOf(shape, i);
        turns.cos.push_back(static_cast<float>(unit(0, n, channels.write0)));
        turns.sin.push_back(static_cast<float>(unit(0, n, channels.write1)));
        if (std::isfinite(turns.cos.back()) && std::isfinite(turns.sin.back())) continue;
        Fail("the key at position " + std::to_string(from.values(0, at + n)) +
                 " would have to grow more than float32 holds",
             "make the cache with KeyMoves::kReencoded");
      }
    }
  }
  return following;
}

void KvCache::Apply(const Following& following) {
  if (following.count == 0) return;
  const HeadsOut keys = keys_.Out(following.first, following.count);
  if (settings_.moves == KeyMoves::kReencoded) {
    return EncodeHeads(following.encoding, given_.In(following.first, following.count), keys,
                       tables_->executor());
  }
  TurnedChannels channels = TurnedChannelsOf(scheme().rotary_shape());
  channels.read = channels.write;
  TurnHeads(keys_.In(following.first, following.count), keys, following.turns.table(), channels,
            TurnDirection::kForth, tables_->executor());
}

void KvCache::Append(const HeadsIn& key, const HeadsIn& value, const Positions& positions) {
  CheckAppend(key, value, positions);
  const std::int64_t length = std::max({length_, positions.length, LengthOf(positions)});
  const Positions at{positions.values, length};
  CheckServed(at);
  Executor& executor = tables_->executor();
  const Index count = key.tokens;
  const HeadsEncoding encoding =
      EncodingOf(*tables_, at, Side::kKey, settings_.kv_heads, settings_.head_dim);
  Following following;
  if (RuleChanges(Held(0, size_, length_), length)) {
    following = Follow(Held(0, size_, length_), Held(0, size_, length), 0);
  }
  // What lies past the tokens held is no part of the cache yet. Keys are encoded from their stored
  // copy, so that encoding again gives the same bits.
  HeadsIn from = key;
  if (keeps_given()) {
    EncodeHeads({}, key, given_.Out(size_, count), executor);
    from = given_.In(size_, count);
  }
  EncodeHeads(encoding, from, keys_.Out(size_, count), executor);
  EncodeHeads({}, value, values_.Out(size_, count), executor);
  if (encoding.changes() || key.storage() != settings_.storage) {
    CheckStored(key, keys_.In(size_, count), "the encoded key");
  }
  if (value.storage() != settings_.storage) {
    CheckStored(value, values_.In(size_, count), "the value");
  }
  Apply(following);
  for (Index axis = 0; count > 0 && axis < settings_.axes; ++axis) {
    const auto row = positions.values[axis].span();
    std::copy(row.begin(), row.end(), positions_.view()[axis].data() + size_);
  }
  size_ += count;
  length_ = length;
}

void KvCache::Truncate(Index tokens) {
  if (tokens < 0 || tokens > size_) {
    Fail("holds " + std::to_string(size_) + " tokens and cannot be truncated to " +
         std::to_string(tokens));
  }
  Remove(tokens, size_ - tokens, After::kStays);
}

void KvCache::Drop(Index first, Index count) { Remove(first, count, After::kStays); }

void KvCache::Shift(Index first, Index count) { Remove(first, count, After::kMoves); }

void KvCache::Remove(Index first, Index count, After after) {
  if (first < 0 || count < 0 || first > size_ || count > size_ - first) {
    Fail("holds " + std::to_string(size_) + " tokens, not " + std::to_string(count) + " from " +
         std::to_string(first) + " on");
  }
  const Index left = size_ - count;
  std::int64_t by = 0;
  if (after == After::kMoves && first < left) {
    by = positions_(0, first + count) - positions_(0, first);
  }
  if (by != 0 && scheme().offers(Hook::kAdditive)) {
    Fail(scheme().name() +
             " adds its rows before a model's projections, so keys and values hold "
             "them mixed in and cannot move",
         "Drop keeps the positions of the later tokens");
  }
  Array<std::int64_t, 2> old({settings_.axes, left}), now(old.shape());
  for (Index axis = 0; axis < settings_.axes; ++axis) {
    for (Index n = 0; n < left; ++n) {
      old(axis, n) = positions_(axis, n < first ? n : n + count);
      now(axis, n) = old(axis, n) - (n < first ? 0 : by);
      if (now(axis, n) >= 0) continue;
      Fail("a shift by " + std::to_string(by) + " takes token " + std::to_string(n) +
           " to position " + std::to_string(now(axis, n)) + " on axis " + std::to_string(axis));
    }
  }
  const Positions from{old.view(), length_}, to{now.view(), LengthOf({now.view(), 0})};
  Index moved = by != 0 ? first : left;  // from here on keys are other ones
  if (RuleChanges(from, to.length)) moved = 0;
  const Following following =
      Follow(Slice(from, moved, left - moved), Slice(to, moved, left - moved), moved);
  const bool written_anew = settings_.moves == KeyMoves::kReencoded && following.count > 0;
  if (!written_anew) keys_.Erase(first, count, size_);
  values_.Erase(first, count, size_);
  if (keeps_given()) given_.Erase(first, count, size_);
  for (Index axis = 0; axis < settings_.axes; ++axis) {
    const auto row = now.view()[axis].span();
    std::copy(row.begin(), row.end(), positions_.view()[axis].data());
  }
  size_ = left;
  length_ = to.length;
  Apply(following);
}

const DistanceTables& KvCache::Covering(const Distances& shown, Index heads) {
  const Distances held = by_distance_.distances();
  const bool same_heads = by_distance_.vectors == nullptr || covered_heads_ == heads;
  if (shown.count == 0 || (same_heads && Covers(held, shown))) return by_distance_;
  const auto tables = [&](const Distances& distances) {
    return DistanceTables::Of(*tables_, distances, heads, settings_.head_dim);
  };
  try {
    by_distance_ = tables(Wider(shown, held));
  } catch (const Error&) {
    // The scheme may serve no more than what is asked for.
    by_distance_ = tables(shown);
  }
  covered_heads_ = heads;
  return by_distance_;
}

void KvCache::AttendByReference(const PositionedHeads& in, const Following& following,
                                const HeadsOut& out, float* log_sum_exp) {
  CheckServed(in.query_positions);
  const Array<double, 3> query =
      Encode(scheme(), weights_, in.query_positions, Side::kQuery, ToDouble(in.query).view());
  Apply(following);
  length_ = in.key_positions.length;
  const Array<double, 3> key = ToDouble(in.key), value = ToDouble(in.value);
  const AttentionOutput right = ReferenceAttention(
      EncodedScheme(scheme()), weights_,
      {query, key, value, in.query_positions, in.key_positions, in.mask, in.scale});
  FromDouble(right.out, out);
  if (log_sum_exp == nullptr) return;
  const std::vector<double>& sums = right.log_sum_exp.values();
  std::copy(sums.begin(), sums.end(), log_sum_exp);
}

void KvCache::Attend(const HeadsIn& query, const Positions& positions, const HeadsOut& out,
                     float* log_sum_exp, const AttentionMask& mask) {
  CheckPositions(positions, settings_.axes);
  const std::int64_t length = std::max({length_, positions.length, LengthOf(positions)});
  const Positions held = Held(0, size_, length);
  const PositionedHeads in{query, keys(), values(),       {positions.values, length},
                           held,  mask,   settings_.scale};
  CheckHeads(scheme(), weights_, in);
  CheckOut(in, out);
  Following following;
  if (RuleChanges(Held(0, size_, length_), length)) {
    following = Follow(Held(0, size_, length_), held, 0);
  }
  if (scheme().offers(Hook::kContextual)) {
    return AttendByReference(in, following, out, log_sum_exp);
  }
  DistanceTables by_distance;
  if (ReadsDistances(scheme())) {
    by_distance = Covering(DistancesShown(mask, in.query_positions, held), query.heads);
  }
  const FusedCall call(*tables_, in, settings_.run, std::move(by_distance));
  Apply(following);
  length_ = length;
  call.Forward(out, log_sum_exp);
}

}  // namespace sextant
