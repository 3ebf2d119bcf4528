// How fast each pair of a scheme turns with position, measured on its tables.
#pragma once

#include <cstdint>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// One pair of channels that turns by `frequency` radians a position and repeats after
// wavelength = 2 pi / |frequency| positions (infinity where it stands still).
struct TurningPair {
  double frequency = 0;
  double wavelength = 0;
};

// The pairs in channel order:
//   rotary    the angle of (cos, sin) of queries at position 1
//   additive  the angle of (cosine channel, sine channel) at position 1, if rows are sines and
//             cosines (interleaved or sines first): (0, 1) at position 0 and on the unit circle
//             at the right angle at positions 2 and 3, all to 1e-9
// Exact (to rounding) for frequencies up to pi a position; a faster pair looks slower. Of a
// composition the first part that turns is measured. Empty where nothing turns.
std::vector<TurningPair> TurningPairs(const Scheme& scheme, std::uint64_t seed = 1);

}  // namespace sextant
