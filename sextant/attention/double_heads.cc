// Copies with a change of type.
#include "sextant/attention/double_heads.h"

#include <algorithm>
#include <vector>

namespace sextant {

Array<double, 3> ToDouble(const HeadsIn& heads) {
  Array<double, 3> values({heads.heads, heads.tokens, heads.head_dim});
  std::vector<float> row(static_cast<std::size_t>(heads.head_dim));
  for (Index h = 0; h < heads.heads; ++h) {
    for (Index n = 0; n < heads.tokens; ++n) {
      heads.Read(h, n, 1, heads.head_dim, row.data());
      std::copy(row.begin(), row.end(), values.view()[h][n].data());
    }
  }
  return values;
}

void FromDouble(View<const double, 3> from, const HeadsOut& to) {
  std::vector<float> row(static_cast<std::size_t>(to.head_dim));
  for (Index h = 0; h < to.heads; ++h) {
    for (Index n = 0; n < to.tokens; ++n) {
      const auto values = from[h][n].span();
      std::transform(values.begin(), values.end(), row.begin(),
                     [](double value) { return static_cast<float>(value); });
      to.Write(n, h, row.data());
    }
  }
}

}  // namespace sextant
