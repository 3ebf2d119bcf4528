// The forgetting gate: every key says how much of what came before it is kept.
#include <algorithm>
#include <cmath>

#include "sextant/schemes/contextual/head_size.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Forgetting {
  static constexpr SchemeInfo info{
      .name = "forgetting",
      .title = "Forgetting gate",
      .formula =
          "score(i, j) += sum of ln f_m over visible keys m after j, up to i; "
          "f_m = sigmoid(weight[h] . k_m + bias[h])",
      .source = "Lin et al. 2025 (FoX), arXiv 2503.02130",
      .known_models = "FoX; flash-linear-attention and x-transformers (DataDependentAlibi)",
      .conventions =
          "With a causal mask this is c_i - c_j with c the running sum of ln f in the order of the "
          "keys. Keys after the query have c_j - c_i, as the bidirectional form of x-transformers "
          "has "
          "with gates of its own for them.\n"
          "The paper's gate reads the layer's input; this one reads the encoded key, a linear map "
          "of that input, so that cached keys are all that decoding needs. With as many channels "
          "as "
          "the input it can be the same gate.\n"
          "bias starts at 5: f = 0.9933, a slope of 0.0067 a key.",
      .beyond = "Defined at every length; the sum grows with the number of keys, so far ones fade.",
      .pitfalls =
          "Hidden keys (padding, other documents) must not be counted, or they forget too.\n"
          "Differences of long running sums in bfloat16 lose the near keys; sum in more "
          "digits.\n"
          "With a rotation the gate sees turned keys and is no longer relative.",
      .error = "Rounding of a sum over keys, relative 2^-53 a term.",
      .proof =
          "ForgettingTest: sums by hand, hidden keys, running sums.\nConformance suite: "
          "gradients of keys, weight and bias; decoding with a cache."};
  int heads = 8;
  int head_dim = 64;
  WeightScope scope = WeightScope::kLayer;
  double initial_bias = 5;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("scope", scope, kWeightScopes, "whether all layers share the gates");
    field("initial_bias", initial_bias, -30, 30, "where the bias of each gate starts");
    field("init_std", init_std, 0, 10, "standard deviation of the gates' initial weights");
  }
  Claims claims() const {
    return {
        .relative = true, .keeps_norms = true, .learned = true, .any_length = true, .decays = true};
  }

  std::vector<WeightInfo> weights() const {
    return {{"weight", {heads, head_dim}, scope, "what each head's gate reads of a key"},
            {"bias", {heads}, scope, "what each head's gate adds"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return {NormalWeights({weights()[0]}, init_std, random)[0],
            std::vector<double>(std::size_t(heads), initial_bias)};
  }

  void contextual(Weights weights, const ContextualInput& in, View<double, 2> bias) const {
    const std::vector<double> gates = Gates(weights, in);
    for (Index i = 0; i < in.query.extent(0); ++i) {
      double sum = 0;
      for (Index j = in.key.extent(0); j-- > 0;) {
        if (IsAfter(in, i, j)) continue;
        bias(i, j) = sum;
        if (in.visible(i, j)) sum += LogSigmoid(gates[std::size_t(j)]);
      }
      sum = 0;
      for (Index j = 0; j < in.key.extent(0); ++j) {
        if (!IsAfter(in, i, j)) continue;
        if (in.visible(i, j)) sum += LogSigmoid(gates[std::size_t(j)]);
        bias(i, j) = sum;
      }
    }
  }
  void contextual_back(Weights weights, const ContextualInput& in, View<const double, 2> d_bias,
                       const ContextualGradients& gradients) const {
    const std::vector<double> gates = Gates(weights, in);
    std::vector<double> d_logs(gates.size());
    for (Index i = 0; i < in.query.extent(0); ++i) {
      // A gate is counted for all keys on its far side from the query.
      double farther = 0;
      for (Index j = 0; j < in.key.extent(0); ++j) {
        if (!in.visible(i, j) || IsAfter(in, i, j)) continue;
        d_logs[std::size_t(j)] += farther;
        farther += d_bias(i, j);
      }
      farther = 0;
      for (Index j = in.key.extent(0); j-- > 0;) {
        if (!in.visible(i, j) || !IsAfter(in, i, j)) continue;
        farther += d_bias(i, j);
        d_logs[std::size_t(j)] += farther;
      }
    }
    const std::size_t head = std::size_t(in.head), width = std::size_t(head_dim);
    for (Index j = 0; j < in.key.extent(0); ++j) {
      // The derivative of ln sigmoid(x) is 1 - sigmoid(x).
      const double d = d_logs[std::size_t(j)] / (1 + std::exp(gates[std::size_t(j)]));
      gradients.weights[1][head] += d;
      for (std::size_t c = 0; c < width; ++c) {
        gradients.weights[0][head * width + c] += d * in.key(j, c);
        gradients.key(j, c) += d * weights[0][head * width + c];
      }
    }
  }

 private:
  // weight . k + bias for every key.
  std::vector<double> Gates(Weights weights, const ContextualInput& in) const {
    RequireHeadSize(info.name, in, head_dim, heads);
    const std::size_t head = std::size_t(in.head), width = std::size_t(head_dim);
    std::vector<double> gates(std::size_t(in.key.extent(0)), weights[1][head]);
    for (std::size_t j = 0; j < gates.size(); ++j) {
      for (std::size_t c = 0; c < width; ++c)
        gates[j] += weights[0][head * width + c] * in.key(j, c);
    }
    return gates;
  }
  static bool IsAfter(const ContextualInput& in, Index i, Index j) {
    return in.key_positions.values(0, j) > in.query_positions.values(0, i);
  }
  static double LogSigmoid(double x) {
    return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Forgetting>();
}  // namespace sextant
