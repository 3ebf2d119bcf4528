// Sandwich: what sinusoidal positions say about distance, as a bias with a factor a head.
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Sandwich {
  static constexpr SchemeInfo info{
      .name = "sandwich",
      .title = "Sandwich bias",
      .formula = "score(i, j) += H / (8 (h + 1)) sum_n cos((j - i) base^(-2n / dims))",
      .source = "Chi et al. 2023, arXiv 2212.10356",
      .known_models = "none released; NeMo and attention-gym have it",
      .conventions =
          "The inner product of two sinusoidal rows without their contents; even in the distance.\n"
          "terms from_zero sums n = 0 .. dims/2 - 1, as attention-gym does with dims 128. terms "
          "from_one sums n = 1 .. dims/2 and subtracts dims/2, as NeMo does with dims = head_dim; "
          "the subtraction is one constant a head, which softmax removes.\n"
          "The factors H / (8 (h + 1)) are those of the paper, not the slopes of ALiBi.",
      .beyond = "Defined at every distance; falls roughly as a logarithm, with ripples.",
      .pitfalls =
          "The two sums differ at every distance but agree in shape, so curves look alike.\n"
          "dims is a setting of its own (128), not the width of the model.",
      .error = "Angles in double: 1e-9 of the largest bias at distances up to 2^20.",
      .proof = "SandwichTest: both sums by hand in long double, the factor of each head."};
  enum class Terms { kFromZero, kFromOne };
  static constexpr Choice<Terms> kTerms[] = {{"from_zero", Terms::kFromZero},
                                             {"from_one", Terms::kFromOne}};
  int heads = 8;
  int dims = 128;
  double base = 1e4;
  Terms terms = Terms::kFromZero;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("dims", dims, 2, 65536, "width of the sinusoidal rows compared, even");
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength");
    field("terms", terms, kTerms, "n = 0 .. dims/2 - 1, or 1 .. dims/2 with dims/2 subtracted");
  }
  void check() const {
    if (dims % 2 == 0) return;
    throw Error(info.name,
                "dims must be even because each frequency has a sine and a cosine, got " +
                    std::to_string(dims),
                "use " + std::to_string(dims + 1));
  }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .any_length = true, .decays = true};
  }

  void distance_bias(Weights, Distances distances, View<double, 2> bias) const {
    std::vector<double> frequencies;
    const Index first = terms == Terms::kFromZero ? 0 : 1;
    for (Index n = first; n < first + dims / 2; ++n) {
      frequencies.push_back(std::pow(base, -2.0 * double(n) / dims));
    }
    for (Index n = 0; n < distances.count; ++n) {
      double sum = terms == Terms::kFromZero ? 0 : -dims / 2.0;
      for (double frequency : frequencies) {
        sum += std::cos(double(distances.first + n) * frequency);
      }
      for (Index h = 0; h < heads; ++h) bias(h, n) = heads / (8.0 * double(h + 1)) * sum;
    }
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Sandwich>();
}  // namespace sextant
