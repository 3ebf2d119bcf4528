// ALiBi: a penalty linear in distance, one slope a head, and no encoding at all.
#include <cmath>

#include "sextant/core/half.h"
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Alibi {
  static constexpr SchemeInfo info{
      .name = "alibi",
      .title = "Attention with linear biases",
      .formula = "score(i, j) += -slope[h] |j - i|",
      .source = "Press et al. 2022, arXiv 2108.12409, section 3 and its released code",
      .known_models =
          "BLOOM, MPT, Baichuan-13B, JAIS, Jina BERT v2 (after_scaling); Falcon-RW (with_scores, "
          "bf16)",
      .conventions =
          "The distance is query-relative: the key at the query has bias 0. BLOOM, Falcon and "
          "flash-attention add slope times the key's index instead, which differs by a constant of "
          "the row that softmax removes.\n"
          "family reference is the list of all released code: a geometric series for the largest "
          "power of two, then every other slope of the series twice as long, so not monotone. "
          "family geometric is 2^(-max_bias (h+1)/H) for every H, the reading of attention-gym and "
          "of MLX before 2026.\n"
          "applied with_scores multiplies the bias by 1/sqrt(head_dim) as well (Falcon, TensorRT's "
          "alibi_with_scale, CTranslate2's scale_alibi).\n"
          "future_factor multiplies the bias of keys after the query: 1 mirrors it, 0 leaves them "
          "without, -1 rewards them as the signed form of attention-gym does when not causal.\n"
          "heads_before and heads_after give a shard of the heads its part of the whole model's "
          "list.",
      .beyond = "Defined at every distance; meant to be used past the trained length.",
      .pitfalls =
          "A rank that recomputes the slopes for its own heads gets those of a smaller model.\n"
          "A bias built for the query length alone is 0 in every cached decode step.\n"
          "slope times key index in bfloat16 is wrong by up to 9 at 32 heads and position 1828; "
          "the "
          "query-relative form loses nothing below distance 256. rounding bf16 rounds the slopes "
          "alone: Falcon also rounds the product with the key's index, which is no function of the "
          "distance and is left out.",
      .error = "One product of doubles: relative 2^-52 at distances up to 2^53.",
      .proof =
          "AlibiTest: the recursion of the paper's code for 1 to 128 heads, golden slopes of 6, "
          "8 and 12 heads, shards, bfloat16.\nConformance suite: gradient of trained slopes."};
  enum class Family { kReference, kGeometric };
  enum class Slopes { kFixed, kTrained };
  enum class Applied { kAfterScaling, kWithScores };
  enum class Rounding { kNone, kBfloat16 };
  static constexpr Choice<Family> kFamilies[] = {{"reference", Family::kReference},
                                                 {"geometric", Family::kGeometric}};
  static constexpr Choice<Slopes> kSlopes[] = {{"fixed", Slopes::kFixed},
                                               {"trained", Slopes::kTrained}};
  static constexpr Choice<Applied> kApplied[] = {{"after_scaling", Applied::kAfterScaling},
                                                 {"with_scores", Applied::kWithScores}};
  static constexpr Choice<Rounding> kRoundings[] = {{"none", Rounding::kNone},
                                                    {"bf16", Rounding::kBfloat16}};
  int heads = 8;
  double max_bias = 8;
  Family family = Family::kReference;
  Slopes slopes = Slopes::kFixed;
  Applied applied = Applied::kAfterScaling;
  int head_dim = 64;
  Rounding rounding = Rounding::kNone;
  double future_factor = 1;
  int heads_before = 0;
  int heads_after = 0;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("max_bias", max_bias, 0.125, 64,
          "the smallest slope of 2^k heads is 2^-max_bias, the largest 2^(-max_bias / 2^k)");
    field("family", family, kFamilies, "which slopes head counts that are no power of two have");
    field("slopes", slopes, kSlopes, "whether training moves the slopes from where they start");
    field("applied", applied, kApplied,
          "whether the bias is added to scaled scores or scaled with them");
    field("head_dim", head_dim, 1, 4096, "channels of a head, for applied=with_scores", "head_dim");
    field("rounding", rounding, kRoundings, "bf16: slopes rounded to bfloat16, as Falcon's are");
    field("future_factor", future_factor, -16, 16,
          "factor on the bias of keys after the query: 1 mirrors it, 0 is none, -1 is signed");
    field("heads_before", heads_before, 0, 65536, "heads of the model in the shards before this");
    field("heads_after", heads_after, 0, 65536, "heads of the model in the shards after this");
  }
  Claims claims() const {
    return {.relative = true,
            .keeps_norms = true,
            .learned = slopes == Slopes::kTrained,
            .any_length = true,
            .decays = true};
  }

  std::vector<WeightInfo> weights() const {
    if (slopes == Slopes::kFixed) return {};
    return {{"slope", {heads}, WeightScope::kModel, "the slope of each head"}};
  }
  std::vector<std::vector<double>> initial_weights(Random&) const {
    if (slopes == Slopes::kFixed) return {};
    return {Start()};
  }

  void distance_bias(Weights weights, Distances distances, View<double, 2> bias) const {
    const std::vector<double> slope = slopes == Slopes::kFixed ? Start() : weights[0];
    for (Index h = 0; h < heads; ++h) {
      const double factor = -Scale() * slope[std::size_t(h)];
      for (Index n = 0; n < distances.count; ++n) bias(h, n) = factor * Reach(distances.first + n);
    }
  }
  void distance_bias_back(Weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients d_weights) const {
    if (slopes == Slopes::kFixed) return;
    for (Index h = 0; h < heads; ++h) {
      double sum = 0;
      for (Index n = 0; n < distances.count; ++n) sum += d_bias(h, n) * Reach(distances.first + n);
      d_weights[0][std::size_t(h)] -= Scale() * sum;
    }
  }
  std::vector<Figure> figures(std::int64_t) const { return {{"slopes", Start()}}; }

 private:
  double Scale() const {
    return applied == Applied::kAfterScaling ? 1 : 1 / std::sqrt(double(head_dim));
  }
  double Reach(std::int64_t distance) const {
    return distance <= 0 ? double(-distance) : future_factor * double(distance);
  }
  // The slopes of the heads here, before training.
  std::vector<double> Start() const {
    std::vector<double> list;
    for (Index h = 0; h < heads; ++h) {
      const double slope = SlopeOf(heads_before + h, Index{heads_before} + heads + heads_after);
      // Models compute the slope in float32 and then round it again.
      list.push_back(rounding == Rounding::kNone ? slope : RoundToBf16(RoundToF32(slope)));
    }
    return list;
  }
  // Reference: a geometric sequence over the largest power of two within `count`; further heads
  // take every other slope of the sequence twice as long, as the paper's code does.
  double SlopeOf(Index head, Index count) const {
    if (family == Family::kGeometric) {
      return std::exp2(-max_bias * double(head + 1) / double(count));
    }
    Index power = 1;
    while (power * 2 <= count) power *= 2;
    const double step = max_bias / double(power);
    return head < power ? std::exp2(-step * double(head + 1))
                        : std::exp2(-step / 2 * double(2 * (head - power) + 1));
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Alibi>();
}  // namespace sextant
