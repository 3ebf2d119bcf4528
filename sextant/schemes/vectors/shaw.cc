// Learned vectors by clipped distance, added to keys and values inside attention.
#include <algorithm>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Shaw {
  static constexpr SchemeInfo info{
      .name = "shaw",
      .title = "Relative position vectors",
      .formula =
          "score(i, j) = q_i . (k_j + key[clip(j - i)]), "
          "out_i = sum_j w_ij (v_j + value[clip(j - i)])",
      .source = "Shaw et al. 2018, arXiv 1803.02155, equations 3 to 5",
      .known_models =
          "the relative Transformer of tensor2tensor, wav2vec2-BERT (keys, clip=64, "
          "clip_after=8)",
      .conventions =
          "row: key - query, clipped, plus clip; the first row is the farthest key before the "
          "query. BERT's relative_key runs the other way (bert).\n"
          "clip: k in the paper, left_max_position_embeddings in wav2vec2-BERT; clip_after: "
          "right_max_position_embeddings there.\n"
          "Vectors are shared by the heads. The key term is scaled with q . k.",
      .beyond = "Distances from the clip on share the last vector.",
      .pitfalls =
          "Indexing without the clip fails or reads past the table.\n"
          "A clip of k has 2k + 1 vectors; of 0, one.\n"
          "Forgetting the values: most libraries have the key term alone (terms=keys).",
      .error = "The tables are the weights.",
      .proof =
          "ShawTest; check-peers: transformers' wav2vec2_bert, tensor2tensor's formula for values"};
  enum class Terms { kKeys, kKeysAndValues };
  static constexpr Choice<Terms> kTerms[] = {{"keys", Terms::kKeys},
                                             {"keys_and_values", Terms::kKeysAndValues}};
  int head_dim = 64;
  int clip = 16;
  int clip_after = -1;
  Terms terms = Terms::kKeysAndValues;
  double init_std = 0.02;

  void fields(auto& field) {
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("clip", clip, 0, 1 << 20, "largest distance with a vector of its own, k in the paper");
    field("clip_after", clip_after, -1, 1 << 20,
          "the same for keys after the query; -1: as before it");
    field("terms", terms, kTerms, "what the vectors are added to");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }

  std::vector<WeightInfo> weights() const {
    std::vector<WeightInfo> weights = {
        {"key",
         {Rows(), head_dim},
         WeightScope::kLayer,
         "a vector a distance -clip .. clip_after, shared by the heads"}};
    if (terms == Terms::kKeysAndValues) {
      weights.push_back(
          {"value", {Rows(), head_dim}, WeightScope::kLayer, "the same for the values"});
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
      tables.row.push_back(std::int32_t(std::clamp<std::int64_t>(distance, -clip, After()) + clip));
    }
    tables.key = Array<double, 3>({1, Rows(), head_dim});
    tables.key.values() = weights[0];
    if (terms == Terms::kKeysAndValues) {
      tables.value = Array<double, 3>({1, Rows(), head_dim});
      tables.value.values() = weights[1];
    }
    return tables;
  }
  void distance_vectors_back(Weights, Distances, const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    AddTo(d_tables.key.values(), d_weights[0]);
    if (terms == Terms::kKeysAndValues) AddTo(d_tables.value.values(), d_weights[1]);
  }

 private:
  int After() const { return clip_after < 0 ? clip : clip_after; }
  int Rows() const { return clip + After() + 1; }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Shaw>();
}  // namespace sextant
