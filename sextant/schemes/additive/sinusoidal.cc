// Sines and cosines of geometric wavelengths, added to the embedding (the paper's interleaved
// form).
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Sinusoidal {
  static constexpr SchemeInfo info{
      "sinusoidal", "Sinusoidal absolute positions",
      "row[p, 2i] = sin(p / base^(2i/d)), row[p, 2i+1] = cos(p / base^(2i/d))",
      "Vaswani et al. 2017, arXiv 1706.03762, section 3.5",
      "the original Transformer; DistilBERT and CTRL use the same numbers"};
  int model_dim = 64;
  double base = 1e4;

  void fields(auto& field) {
    field("model_dim", model_dim, 2, 65536, "width of the embedding, even", "model_dim");
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength");
  }
  void check() const {
    if (model_dim % 2 != 0) {
      throw Error(info.name, "model_dim must be even, got " + std::to_string(model_dim),
                  "did you mean " + std::to_string(model_dim + 1) + "?");
    }
  }
  Claims claims() const { return {.any_length = true, .decays = true}; }

  void additive(Weights, const Positions& positions, View<double, 2> rows) const {
    for (Index i = 0; i < model_dim / 2; ++i) {
      const double frequency = std::pow(base, -2.0 * double(i) / model_dim);
      for (Index n = 0; n < positions.count(); ++n) {
        const double angle = double(positions.values(0, n)) * frequency;
        rows(n, 2 * i) = std::sin(angle);
        rows(n, 2 * i + 1) = std::cos(angle);
      }
    }
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Sinusoidal>();
}  // namespace sextant
