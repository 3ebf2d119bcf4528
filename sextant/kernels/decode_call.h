// One call of AttentionDecode: checked, its keys cut by shape, and which keys each query sees.
#pragma once

#include <cstdint>

#include "sextant/kernels/decode.h"

namespace sextant {

constexpr Index kMostDecodeQueries = 16;
// Keys whose scores are held at a time, each with a bit: few enough that the block at work and the
// one fetched ahead stay in the second cache.
constexpr Index kDecodeBlock = 32;
using KeyBits = std::uint32_t;

// What all pieces of one call share. A row is one query of one query head, number head queries +
// query, so the rows of a kv head are adjacent.
struct DecodeCall {
  // Throws Error where the call does not fit together.
  DecodeCall(const DecodeAttention& attention, const HeadsOut& out);

  Index Pieces() const { return chunks * spans; }
  // Whether waking another thread would take longer than the work.
  bool Small() const;

  const DecodeAttention* in;
  Index queries, keys, kv_heads, head_dim;
  Index rows;                                       // of one kv head
  std::int64_t query_position[kMostDecodeQueries];  // of each query
  bool runs_on = true;                              // whether positions of keys do, by one
  std::int64_t first_position = 0;                  // of the keys
  Index begin = 0, end = 0;                         // keys that some query may see
  Index chunk_keys = 0, chunks = 0;                 // of those
  Index span_heads = 0, spans = 0;  // kv heads that one piece reads, block after block
};

// Keys first .. first + count - 1, at most kDecodeBlock.
struct KeyBlock {
  KeyBlock(const DecodeCall& call, Index first_key, Index key_count);

  Index first, count;
  KeyBits seen[kMostDecodeQueries];  // by query
  KeyBits any = 0;                   // seen by some query
  bool runs_on;                      // whether positions do, by one
  std::int64_t position;             // of the first
};

}  // namespace sextant
