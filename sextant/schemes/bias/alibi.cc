// ALiBi: a penalty linear in distance, one slope a head, and no encoding at all.
#include <cmath>
#include <cstdlib>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Alibi {
  static constexpr SchemeInfo info{
      "alibi", "Attention with linear biases", "score(i, j) += -slope[h] |j - i|",
      "Press et al. 2022, arXiv 2108.12409, section 3 and its released code",
      "BLOOM, MPT, Baichuan-13B, JAIS, Jina BERT v2"};
  int heads = 8;
  double max_bias = 8;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("max_bias", max_bias, 0.125, 64,
          "the smallest slope of 2^k heads is 2^-max_bias, the largest 2^(-max_bias / 2^k)");
  }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .any_length = true, .decays = true};
  }

  void distance_bias(Weights, Distances distances, View<double, 2> bias) const {
    for (Index h = 0; h < heads; ++h) {
      const double slope = Slope(h);
      for (Index n = 0; n < distances.count; ++n) {
        bias(h, n) = -slope * double(std::abs(distances.first + n));
      }
    }
  }

 private:
  // A geometric sequence over the largest power of two within `heads`; further heads take every
  // other slope of the sequence twice as long, as the paper's code does.
  double Slope(Index head) const {
    Index power = 1;
    while (power * 2 <= heads) power *= 2;
    const double step = max_bias / double(power);
    return head < power ? std::exp2(-step * double(head + 1))
                        : std::exp2(-step / 2 * double(2 * (head - power) + 1));
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Alibi>();
}  // namespace sextant
