// Heads of the wrong size, explained.
#include "sextant/schemes/contextual/head_size.h"

#include "sextant/core/error.h"

namespace sextant {

void RequireHeadSize(std::string_view scheme, const ContextualInput& input, Index head_dim,
                     Index heads) {
  for (const Index got : {input.query.extent(1), input.key.extent(1)}) {
    if (got == head_dim) continue;
    throw Error(scheme,
                "head_dim " + std::to_string(head_dim) + " must be that of the queries and keys, " +
                    std::to_string(got),
                "set head_dim=" + std::to_string(got));
  }
  if (heads == 0 || input.head < heads) return;
  throw Error(
      scheme,
      "has weights for " + std::to_string(heads) + " heads, got head " + std::to_string(input.head),
      "set heads to the number of query heads");
}

}  // namespace sextant
