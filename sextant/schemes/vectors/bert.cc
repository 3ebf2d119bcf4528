// BERT's relative_key: a learned vector a distance, and an end where the table ends.
#include <algorithm>
#include <cstdlib>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Bert {
  static constexpr SchemeInfo info{
      .name = "bert",
      .title = "BERT relative keys",
      .formula = "score(i, j) = q_i . k_j + q_i . E[i - j + M - 1] (+ k_j . E[i - j + M - 1])",
      .source =
          "keys: Shaw et al. 2018, arXiv 1803.02155; keys_and_queries: Huang et al. 2020, "
          "arXiv 2009.13658, method 4; both as released in transformers 4",
      .known_models =
          "BERT, RoBERTa, ELECTRA, ESM with position_embedding_type relative_key or "
          "relative_key_query",
      .conventions =
          "row: query - key + max_positions - 1; Shaw's order is key - query, so the table runs "
          "backwards.\n"
          "terms: keys is relative_key, keys_and_queries is relative_key_query; one table serves "
          "both terms.\n"
          "No vectors for the values. Scaled with q . k.",
      .beyond =
          "A distance of max_positions or more has no vector: an error here, an index out of "
          "range in transformers.",
      .pitfalls =
          "Not clipped, unlike Shaw: a longer text needs a larger table or another scheme.\n"
          "At decode the query's position is the length of the keys - 1, not 0.",
      .error = "The tables are the weights.",
      .proof =
          "BertTest, BertFormTest; check-peers: the formula of transformers 4.x (gone from 5.x)"};
  enum class Terms { kKeys, kKeysAndQueries };
  static constexpr Choice<Terms> kTerms[] = {{"keys", Terms::kKeys},
                                             {"keys_and_queries", Terms::kKeysAndQueries}};
  int head_dim = 64;
  int max_positions = 512;
  Terms terms = Terms::kKeys;
  double init_std = 0.02;

  void fields(auto& field) {
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("max_positions", max_positions, 1, 65536, "M, distances up to M - 1 have a vector",
          "context");
    field("terms", terms, kTerms, "whether queries alone meet the vectors, or keys too");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.relative = true, .learned = true}; }

  std::vector<WeightInfo> weights() const {
    return {{"distance",
             {2 * max_positions - 1, head_dim},
             WeightScope::kLayer,
             "E, a vector a distance 1 - M .. M - 1 of query - key, shared by the heads"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  DistanceVectorTables distance_vectors(Weights weights, Distances distances) const {
    DistanceVectorTables tables;
    if (distances.count == 0) return tables;
    CheckReach(distances.first);
    CheckReach(distances.first + distances.count - 1);
    for (Index n = 0; n < distances.count; ++n) {
      tables.row.push_back(std::int32_t(max_positions - 1 - (distances.first + n)));
    }
    tables.key = Array<double, 3>({1, 2 * max_positions - 1, head_dim});
    tables.key.values() = weights[0];
    if (terms == Terms::kKeysAndQueries) tables.query = tables.key;
    return tables;
  }
  void distance_vectors_back(Weights, Distances distances, const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    if (distances.count == 0) return;
    AddTo(d_tables.key.values(), d_weights[0]);
    if (terms == Terms::kKeysAndQueries) AddTo(d_tables.query.values(), d_weights[0]);
  }

 private:
  void CheckReach(std::int64_t distance) const {
    if (std::abs(distance) < max_positions) return;
    throw Error(info.name,
                "has vectors for distances up to " + std::to_string(max_positions - 1) +
                    " either way, got distance " + std::to_string(distance),
                "raise max_positions and train it, or use shaw, which clips");
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Bert>();
}  // namespace sextant
