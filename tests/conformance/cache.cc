// Checks that a cache gives what computing everything from scratch gives, after every change.
#include <algorithm>
#include <cmath>
#include <functional>

#include "sextant/attention/kv_cache.h"
#include "sextant/core/error.h"
#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/float_heads.h"

namespace sextant::conformance {
namespace {

constexpr double kClose = 2e-6;
constexpr Index kCapacity = 40;

CacheErrors largest;

// A token that is in the cache: its key and value without positions, and where it stands.
struct Token {
  Array<double, 3> key, value;  // [kv_heads, 1, head_dim]
  std::int64_t position;
};

// The cache beside a list of the tokens it should hold.
class Pair {
 public:
  Pair(const SchemePtr& scheme, const Model& model, KeyMoves moves, Storage storage,
       Failures& failures)
      : scheme_(scheme),
        heads_(model.heads),
        kv_heads_(KeyHeads(*scheme, model)),
        dim_(model.head_dim),
        storage_(storage),
        weights_(TrainedWeights(*scheme, model)),
        cache_(scheme, weights_,
               {.capacity = kCapacity,
                .kv_heads = kv_heads_,
                .head_dim = dim_,
                .storage = storage,
                .moves = moves}),
        failures_(failures) {}

  // Appends tokens at position `first` and on, then compares decoding and a prefill's rows.
  void Append(std::int64_t first, Index count) {
    const Array<double, 3> key = Floats({kv_heads_, count, dim_}),
                           value = Floats({kv_heads_, count, dim_});
    const PositionList at = PositionList::Range(first, count);
    cache_.Append(StoredNumbers(key, storage_).in(), StoredNumbers(value, storage_).in(), at);
    for (Index n = 0; n < count; ++n) {
      tokens_.push_back({Row(key, n), Row(value, n), first + n});
    }
    length_ = std::max(length_, at.positions().length);
    Compare("append " + std::to_string(count), std::min<Index>(count, 5));
  }
  void Truncate(Index tokens) {
    cache_.Truncate(tokens);
    tokens_.resize(std::size_t(tokens));
    Removed("truncate to " + std::to_string(tokens));
  }
  void Drop(Index first, Index count) {
    cache_.Drop(first, count);
    tokens_.erase(tokens_.begin() + first, tokens_.begin() + first + count);
    Removed("drop " + std::to_string(count));
  }
  void Shift(Index first, Index count) {
    const std::string what = "shift " + std::to_string(count);
    const auto at = tokens_.begin() + first;
    if (scheme_->offers(Hook::kAdditive)) {
      try {
        cache_.Shift(first, count);
        failures_.push_back(what + ": rows were moved");
      } catch (const Error&) {
      }
      return Compare(what + " refused", 2);
    }
    cache_.Shift(first, count);
    const std::int64_t by = (at + count)->position - at->position;
    for (auto token = at + count; token != tokens_.end(); ++token) token->position -= by;
    tokens_.erase(at, at + count);
    Removed(what);
  }
  std::int64_t next() const { return tokens_.empty() ? 0 : tokens_.back().position + 1; }
  Index size() const { return Index(tokens_.size()); }

 private:
  // Float32 numbers, or those of the storage.
  Array<double, 3> Floats(const Shape<3>& shape) {
    return StoredNumbers(RandomHeads(shape, random_), storage_).exact();
  }
  static Array<double, 3> Row(const Array<double, 3>& x, Index n) {
    Array<double, 3> row({x.extent(0), 1, x.extent(2)});
    for (Index h = 0; h < x.extent(0); ++h) {
      for (Index c = 0; c < x.extent(2); ++c) row(h, 0, c) = x(h, n, c);
    }
    return row;
  }
  Array<double, 3> All(Array<double, 3> Token::*part) const {
    Array<double, 3> all({kv_heads_, Index(tokens_.size()), dim_});
    for (Index n = 0; n < all.extent(1); ++n) {
      for (Index h = 0; h < kv_heads_; ++h) {
        for (Index c = 0; c < dim_; ++c) all(h, n, c) = (tokens_[std::size_t(n)].*part)(h, 0, c);
      }
    }
    return all;
  }

  void Removed(const std::string& what) {
    length_ = next();
    Compare(what, 3);
  }

  // The last `count` tokens' queries against all that is held.
  void Compare(const std::string& what, Index count) {
    count = std::min(count, size());
    if (cache_.size() != size() || cache_.length() != length_) {
      failures_.push_back(what + ": size or length differ");
      return;
    }
    std::vector<std::int64_t> at;
    for (const Token& token : tokens_) at.push_back(token.position);
    const PositionList keys(at, length_),
        queries(std::vector<std::int64_t>(at.end() - count, at.end()), length_);
    const Array<double, 3> query = Floats({heads_, count, dim_}), key = All(&Token::key),
                           value = All(&Token::value);
    const AttentionOutput right = ReferenceAttention(
        *scheme_, weights_, {query, key, value, queries, keys, {.causal = true}, 0});
    StoredNumbers out({heads_, count, dim_}, Storage::kF32);
    std::vector<float> sums(std::size_t(heads_ * count));
    cache_.Attend(StoredNumbers(query, storage_).in(), queries, out.out(), sums.data());
    const Array<double, 3> got = out.exact();
    double error = 0, size_of = 0;
    for (std::size_t n = 0; n < got.values().size(); ++n) {
      KeepLargest(std::abs(got.values()[n] - right.out.values()[n]), error);
      KeepLargest(std::abs(right.out.values()[n]), size_of);
      ++largest.comparisons;
    }
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const double expected = right.log_sum_exp.values()[n];
      KeepLargest(std::abs(sums[n] - expected) / std::max(1.0, std::abs(expected)) * size_of,
                  error);
    }
    if (size_of > 0) error /= size_of;
    const double allowed = storage_ == Storage::kF32 ? kClose : 0x1p-6;
    if (!(error <= allowed)) failures_.push_back(what + ": differs by " + ToText(error));
    KeepLargest(error, storage_ == Storage::kF32 ? largest.f32 : largest.bf16);
  }

  SchemePtr scheme_;
  Index heads_, kv_heads_, dim_;
  Storage storage_;
  std::vector<std::vector<double>> weights_;
  KvCache cache_;
  Failures& failures_;
  std::vector<Token> tokens_;
  std::int64_t length_ = 0;
  Random random_{31};
};

void Play(Pair& pair) {
  pair.Append(0, 13);
  for (int n = 0; n < 4; ++n) pair.Append(pair.next(), 1);
  pair.Append(pair.next(), 19);  // past the original lengths of rules that read the length
  pair.Truncate(20);
  pair.Append(pair.next(), 1);
  pair.Drop(3, 4);
  pair.Append(pair.next() + 2, 2);
  // A rolling cache: the first tokens stay, the window moves.
  for (int n = 0; n < 3; ++n) {
    pair.Shift(2, 2);
    pair.Append(pair.next(), 1);
  }
  pair.Append(pair.next(), 12);
  pair.Shift(0, 5);
  pair.Truncate(2);
  pair.Truncate(0);
  pair.Append(5, 3);
}

}  // namespace

Failures CheckCache(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  for (const auto& [name, moves, storage] :
       {std::tuple<const char*, KeyMoves, Storage>("keys encoded again", KeyMoves::kReencoded,
                                                   Storage::kF32),
        {"keys turned", KeyMoves::kTurned, Storage::kF32},
        {"bfloat16", KeyMoves::kReencoded, Storage::kBf16}}) {
    Failures found;
    Pair pair(scheme, model, moves, storage, found);
    Play(pair);
    for (const std::string& failure : found) failures.push_back(name + (": " + failure));
  }
  return failures;
}

CacheErrors TakeCacheErrors() { return std::exchange(largest, {}); }

}  // namespace sextant::conformance
