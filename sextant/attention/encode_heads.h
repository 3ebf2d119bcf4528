// Positions written into heads of any storage by kernels: encode.h in float32.
#pragma once

#include <memory>

#include "sextant/attention/kernel_tables.h"

namespace sextant {

// The tables that write positions into the heads of one side, for a list of tokens.
struct HeadsEncoding {
  std::shared_ptr<const AddedRows> rows;    // null: none are added
  Index row_step = 0;                       // of the rows, from head to head
  std::shared_ptr<const RotaryRows> turns;  // null: no pair turns
  TurnedChannels channels;

  // Whether heads are other than they were.
  bool changes() const { return rows != nullptr || turns != nullptr; }
};

// Fills them. Throws Error where widths do not fit or a position has no row.
HeadsEncoding EncodingOf(const KernelTables& tables, const Positions& positions, Side side,
                         Index heads, Index head_dim);

//   out = turned(x + rows)   [tokens, heads, head_dim], of any storage; the same memory or apart
// Computed in float32 and rounded once to the storage of `out`: off by at most 2^-20 of |x + row|
// and its magnitude before that. Allocates a block of tokens for each thread at work. Same bits on
// any executor.
void EncodeHeads(const HeadsEncoding& encoding, const HeadsIn& x, const HeadsOut& out,
                 Executor& executor);

// The map back: from the gradient of what EncodeHeads made of `x` (d_encoded, which it writes over)
// to that of x in `d_x`, and, where `d_weights` is not empty, added to that of the weights.
void EncodeHeadsBackward(const KernelTables& tables, const HeadsEncoding& encoding,
                         const Positions& positions, Side side, const HeadsIn& x,
                         const HeadsOf<float>& d_encoded, const HeadsOut& d_x,
                         WeightGradients d_weights);

// Tokens first .. first + count - 1 of heads.
HeadsIn Tokens(const HeadsIn& heads, Index first, Index count);
HeadsOut Tokens(const HeadsOut& heads, Index first, Index count);

// Turns pairs of heads by a table, in place or into heads of the same storage.
void TurnHeads(const HeadsIn& x, const HeadsOut& out, const TurnTable& table,
               const TurnedChannels& channels, TurnDirection direction, Executor& executor);

}  // namespace sextant
