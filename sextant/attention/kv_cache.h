// Keys and values of one sequence for decoding: append, truncate, drop, shift, and rules that
// change with the length, the same as computing everything again.
#pragma once

#include <memory>
#include <vector>

#include "sextant/attention/fused_call.h"
#include "sextant/attention/stored_heads.h"

namespace sextant {

// How keys that hold a rotation follow when their positions move (Shift) or their rule changes with
// the length (dynamic NTK, LongRoPE). Other schemes need nothing of it.
enum class KeyMoves {
  // A copy of each key as it was given is kept in the same storage, half as much memory again, and
  // encoded afresh: keys are those of a cache filled from the start, bit for bit, whatever came
  // before.
  kReencoded,
  // Keys are turned again where they are, as rerotate.h does, in no more memory. Every time rounds
  // again, by at most 2^-22 of a key's length in float32, 2^-11 in float16 and 2^-8 in bfloat16,
  // and
  // n times by up to n as much: a turn smaller than half a unit is rounded away, so in 16 bits
  // repeated small shifts never turn the slow pairs. For float32, and for few large shifts. Not
  // where a magnitude of 0 lost the key.
  kTurned,
  // They do not: Shift and a length at which the rule changes are errors. No more memory.
  kNone,
};

struct KvCacheSettings {
  Index capacity = 0;  // tokens, for good
  Index kv_heads = 0, head_dim = 0;
  Index axes = 1;  // of positions
  Storage storage = Storage::kF32;
  KeyMoves moves = KeyMoves::kReencoded;
  double scale = 0;  // of the softmax; 0: 1 / sqrt(head_dim)
  // Where it runs and what it may keep; one TableCache serves the caches of a model's layers. What
  // it points to outlives the cache.
  AttentionSettings run = {};
};

// The cache of one layer and one sequence. What Attend gives is ReferenceAttention of the queries
// over the tokens that are left, at the positions they have now and with the length the sequence
// has now, as if nothing had been there before:
//   * Positions are given, never counted; along axis 0 they may repeat and do not fall.
//   * The sequence's length, which some rules read, is the largest that an Append or Attend stated
//     since the last Truncate, Drop or Shift, and more than every position in either. Where that
//     changes a rule, all keys follow at once.
//   * Keys are stored encoded, so decoding reads them once; values as given.
// Float32 storage is as exact as Attention; 16-bit storage rounds keys and values once, and keys
// once more where both the key given and the encoded one are rounded (kReencoded).
//
// What cannot be cached, and says so:
//   * Additive rows (sinusoidal, learned) cannot be shifted: a model adds them before its
//     projections, so keys and values hold them mixed in. They can be appended, truncated and
//     dropped. Rows that change with the length cannot be cached at all.
//   * Past the end of a learned table or a window of cells there is no row: Append refuses.
//   * A policy by layer is no scheme: make a cache for each layer's own.
// Contextual schemes are computed by the double reference, in memory of heads * queries * tokens.
//
// Memory is taken when the cache is made; a decoding step allocates scratch alone. Every method
// that throws leaves the cache as it was. Not for several threads at once.
class KvCache {
 public:
  // Throws Error where sizes are not positive or too large, the scheme is by layer or was made for
  // other heads, weights do not fit, or rows change with the length.
  KvCache(SchemePtr scheme, std::vector<std::vector<double>> weights,
          const KvCacheSettings& settings);

  // Adds keys and values [tokens, kv_heads, head_dim], as given to Attention, of any storage, at
  // positions [axes, tokens]. Throws Error where the cache would be full, shapes differ, positions
  // are negative or fall, the scheme has no table for one, an encoded key or a value does not fit
  // the storage, or the rule changes and keys cannot follow.
  void Append(const HeadsIn& key, const HeadsIn& value, const Positions& positions);

  // Keeps the first `tokens`. The length becomes the largest position left and one. Throws Error
  // where there are fewer.
  void Truncate(Index tokens);

  // Lets tokens first .. first + count - 1 go; the later ones keep their positions. The length
  // becomes the largest position left and one. Throws Error where there are no such tokens.
  void Drop(Index first, Index count);

  // The same, and the later tokens move down on every axis, so that the next one stands where the
  // first dropped one stood along axis 0: a context shift, as of llama.cpp, and the rolling cache
  // of StreamingLLM (Xiao et al. 2023, arXiv 2309.17453, section 3.2). All later tokens are copied
  // and their keys encoded, so shift by several at a time. Throws Error where Drop does, the scheme
  // adds rows, a position would be negative, or keys cannot follow.
  void Shift(Index first, Index count);

  // out [queries, heads, head_dim] and log_sum_exp [heads, queries] or null, as Attention's, of
  // queries at positions [axes, queries] over the tokens held; append a query's own key first. The
  // spans of a mask have an entry for each token held. Throws Error where Attention does.
  void Attend(const HeadsIn& query, const Positions& positions, const HeadsOut& out,
              float* log_sum_exp = nullptr, const AttentionMask& mask = {.causal = true});

  Index size() const { return size_; }
  Index capacity() const { return settings_.capacity; }
  std::int64_t length() const { return length_; }
  // Of the tokens held, until the next change.
  Positions positions() const { return Held(0, size_, length_); }
  HeadsIn keys() const { return keys_.In(0, size_); }  // encoded
  HeadsIn values() const { return values_.In(0, size_); }
  // Taken for good: keys, values, copies and positions.
  std::size_t bytes() const;

 private:
  // Keys first .. first + count - 1 made right for other positions or another length.
  struct Following;

  Positions Held(Index first, Index count, std::int64_t length) const;
  const Scheme& scheme() const { return tables_->scheme(); }
  bool keeps_given() const { return !given_.empty(); }
  void CheckAppend(const HeadsIn& key, const HeadsIn& value, const Positions& positions) const;
  void CheckServed(const Positions& positions) const;
  void CheckStored(const HeadsIn& given, const HeadsIn& stored, const char* what) const;
  bool RuleChanges(const Positions& held, std::int64_t length) const;
  Following Follow(const Positions& from, const Positions& to, Index first) const;
  void Apply(const Following& following);
  enum class After { kStays, kMoves };
  void Remove(Index first, Index count, After after);
  const DistanceTables& Covering(const Distances& shown, Index heads);
  void AttendByReference(const PositionedHeads& in, const Following& following, const HeadsOut& out,
                         float* log_sum_exp);

  KvCacheSettings settings_;
  SchemePtr scheme_;
  std::vector<std::vector<double>> weights_;
  std::unique_ptr<const KernelTables> tables_;
  bool follows_length_ = false;  // whether the rotation reads the length
  StoredHeads keys_, values_, given_;
  Array<std::int64_t, 2> positions_;  // [axes, capacity]
  Index size_ = 0;
  std::int64_t length_ = 0;
  Index covered_heads_ = 0;     // what by_distance_ was filled for
  DistanceTables by_distance_;  // of more distances than were shown, so that steps share them
};

}  // namespace sextant
