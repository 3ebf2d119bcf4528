// A trained number for each head and distance, clipped: the plainest relative bias.
#include <algorithm>

#include "sextant/schemes/bias/t5_buckets.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct LearnedBias {
  static constexpr SchemeInfo info{
      .name = "learned-bias",
      .title = "Learned bias by distance",
      .formula = "score(i, j) += table[h, clip(j - i)]",
      .source =
          "Shaw et al. 2018, arXiv 1803.02155, with numbers in place of vectors; the general "
          "form of every bias by distance",
      .known_models = "the learned bias of FlexAttention's examples; MPNet and LayoutLM bucket it",
      .conventions =
          "The distance is key - query. Causal: columns 0 .. max_distance for keys that far before "
          "the query; keys after it read column 0. Bidirectional: columns for -max_distance .. "
          "max_distance in that order.",
      .beyond = "Distances past max_distance read the last number of their side.",
      .pitfalls =
          "The gradient of a number is the sum over all cells at its distance, and of all "
          "farther cells for the last; sums by atomics give another result each run.\n"
          "Numbers past the trained length were never trained.",
      .error = "Exact: numbers are read, not computed.",
      .proof = "LearnedBiasTest; BiasGradientTest: the sum over all cells of attention by hand."};
  static constexpr Choice<T5Direction> kDirections[] = {
      {"causal", T5Direction::kCausal}, {"bidirectional", T5Direction::kBidirectional}};
  int heads = 8;
  int max_distance = 128;
  T5Direction direction = T5Direction::kCausal;
  WeightScope scope = WeightScope::kModel;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("max_distance", max_distance, 0, 1 << 20, "farther distances share its number");
    field("direction", direction, kDirections, "whether keys after the query have numbers");
    field("scope", scope, kWeightScopes, "whether all layers share the table or each has its own");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }

  std::vector<WeightInfo> weights() const {
    return {{"table", {heads, Columns()}, scope, "a number a head and distance"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  void distance_bias(Weights weights, Distances distances, View<double, 2> bias) const {
    const View<const double, 2> table(weights[0].data(), {heads, Columns()});
    for (Index n = 0; n < distances.count; ++n) {
      const Index column = Column(distances.first + n);
      for (Index h = 0; h < heads; ++h) bias(h, n) = table(h, column);
    }
  }
  void distance_bias_back(Weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients d_weights) const {
    const View<double, 2> d_table(d_weights[0].data(), {heads, Columns()});
    for (Index n = 0; n < distances.count; ++n) {
      const Index column = Column(distances.first + n);
      for (Index h = 0; h < heads; ++h) d_table(h, column) += d_bias(h, n);
    }
  }

 private:
  Index Columns() const {
    return direction == T5Direction::kCausal ? max_distance + 1 : 2 * Index{max_distance} + 1;
  }
  Index Column(std::int64_t distance) const {
    if (direction == T5Direction::kCausal) {
      return distance >= 0 ? 0 : std::min<std::int64_t>(-distance, max_distance);
    }
    return std::clamp<std::int64_t>(distance, -max_distance, max_distance) + max_distance;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::LearnedBias>();
}  // namespace sextant
