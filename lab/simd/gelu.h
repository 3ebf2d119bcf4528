// The exact GELU of float arrays forth and back in one pass over memory, with SIMD.
#pragma once

#include "sextant/core/view.h"

namespace sextant::lab {

// gelu(u) = u Phi(u), Phi the normal distribution, off by at most 3e-7 |u| (Hendrycks and Gimpel,
// Gaussian Error Linear Units). Not a number at -infinity, as in ATen. Arrays are the same or do
// not overlap; any count >= 0; nothing is allocated.

// out[i] = gelu(u[i]).
void Gelu(const float* u, Index count, float* out);

// out[i] = gelu(u[i]) again and d[i] *= gelu'(u[i]) = Phi(u) + u phi(u), off by 6e-7 of d (1 +
// |u|).
void GeluBackward(const float* u, Index count, float* out, float* d);

}  // namespace sextant::lab
