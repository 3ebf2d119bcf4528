// Continuous position bias: a perceptron of the distance gives every head its number.
#include <cmath>
#include <cstdlib>

#include "sextant/schemes/bias/perceptron.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Cpb {
  static constexpr SchemeInfo info{
      .name = "cpb",
      .title = "Continuous position bias",
      .formula = "score(i, j) += MLP(i - j)[h], or of sign(i - j) ln(1 + |i - j|)",
      .source =
          "Liu et al. 2022, arXiv 2111.09883, section 3.3, in one dimension; "
          "DynamicPositionBias of x-transformers",
      .known_models = "Swin V2 has one in two dimensions (swin-v2)",
      .conventions =
          "The input is query - key, as x-transformers has it: positive for keys before the "
          "query.\n"
          "depth hidden layers of hidden_dim units with SiLU, then a linear layer to the heads, "
          "each "
          "with a bias. x-transformers offers a layer norm in front of each SiLU; it is not here.",
      .beyond =
          "Defined at every distance; a linear distance past the trained ones drives the "
          "perceptron where it never was, the logarithm far less so.",
      .pitfalls =
          "Linear distances of thousands make initial biases of that size: use log for "
          "contexts above a few dozen.",
      .error = "Rounding of sums of hidden_dim products.",
      .proof =
          "CpbTest: the perceptron by hand in both distances.\nConformance suite: gradients of "
          "every layer."};
  enum class Distance { kLinear, kLogarithm };
  static constexpr Choice<Distance> kDistances[] = {{"log", Distance::kLogarithm},
                                                    {"linear", Distance::kLinear}};
  int heads = 8;
  int hidden_dim = 32;
  int depth = 2;
  Distance distance = Distance::kLogarithm;
  WeightScope scope = WeightScope::kModel;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("hidden_dim", hidden_dim, 1, 4096, "units of a hidden layer");
    field("depth", depth, 1, 16, "hidden layers");
    field("distance", distance, kDistances, "what the perceptron is given");
    field("scope", scope, kWeightScopes, "whether all layers share the perceptron");
  }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }

  std::vector<WeightInfo> weights() const { return Mlp().weights(scope); }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return Mlp().InitialWeights(random);
  }

  void distance_bias(Weights weights, Distances distances, View<double, 2> bias) const {
    const Perceptron mlp = Mlp();
    std::vector<double> out(static_cast<std::size_t>(heads));
    for (Index n = 0; n < distances.count; ++n) {
      const double input = Input(distances.first + n);
      mlp.Apply(weights, {&input, 1}, out);
      for (Index h = 0; h < heads; ++h) bias(h, n) = out[std::size_t(h)];
    }
  }
  void distance_bias_back(Weights weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients d_weights) const {
    const Perceptron mlp = Mlp();
    std::vector<double> d_out(static_cast<std::size_t>(heads));
    double unused = 0;
    for (Index n = 0; n < distances.count; ++n) {
      const double input = Input(distances.first + n);
      for (Index h = 0; h < heads; ++h) d_out[std::size_t(h)] = d_bias(h, n);
      mlp.Back(weights, {&input, 1}, d_out, d_weights, {&unused, 1});
    }
  }

 private:
  Perceptron Mlp() const {
    std::vector<Index> widths(std::size_t(depth) + 1, hidden_dim);
    widths.front() = 1;
    widths.push_back(heads);
    return Perceptron(widths, Perceptron::Activation::kSilu);
  }
  double Input(std::int64_t key_minus_query) const {
    const double behind = -double(key_minus_query);
    if (distance == Distance::kLinear) return behind;
    return std::copysign(std::log1p(std::abs(behind)), behind);
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Cpb>();
}  // namespace sextant
