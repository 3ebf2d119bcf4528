// Turns channel pairs of queries and keys by a table: the rotary kernel.
#pragma once

#include "sextant/kernels/executor.h"
#include "sextant/kernels/heads.h"

namespace sextant {

// Cosines and sines [tokens, pairs], magnitude folded in; row n starts at n row_stride.
struct TurnTable {
  const float* cos = nullptr;
  const float* sin = nullptr;
  Index row_stride = 0;
};

// How the two channels of pair i lie in a block: (i, i + pairs) or (2i, 2i + 1).
enum class PairOrder { kHalves, kAdjacent };

// Which channels turn: `rotated` from `first` on, in `blocks` equal parts that are paired each by
// itself; read in one order and written in the other where they differ.
struct TurnedChannels {
  Index first = 0, rotated = 0, blocks = 1;
  PairOrder read = PairOrder::kHalves, write = PairOrder::kHalves;
};

// kBack is the transpose: the gradient of kForth's input from that of its output, with read and
// write exchanged.
enum class TurnDirection { kForth, kBack };

//   y0 = x0 cos - x1 sin,  y1 = x0 sin + x1 cos   for each pair; other channels are copied
//   in, out [tokens, heads, head_dim], the same data and strides (in place) or apart
// Tokens of float32 are off by at most 2^-22 of |x|; 16-bit ones are computed in float32 and
// rounded once to nearest even, on every target. Infinities and NaN stay in their pair. Allocates
// nothing, runs on the calling thread up to 64 KiB, and gives the same bits on any executor. Throws
// Error before any work where shapes differ, the output overlaps the input without being it, the
// window leaves the head, or a block has an odd width or more than 4096 channels. Su et al. 2021,
// arXiv 2104.09864, equation 34.
void Rotate(const HeadsOf<const float>& in, const HeadsOf<float>& out, const TurnTable& table,
            const TurnedChannels& channels, TurnDirection direction, Executor& executor);
void Rotate(const HeadsOf<const Bf16>& in, const HeadsOf<Bf16>& out, const TurnTable& table,
            const TurnedChannels& channels, TurnDirection direction, Executor& executor);
void Rotate(const HeadsOf<const F16>& in, const HeadsOf<F16>& out, const TurnTable& table,
            const TurnedChannels& channels, TurnDirection direction, Executor& executor);

}  // namespace sextant
