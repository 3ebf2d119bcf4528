// FIRE: a perceptron of the distance measured against the query's own position.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sextant/schemes/bias/perceptron.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Fire {
  static constexpr SchemeInfo info{
      .name = "fire",
      .title = "Functional interpolation",
      .formula =
          "score(i, j) += MLP(ln(1 + |c (i - j)|) / (ln(1 + |c max(i, |m L|)|) + epsilon))[h]",
      .source =
          "Li et al. 2024, arXiv 2310.04418, section 3; code of McLeish et al. "
          "2024, arXiv 2405.17399",
      .known_models = "none released; the arithmetic models of McLeish et al.",
      .conventions =
          "i is the query's position, so the bias is no function of the distance: a cache must "
          "keep "
          "absolute positions.\n"
          "The perceptron has one hidden layer of hidden_dim ReLU units and a bias in both layers. "
          "c starts at initial_c, the multiplier m of the fixed length L at 1.\n"
          "Keys after the query use the size of their distance. ReaLLM-Forge adds epsilon inside "
          "the distance as well; that form is not here.",
      .beyond =
          "Past |m L| the input stays between 0 and 1 for keys before the query: distances are "
          "interpolated, not extrapolated.",
      .pitfalls =
          "max(i, |m L|) is of the query alone; the largest distance of the row or the "
          "sequence length are other functions.\n"
          "A threshold learned as its square root starts at another gradient.",
      .error = "Rounding of sums of hidden_dim products.",
      .proof =
          "FireTest: the formula by hand, before and past the threshold.\nConformance suite: "
          "gradients of c, m and every layer."};
  int heads = 8;
  int hidden_dim = 32;
  double length = 512;
  double initial_c = 0.1;
  double epsilon = 1e-6;
  WeightScope scope = WeightScope::kModel;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("hidden_dim", hidden_dim, 1, 4096, "units of the hidden layer");
    field("length", length, 1, 1e9, "L: queries before |m L| are measured as if there");
    field("initial_c", initial_c, 1e-6, 1e6, "where the trained factor on distances starts");
    field("epsilon", epsilon, 1e-12, 1, "added to the divisor");
    field("scope", scope, kWeightScopes, "whether all layers share the numbers");
  }
  Claims claims() const { return {.keeps_norms = true, .learned = true, .any_length = true}; }

  std::vector<WeightInfo> weights() const {
    std::vector<WeightInfo> weights = {
        {"c", {1}, scope, "factor on distances inside the logarithm"},
        {"length_multiplier", {1}, scope, "m, factor on the length"}};
    for (WeightInfo& weight : Mlp().weights(scope)) weights.push_back(std::move(weight));
    return weights;
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    std::vector<std::vector<double>> initial = {{initial_c}, {1}};
    for (std::vector<double>& weight : Mlp().InitialWeights(random)) {
      initial.push_back(std::move(weight));
    }
    return initial;
  }

  void tile_bias(Weights weights, const Positions& queries, const Positions& keys,
                 View<double, 3> bias) const {
    const Perceptron mlp = Mlp();
    std::vector<double> out(static_cast<std::size_t>(heads));
    for (Index i = 0; i < queries.count(); ++i) {
      for (Index j = 0; j < keys.count(); ++j) {
        const Ratio ratio = RatioOf(weights, queries.values(0, i), keys.values(0, j));
        mlp.Apply(weights.subspan(2), {&ratio.value, 1}, out);
        for (Index h = 0; h < heads; ++h) bias(h, i, j) = out[std::size_t(h)];
      }
    }
  }
  void tile_bias_back(Weights weights, const Positions& queries, const Positions& keys,
                      View<const double, 3> d_bias, WeightGradients d_weights) const {
    const Perceptron mlp = Mlp();
    std::vector<double> d_out(static_cast<std::size_t>(heads));
    for (Index i = 0; i < queries.count(); ++i) {
      for (Index j = 0; j < keys.count(); ++j) {
        const Ratio ratio = RatioOf(weights, queries.values(0, i), keys.values(0, j));
        for (Index h = 0; h < heads; ++h) d_out[std::size_t(h)] = d_bias(h, i, j);
        double d_ratio = 0;
        mlp.Back(weights.subspan(2), {&ratio.value, 1}, d_out, d_weights.subspan(2), {&d_ratio, 1});
        d_weights[0][0] += d_ratio * ratio.by_c;
        d_weights[1][0] += d_ratio * ratio.by_multiplier;
      }
    }
  }

 private:
  // The perceptron's input with its derivatives.
  struct Ratio {
    double value, by_c, by_multiplier;
  };
  Ratio RatioOf(Weights weights, std::int64_t query, std::int64_t key) const {
    const double c = weights[0][0], multiplier = weights[1][0];
    const double threshold = std::abs(multiplier * length), at = double(query);
    const double distance = std::abs(double(key - query)), most = std::max(at, threshold);
    const double size = std::abs(c), sign = c < 0 ? -1 : 1;
    const double above = std::log1p(size * distance), below = std::log1p(size * most) + epsilon;
    const double above_by_c = sign * distance / (1 + size * distance);
    const double below_by_c = sign * most / (1 + size * most);
    const double below_by_multiplier =
        at >= threshold ? 0 : size * length * (multiplier < 0 ? -1 : 1) / (1 + size * most);
    const double value = above / below;
    return {value, (above_by_c - value * below_by_c) / below, -value * below_by_multiplier / below};
  }
  Perceptron Mlp() const {
    return Perceptron({1, hidden_dim, heads}, Perceptron::Activation::kRelu);
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Fire>();
}  // namespace sextant
