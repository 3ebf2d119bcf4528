// Learned vectors by clipped distance, added to keys and values inside attention.
#include <algorithm>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Shaw {
  static constexpr SchemeInfo info{
      "shaw", "Relative position vectors",
      "score(i, j) = q_i . (k_j + key[clip(j - i)]), out_i = sum_j w_ij (v_j + value[clip(j - i)])",
      "Shaw et al. 2018, arXiv 1803.02155, equations 3 to 5",
      "the relative Transformer of tensor2tensor, wav2vec2-BERT (asymmetric)"};
  enum class Terms { kKeys, kKeysAndValues };
  static constexpr Choice<Terms> kTerms[] = {{"keys", Terms::kKeys},
                                             {"keys_and_values", Terms::kKeysAndValues}};
  int head_dim = 64;
  int clip = 16;
  Terms terms = Terms::kKeysAndValues;
  double init_std = 0.02;

  void fields(auto& field) {
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("clip", clip, 0, 1 << 20, "largest distance with a vector of its own, k in the paper");
    field("terms", terms, kTerms, "what the vectors are added to");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }

  std::vector<WeightInfo> weights() const {
    std::vector<WeightInfo> weights = {{"key",
                                        {2 * clip + 1, head_dim},
                                        WeightScope::kLayer,
                                        "a vector a distance -clip..clip, shared by the heads"}};
    if (terms == Terms::kKeysAndValues) {
      weights.push_back(
          {"value", {2 * clip + 1, head_dim}, WeightScope::kLayer, "the same for the values"});
    }
    return weights;
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  DistanceVectorTables distance_vectors(Weights weights, Distances distances) const {
    DistanceVectorTables tables;
    for (Index n = 0; n < distances.count; ++n) {
      const std::int64_t distance = distances.first + n;
      tables.row.push_back(std::int32_t(std::clamp<std::int64_t>(distance, -clip, clip) + clip));
    }
    tables.key = Array<double, 3>({1, 2 * clip + 1, head_dim});
    tables.key.values() = weights[0];
    if (terms == Terms::kKeysAndValues) {
      tables.value = Array<double, 3>({1, 2 * clip + 1, head_dim});
      tables.value.values() = weights[1];
    }
    return tables;
  }
  void distance_vectors_back(Weights, Distances, const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    AddTo(d_tables.key.values(), d_weights[0]);
    if (terms == Terms::kKeysAndValues) AddTo(d_tables.value.values(), d_weights[1]);
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Shaw>();
}  // namespace sextant
