// KERPLE: trained kernels of the distance, logarithmic or a power, two numbers a head.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Kerple {
  static constexpr SchemeInfo info{
      .name = "kerple",
      .title = "Kernelised relative bias",
      .formula = "score(i, j) += -r1[h] ln(1 + r2[h] |j - i|), or -a[h] |j - i|^p[h]",
      .source = "Chi et al. 2022, arXiv 2205.09921, and its GPT-NeoX fork",
      .known_models = "none released; the paper's GPT-NeoX models of 162M",
      .conventions =
          "Added after scaling, per head, and mirrored for keys after the query.\n"
          "The fork calls r1, r2 bias_p, bias_a (log) and a, p bias_a, bias_p (power). Initial "
          "values "
          "are uniform: r1 in [0, 2), r2 in [0, 1), a in [0, 1), p in [0, 2).\n"
          "Numbers are read as at least 0.01, and p as at most 2: a larger power is no kernel of "
          "the "
          "kind the paper needs.",
      .beyond = "Defined at every distance; meant to be used past the trained length.",
      .pitfalls =
          "A number outside its bounds is read as the bound and gets no gradient. The fork clamps "
          "the stored number itself before each pass, so there a number at its bound can come "
          "back.\n"
          "NeMo's KERPLE of 2023 sets its weights to zeros that are not trained: a bias of 0.",
      .error = "A few units in the last place of a double.",
      .proof =
          "KerpleTest: the formulas by hand, bounds, initial ranges.\nConformance suite: "
          "gradients of all four numbers."};
  enum class Kernel { kLogarithm, kPower };
  static constexpr Choice<Kernel> kKernels[] = {{"log", Kernel::kLogarithm},
                                                {"power", Kernel::kPower}};
  static constexpr double kLeast = 1e-2, kMostPower = 2;
  int heads = 8;
  Kernel kernel = Kernel::kLogarithm;
  WeightScope scope = WeightScope::kModel;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("kernel", kernel, kKernels, "how the bias falls with distance");
    field("scope", scope, kWeightScopes, "whether all layers share the numbers");
  }
  Claims claims() const {
    return {
        .relative = true, .keeps_norms = true, .learned = true, .any_length = true, .decays = true};
  }

  std::vector<WeightInfo> weights() const {
    if (kernel == Kernel::kLogarithm) {
      return {{"r1", {heads}, scope, "factor on the logarithm"},
              {"r2", {heads}, scope, "factor on the distance"}};
    }
    return {{"a", {heads}, scope, "factor on the power"},
            {"p", {heads}, scope, "the power, at most 2"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    const double ranges[2] = {kernel == Kernel::kLogarithm ? 2.0 : 1.0,
                              kernel == Kernel::kLogarithm ? 1.0 : 2.0};
    std::vector<std::vector<double>> initial;
    for (const double range : ranges) {
      std::vector<double>& weight = initial.emplace_back(std::size_t(heads));
      // What would start below the bound starts at it, where it still has a gradient.
      for (double& value : weight) value = std::max(kLeast, range * random.Uniform());
    }
    return initial;
  }

  void distance_bias(Weights weights, Distances distances, View<double, 2> bias) const {
    for (Index h = 0; h < heads; ++h) {
      const double first = Bounded(weights, 0, h), second = Bounded(weights, 1, h);
      for (Index n = 0; n < distances.count; ++n) {
        const double distance = std::abs(double(distances.first + n));
        bias(h, n) = kernel == Kernel::kLogarithm ? -first * std::log1p(second * distance)
                                                  : -first * std::pow(distance, second);
      }
    }
  }
  void distance_bias_back(Weights weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients d_weights) const {
    for (Index h = 0; h < heads; ++h) {
      const double first = Bounded(weights, 0, h), second = Bounded(weights, 1, h);
      double d_first = 0, d_second = 0;
      for (Index n = 0; n < distances.count; ++n) {
        const double distance = std::abs(double(distances.first + n));
        if (kernel == Kernel::kLogarithm) {
          d_first -= d_bias(h, n) * std::log1p(second * distance);
          d_second -= d_bias(h, n) * first * distance / (1 + second * distance);
        } else if (distance > 0) {
          const double power = std::pow(distance, second);
          d_first -= d_bias(h, n) * power;
          d_second -= d_bias(h, n) * first * power * std::log(distance);
        }
      }
      if (Within(weights, 0, h)) d_weights[0][std::size_t(h)] += d_first;
      if (Within(weights, 1, h)) d_weights[1][std::size_t(h)] += d_second;
    }
  }

 private:
  double Bounded(Weights weights, std::size_t which, Index head) const {
    const double value = std::max(weights[which][std::size_t(head)], kLeast);
    return which == 1 && kernel == Kernel::kPower ? std::min(value, kMostPower) : value;
  }
  bool Within(Weights weights, std::size_t which, Index head) const {
    return Bounded(weights, which, head) == weights[which][std::size_t(head)];
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Kerple>();
}  // namespace sextant
