// The check every contextual scheme makes first: that it was made for heads of this size.
#pragma once

#include "sextant/schemes/scheme.h"

namespace sextant {

// Throws Error, naming the scheme, where the input's queries or keys have another head_dim, or its
// head is not below `heads` (0: any head).
void RequireHeadSize(std::string_view scheme, const ContextualInput& input, Index head_dim,
                     Index heads = 0);

}  // namespace sextant
