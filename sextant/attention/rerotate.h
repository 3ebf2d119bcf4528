// Turns keys that a cache holds into what they would be under another rule, length or position.
#pragma once

#include "sextant/schemes/scheme.h"

namespace sextant {

// A rotary scheme with the positions its table is taken at.
struct RotatedBy {
  const Scheme& scheme;
  Weights weights;
  Positions positions;  // [axes, n]
};

// keys [kv_heads, n, head_dim] in place:  k := R(to) R(from)^-1 k  for each pair of channels, so
// that keys encoded by `from` become keys encoded by `to`, magnitudes included; channels outside
// the window stay. For a context shift (positions alone change), the base of dynamic NTK growing,
// LongRoPE passing its original length, linear becoming yarn. Both schemes must turn the same
// channels in the same pairs; adjacent_to_halves is read where it was written. In double: error as
// of the two tables. Allocates the tables. Throws Error, with keys as they were, where a scheme has
// no rotary table, shapes differ, or `from` has a magnitude of 0.
void Rerotate(const RotatedBy& from, const RotatedBy& to, View<double, 3> keys);

}  // namespace sextant
