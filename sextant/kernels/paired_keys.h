// Keys, values and queries of bfloat16 packed for products of pairs.
#pragma once

#include <vector>

#include "sextant/kernels/attention_plan.h"
#include "sextant/kernels/pair_products.h"

namespace sextant {

// By head and tile; a pair is two channels of a key, or one channel of two keys. Zeros fill up
// both.
class PairedKeys {
 public:
  PairedKeys() = default;
  PairedKeys(const AttentionPlan& plan, Executor& executor);

  // Whether a plan's products may be of pairs: all three inputs are bfloat16, nothing but biases
  // joins the scores, and the processor has the instruction.
  static bool Serve(const AttentionPlan& plan);

  const PairKernels& kernels() const { return *kernels_; }
  // Whether all keys and values are; where not, products of pairs would spread what is not.
  bool finite() const { return finite_; }
  // The norm of a tile's longest key.
  float Longest(Index kv, Index tile) const { return longest_[std::size_t(kv * tiles_ + tile)]; }
  // [panels][channel pairs][kPanel], from a tile's first key on.
  const Pair* Key(Index kv, Index tile) const;
  // [kKeyBlock / 2][width]
  const Pair* Value(Index kv, Index tile) const;

 private:
  bool PackKeys(const AttentionPlan& plan, Index kv, Index tile);
  bool PackValues(const AttentionPlan& plan, Index kv, Index tile);
  Pair* Slot(const Floats& floats, Index kv, Index tile, Index pairs_a_key) const;

  static const PairKernels* KernelsOf(const AttentionPlan& plan);

  const PairKernels* kernels_ = nullptr;
  Index tiles_ = 0, channel_pairs_ = 0, width_ = 0;
  Floats key_, value_;
  std::vector<float> longest_;
  bool finite_ = true;
};

// Channel pairs of tokens first .. of one head of bfloat16 numbers, [count, stride].
void CopyPairs(const HeadsIn& from, Index head, Index first, Index count, Index stride, Pair* to);

constexpr Index PairsOf(Index channels) { return (channels + 1) / 2; }

}  // namespace sextant
