// Tables of cosines and sines of positions times frequencies, in float32 and right at any position.
#pragma once

#include <cstdint>
#include <span>

#include "sextant/kernels/executor.h"
#include "sextant/kernels/rotate.h"

namespace sextant {

// The positions of a table's rows: first, first + 1, ... or any list, in any order. From -2^53 to
// 2^53.
class RowPositions {
 public:
  RowPositions(std::int64_t first, Index count) : first_(first), count_(count) {}
  RowPositions(std::span<const std::int64_t> list)  // NOLINT(google-explicit-constructor)
      : list_(list.data()), count_(Index(list.size())) {}

  Index count() const { return count_; }
  bool is_run() const { return list_ == nullptr; }
  std::int64_t operator[](Index n) const { return is_run() ? first_ + n : list_[n]; }

 private:
  const std::int64_t* list_ = nullptr;
  std::int64_t first_ = 0;
  Index count_ = 0;
};

// Cosines and sines [positions, frequencies] to write; row n starts at n row_stride.
struct TurnRows {
  float* cos = nullptr;
  float* sin = nullptr;
  Index row_stride = 0;
};

// Rows [positions, width] that hold both, to write. Of frequency i the first stands in column i
// and the second in i + (width + 1) / 2 (halves), or they stand in 2i and 2i + 1 (adjacent). In an
// odd width the last frequency has its first alone.
struct WaveRows {
  enum class Order { kSinFirst, kCosFirst };
  float* data = nullptr;
  Index width = 0, row_stride = 0;
  PairOrder layout = PairOrder::kAdjacent;
  Order order = Order::kSinFirst;
};

//   cos[n, i] = magnitude cos(position[n] inv_freq[i]), sin likewise
// Off by at most 2e-7 where magnitude is 1, and 3e-7 |magnitude| else, while |position inv_freq| is
// at most 2^40 (angles multiplied in float32 are off by 3e-3 at position 2^17). A number depends on
// its position and frequency alone: the same bits in any run or list and on any executor. Every 64
// positions an anchor is computed in double; rows between are one complex product in float32 away.
// Allocates about 1 KiB a frequency, and 16 bytes a frequency for each 4096 positions of a run.
// Runs on the calling thread up to 256 KiB of rows. Throws Error before any work where counts are
// negative, rows are shorter than they must be, or a position is outside its range.
void FillTurns(const RowPositions& positions, std::span<const double> inv_freq, double magnitude,
               const TurnRows& rows, Executor& executor);

// The same numbers side by side in one row, as sinusoidal positions have them: (width + 1) / 2
// frequencies. Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
void FillWaves(const RowPositions& positions, std::span<const double> inv_freq, double magnitude,
               const WaveRows& rows, Executor& executor);

}  // namespace sextant
