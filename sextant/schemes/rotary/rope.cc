// RoPE: channel pairs of queries and keys turned by an angle proportional to the position.
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/rotary/axes.h"
#include "sextant/schemes/rotary/frequencies.h"

namespace sextant {
namespace schemes {

struct Rope {
  static constexpr SchemeInfo info{
      "rope", "Rotary position embedding",
      "y0 = x0 cos(p w_i) - x1 sin(p w_i), y1 = x0 sin(p w_i) + x1 cos(p w_i), w_i = base^(-2i/r)",
      "Su et al. 2021, arXiv 2104.09864, equation 15",
      "Llama, Qwen, Mistral, Gemma, GPT-NeoX (halves); GPT-J, GLM (adjacent)"};
  static constexpr Choice<Pairing> kPairings[] = {{"halves", Pairing::kHalves},
                                                  {"adjacent", Pairing::kAdjacent}};
  int rotated_dims = 64;
  Pairing pairing = Pairing::kHalves;
  FrequencyRule frequencies;
  AxisLayout axes;

  void fields(auto& field) {
    field("rotated_dims", rotated_dims, 2, 4096, "leading channels of a head that turn, even",
          "head_dim");
    field("pairing", pairing, kPairings,
          "which channels turn together: (i, i + r/2) or (2i, 2i + 1)");
    field.rule("frequencies", frequencies, "how the frequency of each pair is made");
    field.rule("axes", axes, "which axis of a position turns each pair");
  }
  void check() const {
    if (rotated_dims % 2 != 0) {
      throw Error(info.name,
                  "rotated_dims must be even because channels turn in pairs, got " +
                      std::to_string(rotated_dims),
                  "use a head_dim of " + std::to_string(rotated_dims + 1) +
                      ", or set rotated_dims=" + std::to_string(rotated_dims - 1) +
                      " to leave the last channel still");
    }
    CheckAxes(info.name, axes, rotated_dims);
  }
  Claims claims() const {
    return {.relative = RelativeInOneAxis(axes),
            .keeps_norms = true,
            .any_length = true,
            .decays = true};
  }

  RotaryShape rotary_shape() const {
    return {.rotated_dims = TurnedDims(axes, rotated_dims),
            .pairing = pairing,
            .blocks = AxisBlocks(axes)};
  }
  void rotary(Weights, const Positions& positions, Side, View<double, 2> cos,
              View<double, 2> sin) const {
    const int width = FrequencyDims(axes, rotated_dims);
    const std::vector<double> inv_freq =
        std::visit([&](const auto& rule) { return rule.inv_freq(width); }, frequencies);
    const std::vector<PairSource> sources = PairSources(axes, rotated_dims);
    const Array<double, 2> coordinates = AxisCoordinates(info.name, axes, positions);
    for (Index n = 0; n < positions.count(); ++n) {
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const double angle =
            coordinates(sources[i].axis, n) * inv_freq[std::size_t(sources[i].frequency)];
        cos(n, Index(i)) = std::cos(angle);
        sin(n, Index(i)) = std::sin(angle);
      }
    }
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Rope>();
}  // namespace sextant
