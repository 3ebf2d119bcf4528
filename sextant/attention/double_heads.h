// Heads between their storage and the reference's double.
#pragma once

#include "sextant/kernels/heads.h"

namespace sextant {

// [heads, tokens, head_dim]. Exact.
Array<double, 3> ToDouble(const HeadsIn& heads);

// Rounded to float32, then to the storage of `to`; of its shape.
void FromDouble(View<const double, 3> from, const HeadsOut& to);

}  // namespace sextant
