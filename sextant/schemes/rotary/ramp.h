// The ramp of YaRN: which pairs are fast, which slow, and how much of each those between are.
#pragma once

#include <algorithm>
#include <numbers>
#include <string_view>
#include <vector>

#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {

// Whether the ends of a ramp are whole pairs (truncate=true) or lie between them (gpt-oss).
enum class RampEnds { kRounded, kExact };

// Pairs that turn more than `fast` times over the original length are kept, those that turn less
// than `slow` times are divided.
struct Ramp {
  double fast = 32;
  double slow = 1;
  RampEnds ends = RampEnds::kRounded;
};

template <class Real>
struct RampTable {
  std::vector<Real> ramp;            // [pairs] clip((i - low) / (high - low), 0, 1)
  double raw_low = 0, raw_high = 0;  // as computed
  double low = 0, high = 0;          // rounded outwards, then clamped to 0 .. rotated_dims - 1
};

// The pair that turns `turns` times over `length`: d ln(length / (2 pi turns)) / (2 ln base).
double PairOfTurns(double turns, double base, double length, int rotated_dims);

// Throws Error where the ends are swapped or no pair lies between them.
void CheckRamp(std::string_view where, const Ramp& ramp, double base, int original_length,
               int rotated_dims);

template <class Real>
RampTable<Real> RampOf(const Ramp& ramp, double base, int original_length, int rotated_dims) {
  RampTable<Real> table;
  table.raw_low = PairOfTurns(ramp.fast, base, original_length, rotated_dims);
  table.raw_high = PairOfTurns(ramp.slow, base, original_length, rotated_dims);
  const bool rounded = ramp.ends == RampEnds::kRounded;
  table.low = std::max(rounded ? std::floor(table.raw_low) : table.raw_low, 0.0);
  // The last channel, not the last pair: so it stands in every released code.
  table.high =
      std::min(rounded ? std::ceil(table.raw_high) : table.raw_high, double(rotated_dims - 1));
  const double width = table.high == table.low ? 0.001 : table.high - table.low;
  for (int i = 0; i < rotated_dims / 2; ++i) {
    const Real at = (Real(i) - Real(table.low)) / Real(width);
    table.ramp.push_back(std::clamp(at, Real(0), Real(1)));
  }
  return table;
}

}  // namespace sextant
