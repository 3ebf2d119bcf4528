// What a scheme does to queries and keys before their scores: rows added, channel pairs turned.
#pragma once

#include "sextant/schemes/scheme.h"

namespace sextant {

// x [heads, n, head_dim] with positions written into it, in double. Additive rows are added as if
// the projections were the identity: a row as wide as a head goes to every head, one of heads *
// head_dim is cut into heads. Rotary then turns the channels of its window. Allocates the
// result. Throws Error where widths do not fit.
Array<double, 3> Encode(const Scheme& scheme, Weights weights, const Positions& positions,
                        Side side, View<const double, 3> x);

// The additive rows [heads, n, head_dim] alone, as Encode adds them; zeros without the hook.
Array<double, 3> AdditiveRows(const Scheme& scheme, Weights weights, const Positions& positions,
                              Index heads, Index head_dim);

// Head h of `heads` reads channel c of an additive row at column h RowStep + c. Throws Error where
// the row is neither as wide as a head nor as all of them.
Index RowStep(const Scheme& scheme, Index heads, Index head_dim);

// Throws Error where the channels a rotary scheme turns do not lie within a head.
void CheckRotaryFits(const Scheme& scheme, Index head_dim);

// Turns x [heads, n, head_dim] in place by the scheme's table; nothing without a rotary hook.
void Rotate(const Scheme& scheme, Weights weights, const Positions& positions, Side side,
            View<double, 3> x);

// The map back of Encode: from d_encoded to the gradient of x (returned) and, added, of the
// weights. `x` is what Encode was given.
Array<double, 3> EncodeBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                                Side side, View<const double, 3> x, View<const double, 3> d_encoded,
                                WeightGradients d_weights);

}  // namespace sextant
