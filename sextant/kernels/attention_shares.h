// How the backward pass of fused attention is cut: shares of a head's tiles, each with sums of its
// own, added in their order at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "sextant/kernels/attention_plan.h"

namespace sextant {

constexpr float kNothingSeen = -std::numeric_limits<float>::infinity();  // a log_sum_exp

// What one share of a head's tiles adds up, apart from the gradients of its keys and values. Sums
// that nobody wants are empty.
struct Share {
  // [queries, parts, width]: sums over keys of dS k and of dS times vectors of keys, together or,
  // where those are wanted apart, one after the other.
  Floats d_query;
  std::vector<double> d_bias;                           // [places]
  std::vector<double> d_key, d_query_vectors, d_value;  // [rows, head_dim], in packed order
  std::vector<double> scores;                           // [queries], sums of dS k . query[d]
};

struct BackwardCall {
  BackwardCall(const AttentionPlan& of, const AttentionGradient& wanted, Scratch& floats);

  const AttentionPlan& plan;
  const AttentionGradient& gradient;
  Scratch& scratch;
  Index blocks;                      // of queries
  Index shares;                      // of a head's tiles: tile t is of share t mod shares
  Index parts;                       // of Share::d_query
  std::vector<float> mean;           // [heads, queries], sums of d_out out
  std::vector<float> log2_sum;       // [heads, queries], in base 2; 0 where no key is seen
  std::vector<std::uint8_t> finite;  // [heads, blocks], whether all of a block of queries is
  std::vector<Share> share;          // [heads, shares]; empty before and after they run
  std::vector<std::atomic<Index>> unfinished;  // [kv_heads], shares to run

  Share& ShareOf(Index head, Index which) { return share[std::size_t(head * shares + which)]; }
  bool Finite(Index head, Index q0) const {
    return finite[std::size_t(head * blocks + q0 / kQueryBlock)] != 0;
  }
  // Sets mean, log2_sum and finite of a head.
  void Prepare(Index head);
  // Makes, runs and, as the last of a key head, finishes a share of the heads that read it. So only
  // the shares of key heads at work take memory.
  void RunShare(Index kv, Index which);

 private:
  // Adds the shares of a head and writes the gradients of its queries and tables.
  void Finish(Index head);
  Share NewShare() const;
  void FinishQueryTables(Index head);
  void FinishVectors(Index head);
};

// Sets mean, log2_sum and finite of a head; `shared` is what its queries share, not finite where
// something of it is not. attention_queries.cc.
void ReadQueryOutputs(BackwardCall& call, Index head, float shared);

// d_query = scale c (sums of dS k + sums of dS key[d]), from the head's first share, which it
// overwrites; attention_queries.cc.
void WriteQueryGradients(BackwardCall& call, Index head);

// Runs the tiles of one share of a key head; attention_backward.cc.
void RunBackwardShare(BackwardCall& call, Index kv, Index share);

// Floats of scratch that a share needs.
Index BackwardFloats(const AttentionPlan& plan);

}  // namespace sextant
