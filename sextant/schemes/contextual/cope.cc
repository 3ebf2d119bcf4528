// CoPE: positions counted by gates on the scores, then read from a table by the query.
#include <algorithm>
#include <cmath>

#include "sextant/schemes/contextual/head_size.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Cope {
  static constexpr SchemeInfo info{
      .name = "cope",
      .title = "Contextual position encoding",
      .formula =
          "p_ij = sum of sigmoid(score_im) over visible keys m from j on, at most "
          "max_positions - 1; score(i, j) += q_i . table interpolated at p_ij",
      .source = "Golovneva et al. 2024, arXiv 2405.18719, section 4 and appendix B",
      .known_models = "none released; x-transformers has it",
      .conventions =
          "Gates read the scaled scores with all other biases; keys are counted in the order "
          "given, "
          "from the last to the key itself, its own gate included.\n"
          "The table is [max_positions, head_dim], shared by the heads, starts at 0, and is read "
          "by "
          "the query unscaled, as in x-transformers. Its soft one-hot form and talking heads are "
          "not "
          "here.",
      .beyond = "Counts stop at max_positions - 1, however many keys there are.",
      .pitfalls =
          "Hidden keys must be masked before the gate: sigmoid of an unmasked score counts keys "
          "the "
          "query must not see, and the future leaks into every position.\n"
          "A position that is whole or at the last one has no gradient from one side.",
      .error = "Rounding of a sum of gates; the bias is continuous in it.",
      .proof =
          "CopeTest: counts and interpolation by hand, hidden keys, the last position.\n"
          "Conformance suite: gradients of queries, keys and the table."};
  int head_dim = 64;
  int max_positions = 64;
  WeightScope scope = WeightScope::kLayer;
  double init_std = 0;

  void fields(auto& field) {
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("max_positions", max_positions, 1, 65536, "positions with a vector of their own");
    field("scope", scope, kWeightScopes, "whether all layers share the table or each has its own");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }

  std::vector<WeightInfo> weights() const {
    return {{"table", {max_positions, head_dim}, scope, "a vector a counted position"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  void contextual(Weights weights, const ContextualInput& in, View<double, 2> bias) const {
    RequireHeadSize(info.name, in, head_dim);
    for (Index i = 0; i < in.query.extent(0); ++i) {
      const std::vector<double> logits = Logits(weights, in.query[i]);
      double count = 0;
      for (Index j = in.key.extent(0); j-- > 0;) {
        bias(i, j) = 0;
        if (!in.visible(i, j)) continue;
        count += Gate(in.scores(i, j));
        const Place at = PlaceOf(count);
        bias(i, j) = logits[at.floor] * (1 - at.part) + logits[at.ceiling] * at.part;
      }
    }
  }
  void contextual_back(Weights weights, const ContextualInput& in, View<const double, 2> d_bias,
                       const ContextualGradients& gradients) const {
    RequireHeadSize(info.name, in, head_dim);
    const Index keys = in.key.extent(0);
    std::vector<double> d_count(static_cast<std::size_t>(keys));
    for (Index i = 0; i < in.query.extent(0); ++i) {
      const std::vector<double> logits = Logits(weights, in.query[i]);
      std::vector<double> d_logits(logits.size());
      double count = 0;
      for (Index j = keys; j-- > 0;) {
        if (!in.visible(i, j)) continue;
        count += Gate(in.scores(i, j));
        const Place at = PlaceOf(count);
        d_logits[at.floor] += d_bias(i, j) * (1 - at.part);
        d_logits[at.ceiling] += d_bias(i, j) * at.part;
        d_count[std::size_t(j)] =
            at.moves ? d_bias(i, j) * (logits[at.ceiling] - logits[at.floor]) : 0;
      }
      // A gate is counted at its own key and at all before it.
      double d_gate = 0;
      for (Index j = 0; j < keys; ++j) {
        if (!in.visible(i, j)) continue;
        d_gate += d_count[std::size_t(j)];
        const double gate = Gate(in.scores(i, j));
        gradients.scores(i, j) += d_gate * gate * (1 - gate);
      }
      BackLogits(weights, in.query[i], d_logits, gradients.query[i], gradients.weights);
    }
  }

 private:
  // Between which rows of the table a count lies, and how far.
  struct Place {
    std::size_t floor, ceiling;
    double part;
    bool moves;  // whether a larger count is another place
  };
  Place PlaceOf(double count) const {
    const double last = max_positions - 1;
    if (count >= last) return {std::size_t(last), std::size_t(last), 0, false};
    const std::size_t floor = std::size_t(count);
    return {floor, floor + 1, count - double(floor), true};
  }
  static double Gate(double score) { return 1 / (1 + std::exp(-score)); }

  // q . table[m] for every m.
  std::vector<double> Logits(Weights weights, View<const double, 1> query) const {
    const View<const double, 2> table(weights[0].data(), {max_positions, head_dim});
    std::vector<double> logits(std::size_t(max_positions), 0.0);
    for (Index m = 0; m < max_positions; ++m) {
      for (Index c = 0; c < head_dim; ++c) logits[std::size_t(m)] += query(c) * table(m, c);
    }
    return logits;
  }
  void BackLogits(Weights weights, View<const double, 1> query, const std::vector<double>& d_logits,
                  View<double, 1> d_query, WeightGradients d_weights) const {
    const View<const double, 2> table(weights[0].data(), {max_positions, head_dim});
    const View<double, 2> d_table(d_weights[0].data(), {max_positions, head_dim});
    for (Index m = 0; m < max_positions; ++m) {
      const double d = d_logits[std::size_t(m)];
      if (d == 0) continue;
      for (Index c = 0; c < head_dim; ++c) {
        d_query(c) += d * table(m, c);
        d_table(m, c) += d * query(c);
      }
    }
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Cope>();
}  // namespace sextant
