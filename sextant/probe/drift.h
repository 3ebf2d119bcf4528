// How far apart two encodings turn the same vector.
#pragma once

#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// The expected cosine between one random vector encoded by two rotary schemes, at each position.
//   mean over unit vectors x of (A x) . (B x) / (|A x| |B x|), by  trace(A^T B) / (|A| |B|)
// exact for rotations (and their magnitudes), where every direction is as likely as any other.
// 1: the two agree; 0: as unrelated vectors. `head_dim` channels, the rest beside those rotated
// counted. Throws Error for a scheme without a rotary hook and a head too narrow.
std::vector<double> ExpectedCosines(const Scheme& one, const Scheme& other,
                                    const Positions& positions, Index head_dim);

}  // namespace sextant
