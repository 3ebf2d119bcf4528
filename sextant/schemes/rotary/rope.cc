// RoPE: channel pairs of queries and keys turned by an angle proportional to the position.
#include <cmath>
#include <optional>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/rotary/axes.h"
#include "sextant/schemes/rotary/frequencies.h"

namespace sextant {
namespace schemes {

struct Rope {
  static constexpr SchemeInfo info{
      "rope",
      "Rotary position embedding",
      "y0 = x0 cos(p w_i) - x1 sin(p w_i), y1 = x0 sin(p w_i) + x1 cos(p w_i), w_i = base^(-2i/r)\n"
      "linear: w_i / factor\n"
      "ntk: base alpha^(r/(r-2)); ntk_fixed: base factor, then w_i / factor^(2/r)\n"
      "ntk_mixed: w_i / exp(a (i+1)^b), a = ln(factor) / (r/2)^b\n"
      "dynamic: base (factor s/L - (factor-1))^(r/(r-2)), s = max(length, L); dynamic_linear: w_i "
      "L/s\n"
      "yarn: w_i (1 - ramp_i + ramp_i/factor), ramp_i = clip((i - low) / (high - low), 0, 1),\n"
      "  ends r ln(L / (2 pi beta)) / (2 ln base); magnitude 0.1 ln(factor) + 1\n"
      "llama3: turns t = L w_i / (2 pi): t > high: w_i; t < low: w_i/factor; else\n"
      "  w_i ((1-s)/factor + s), s = (t - low) / (high - low)\n"
      "longrope: w_i / long_i if length > L, else w_i / short_i; magnitude sqrt(1 + "
      "ln(factor)/ln(L))\n"
      "proportional: w_i for i < fraction r/2, else 0",
      "Su et al. 2021, arXiv 2104.09864, equation 15; the source of each frequency rule stands in "
      "its header",
      "Llama, Qwen, Mistral, Gemma, GPT-NeoX (halves); GPT-J, GLM (adjacent); DeepSeek-V2, V3 "
      "(adjacent_to_halves, yarn); Llama 3.1 (llama3); Qwen2.5, gpt-oss (yarn); Phi-3 (longrope); "
      "HunYuan (dynamic, alpha); Gemma 4 (proportional)",
      "halves is NeoX, rotate-half, Hugging Face's default; adjacent is GPT-J, interleaved, Meta's "
      "original, ggml NORM; adjacent_to_halves reads adjacent and writes halves (DeepSeek).\n"
      "Position p turns by +p w_i; the exponent's width is rotated_dims, not head_dim (except in "
      "the rule proportional).\n"
      "The magnitude is a factor on cos and sin of queries and keys, so scores of turned channels "
      "change by its square; the softmax multiplier is a factor on all scores.\n"
      "original_length is Hugging Face's original_max_position_embeddings (for dynamic, its "
      "max_position_embeddings); first_channel is where a trailing window starts (DeepSeek-V4).\n"
      "axes say which axis of a position turns a pair; axes=interleaved speaks of axes, not of the "
      "channels of a pair.\n"
      "numerics=as_trained takes the float32 steps of Hugging Face's code: 1 / base^(2i / r), "
      "position times frequency, cos and sin, magnitude, each rounded to float32.",
      "Within the trained length every pair has been seen at its angles; past it the slow pairs, "
      "those of a wavelength longer than the trained length, meet new ones and quality falls.\n"
      "linear squeezes all positions into the trained range; the ntk rules and yarn stretch slow "
      "pairs and leave fast ones; llama3 and longrope are trained that way.\n"
      "dynamic, dynamic_linear, dynamic_yarn and longrope change with the length stated: keys "
      "cached under another length must be turned again (attention/rerotate.h).",
      "The other pairing under trained weights: right at position 0, wrong from 1 on.\n"
      "rope_scaling read and never applied: no difference until long contexts.\n"
      "yarn: the ramp's upper end is clamped to the last channel, not the last pair; its ends are "
      "rounded outwards unless the model says otherwise (gpt-oss); mscale without mscale_all_dim "
      "changes nothing, as in Hugging Face; DeepSeek multiplies the softmax scale besides.\n"
      "dynamic with alpha is no dynamic rule: the base stays at every length (HunYuan).\n"
      "Positions or frequencies in bfloat16: positions past 256 collide.",
      "exact: frequencies to 1e-15 of themselves (2e-14 on a ramp), so tables off by at most "
      "1.1e-9 times the magnitude (rule default: 2.4e-10) before rounding and 3.1e-8 times it as "
      "float32, for positions to 2^20.\n"
      "as_trained: off from exact by up to 5e-3 at 131071 and 3e-2 at 2^20, as released models "
      "are; its cos and sin are the C library's, within one rounding step of PyTorch's.",
      "RopeTest (formula, windows, error to 2^20); FrequenciesTest, NtkTest, DynamicNtkTest, "
      "YarnTest, Llama3Test, LongRopeTest (published numbers of each rule); AsTrainedTest "
      "(PyTorch's float32 tables); HuggingFaceGoldensTest (test_modeling_rope_utils.py); "
      "RerotateTest (caches); check-peers: transformers, rotary-embedding-torch, x-transformers, "
      "onnx"};
  static constexpr Choice<Pairing> kPairings[] = {
      {"halves", Pairing::kHalves},
      {"adjacent", Pairing::kAdjacent},
      {"adjacent_to_halves", Pairing::kAdjacentToHalves}};
  static constexpr Choice<Numerics> kNumerics[] = {{"exact", Numerics::kExact},
                                                   {"as_trained", Numerics::kAsTrained}};
  int rotated_dims = 64;
  int first_channel = 0;
  Pairing pairing = Pairing::kHalves;
  Numerics numerics = Numerics::kExact;
  FrequencyRule frequencies;
  AxisLayout axes;

  void fields(auto& field) {
    field("rotated_dims", rotated_dims, 2, 4096, "channels of a head that turn, even", "head_dim");
    field("first_channel", first_channel, 0, 4094,
          "where they start in the head: 0 leading; head_dim - rotated_dims trailing");
    field("pairing", pairing, kPairings,
          "which channels turn together: (i, i + r/2) or (2i, 2i + 1); or the latter read and the "
          "former written");
    field("numerics", numerics, kNumerics,
          "angles in double, or by the float32 steps of released code");
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
    std::visit([&](const auto& rule) { rule.check(info.name, FrequencyDims(axes, rotated_dims)); },
               frequencies);
  }
  Claims claims() const {
    const bool exact = numerics == Numerics::kExact;
    // The magnitude of the rules that read the length changes once, where they leave the original.
    const bool keeps = At(1).magnitude == 1 && At(std::int64_t{1} << 40).magnitude == 1;
    return {.relative = exact && RelativeInOneAxis(axes),
            .keeps_norms = exact && keeps,
            .learned = Trainable(),
            .any_length = true,
            .decays = FallsWithDistance(ScoresByDistance())};
  }

  RotaryShape rotary_shape() const {
    return {TurnedDims(axes, rotated_dims), pairing, first_channel, AxisBlocks(axes)};
  }
  double softmax_multiplier() const { return At(1).softmax_multiplier; }
  std::vector<Figure> figures(std::int64_t length) const {
    const Frequencies at = At(length);
    std::vector<Figure> figures = {{"inv_freq", at.inv_freq},
                                   {"attention_factor", {at.magnitude}},
                                   {"softmax_multiplier", {at.softmax_multiplier}}};
    if (at.base > 0) figures.push_back({"base", {at.base}});
    if (!at.ramp.empty()) {
      figures.push_back({"ramp_ends", at.ramp_ends});
      figures.push_back({"ramp_range", at.ramp_range});
      figures.push_back({"ramp", at.ramp});
    }
    return figures;
  }

  std::vector<WeightInfo> weights() const {
    if (!Trainable()) return {};
    return {{"inv_freq",
             {FrequencyDims(axes, rotated_dims) / 2},
             WeightScope::kModel,
             "radians a position, by pair"}};
  }
  std::vector<std::vector<double>> initial_weights(Random&) const {
    if (!Trainable()) return {};
    return {At(1).inv_freq};
  }

  void rotary(Weights weights, const Positions& positions, Side, View<double, 2> cos,
              View<double, 2> sin) const {
    const Frequencies at = At(positions.length, weights);
    const std::vector<PairSource> sources = PairSources(axes, rotated_dims);
    const Array<double, 2> coordinates = AxisCoordinates(info.name, axes, positions);
    for (Index n = 0; n < positions.count(); ++n) {
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const Turn turn = TurnOf(coordinates(sources[i].axis, n),
                                 at.inv_freq[std::size_t(sources[i].frequency)], at.magnitude);
        cos(n, Index(i)) = turn.cos;
        sin(n, Index(i)) = turn.sin;
      }
    }
  }
  std::optional<TurnFrequencies> turn_frequencies(Weights weights, std::int64_t length) const {
    // The cells of a grid are no product of one position.
    if (numerics != Numerics::kExact || std::holds_alternative<GridAxes>(axes)) return std::nullopt;
    const Frequencies at = At(length, weights);
    TurnFrequencies turns{{}, at.magnitude};
    for (const PairSource& source : PairSources(axes, rotated_dims)) {
      turns.inv_freq.push_back(at.inv_freq[std::size_t(source.frequency)]);
    }
    return turns;
  }
  void rotary_back(Weights weights, const Positions& positions, Side, View<const double, 2> d_cos,
                   View<const double, 2> d_sin, WeightGradients d_weights) const {
    if (!Trainable()) return;
    const Frequencies at = At(positions.length, weights);
    const std::vector<PairSource> sources = PairSources(axes, rotated_dims);
    const Array<double, 2> coordinates = AxisCoordinates(info.name, axes, positions);
    for (Index n = 0; n < positions.count(); ++n) {
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const double coordinate = coordinates(sources[i].axis, n);
        const std::size_t frequency = std::size_t(sources[i].frequency);
        const Turn turn = TurnOf(coordinate, at.inv_freq[frequency], at.magnitude);
        d_weights[0][frequency] +=
            coordinate * (turn.cos * d_sin(n, Index(i)) - turn.sin * d_cos(n, Index(i)));
      }
    }
  }

 private:
  struct Turn {
    double cos, sin;
  };

  bool Trainable() const { return std::holds_alternative<TrainableFrequencies>(frequencies); }

  // The mean score of equal vectors, a query at position kDecayDistances - 1 and keys before it.
  std::vector<double> ScoresByDistance() const {
    const Frequencies at = At(kDecayDistances);
    const Array<double, 2> coordinates =
        AxisCoordinates(info.name, axes, PositionList::Range(0, kDecayDistances));
    std::vector<double> scores(kDecayDistances);
    for (const PairSource& source : PairSources(axes, rotated_dims)) {
      const double inv_freq = at.inv_freq[std::size_t(source.frequency)];
      for (Index d = 0; d < kDecayDistances; ++d) {
        const double apart = coordinates(source.axis, kDecayDistances - 1) -
                             coordinates(source.axis, kDecayDistances - 1 - d);
        scores[std::size_t(d)] += std::cos(apart * inv_freq);
      }
    }
    return scores;
  }

  Frequencies At(std::int64_t length, Weights weights = {}) const {
    Frequencies at =
        FrequenciesOf(frequencies, FrequencyDims(axes, rotated_dims), length, numerics);
    if (!weights.empty() && Trainable()) at.inv_freq = weights[0];
    return at;
  }

  Turn TurnOf(double coordinate, double inv_freq, double magnitude) const {
    if (numerics == Numerics::kAsTrained) {
      const float angle = float(coordinate) * float(inv_freq), factor = float(magnitude);
      return {std::cos(angle) * factor, std::sin(angle) * factor};
    }
    const double angle = coordinate * inv_freq;
    return {magnitude * std::cos(angle), magnitude * std::sin(angle)};
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Rope>();
}  // namespace sextant
