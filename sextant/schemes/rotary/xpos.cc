// xPos: RoPE whose queries grow and keys shrink with the position, so that scores fall with
// distance.
#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {
namespace schemes {

struct XPos {
  static constexpr SchemeInfo info{
      "xpos",
      "Extrapolatable rotary embedding",
      "queries: RoPE times z_i^((p - centre) / scale_base), keys: RoPE times its inverse, z_i = "
      "(2i + "
      "gamma r) / ((1 + gamma) r): a score's pair i falls as z_i^((q - k) / scale_base)",
      "Sun et al. 2022, arXiv 2212.10554, section 2.2; torchscale XPOS",
      "RetNet, LEX (torchscale); x-transformers, rotary-embedding-torch and flash-attention offer "
      "it",
      "Pairs and angles as rope; pair 0 falls fastest, by 0.29 every scale_base positions.\n"
      "scale_base: 512 in the paper and most code, 2048 in NeMo.\n"
      "The centre is a fixed position. Released code takes half the length, rounded in different "
      "ways: the product of a query and a key is the same, the factors alone are not, and keys "
      "cached under one length are wrong under another.",
      "Meant for causal use: a key after its query scores higher the farther it is.\n"
      "Each side's factor leaves the range of numbers far from the centre: past |p - centre| = 600 "
      "scale_base / -ln(z_0), 245 217 positions with the defaults, it is an error; float32 holds "
      "them to about 36 000. Moving the centre near the positions in use, or a larger scale_base, "
      "helps.",
      "A centre that moves with the length, with a cache of keys.\n"
      "Factors applied to queries alone, or the same factor on both sides.\n"
      "Bidirectional use.",
      "Angles as rope's; factors to 1e-12 of themselves over the whole range.",
      "XPosTest (formula against powers in long double, scores by distance alone to 2^20 from a "
      "moved centre, the end of the range)"};
  static constexpr Choice<Pairing> kPairings[] = {
      {"halves", Pairing::kHalves},
      {"adjacent", Pairing::kAdjacent},
      {"adjacent_to_halves", Pairing::kAdjacentToHalves}};
  // exp(600) = 4e260: what queries and keys hold may be 1e47 times larger still.
  static constexpr double kLargestLog = 600;

  int rotated_dims = 64;
  Pairing pairing = Pairing::kHalves;
  double base = 1e4;
  double scale_base = 512;
  int centre = 0;
  double gamma = 0.4;

  void fields(auto& field) {
    field("rotated_dims", rotated_dims, 2, 4096, "leading channels of a head that turn, even",
          "head_dim");
    field("pairing", pairing, kPairings,
          "which channels turn together: (i, i + r/2) or (2i, 2i + 1); or the latter read and the "
          "former written");
    AddBaseField(field, base);
    field("scale_base", scale_base, 1, 1e9, "positions over which pair i falls to z_i");
    field("centre", centre, -(1 << 30), 1 << 30, "the position where queries and keys keep size");
    field("gamma", gamma, 0.01, 100, "how alike the pairs fall: large is slow and alike");
  }
  void check() const {
    if (rotated_dims % 2 == 0) return;
    throw Error(info.name,
                "rotated_dims must be even because channels turn in pairs, got " +
                    std::to_string(rotated_dims),
                "set rotated_dims=" + std::to_string(rotated_dims - 1) +
                    " to leave the last channel still");
  }
  Claims claims() const { return {.relative = true, .decays = true}; }

  RotaryShape rotary_shape() const { return {rotated_dims, pairing}; }
  std::vector<Figure> figures(std::int64_t) const {
    std::vector<double> decay;
    for (Index i = 0; i < rotated_dims / 2; ++i) decay.push_back(std::exp(LogDecay(i)));
    return {{"inv_freq", InvFreq()}, {"decay", decay}};
  }

  void rotary(Weights, const Positions& positions, Side side, View<double, 2> cos,
              View<double, 2> sin) const {
    const std::vector<double> inv_freq = InvFreq();
    const double sign = side == Side::kQuery ? 1 : -1;
    for (Index n = 0; n < positions.count(); ++n) {
      const std::int64_t position = positions.values(0, n);
      const double steps = (double(position) - centre) / scale_base;
      if (!(std::abs(steps * LogDecay(0)) <= kLargestLog)) FailRange(position);
      for (Index i = 0; i < rotated_dims / 2; ++i) {
        const double angle = double(position) * inv_freq[std::size_t(i)];
        const double scale = std::exp(sign * steps * LogDecay(i));
        cos(n, i) = scale * std::cos(angle);
        sin(n, i) = scale * std::sin(angle);
      }
    }
  }

 private:
  std::vector<double> InvFreq() const {
    return PowerFrequencies<double>(base, rotated_dims, rotated_dims / 2);
  }
  // ln z_i
  double LogDecay(Index i) const {
    return std::log((2.0 * double(i) + gamma * rotated_dims) / ((1 + gamma) * rotated_dims));
  }
  [[noreturn]] void FailRange(std::int64_t position) const {
    const double reach = std::floor(kLargestLog * scale_base / -LogDecay(0));
    throw Error(info.name,
                "position " + std::to_string(position) + " is farther than " + ToText(reach) +
                    " from the centre " + std::to_string(centre) +
                    ", where the factors of queries and keys leave the range of numbers",
                "move the centre near the positions in use, or take a larger scale_base");
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::XPos>();
}  // namespace sextant
