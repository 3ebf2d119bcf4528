// Music Transformer: a learned vector a distance into the past, by head.
#include <algorithm>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Music {
  static constexpr SchemeInfo info{
      .name = "music",
      .title = "Music Transformer relative attention",
      .formula = "score(i, j) = q_i . k_j + q_i . E[h, max_distance - 1 - (i - j)] for j <= i",
      .source =
          "Huang et al. 2018, arXiv 1809.04281, section 3.4, and its release in tensor2tensor "
          "(dot_product_self_attention_relative_v2)",
      .known_models = "Music Transformer",
      .conventions =
          "row: 0 is the farthest distance, max_distance - 1 the query itself; key - query runs "
          "from 1 - max_distance to 0. What the paper calls skewing only finds this row fast.\n"
          "sharing: heads_share_relative_embedding; by_head is the paper's.\n"
          "max_distance: max_relative_position, the number of vectors.\n"
          "Keys alone; for values see shaw.",
      .beyond =
          "beyond=zero, as tensor2tensor pads: farther keys have no vector. beyond=farthest: "
          "they share the last, as Shaw clips.\n"
          "Keys after the query have none; the model is causal.",
      .pitfalls =
          "Skewing scores that were not masked first brings garbage above the diagonal.\n"
          "A cut of the table at its start instead of its end when the text is shorter than "
          "max_distance.\n"
          "max_distance=0 has no vector at all; use none.",
      .error = "The tables are the weights.",
      .proof = "MusicTest (skewing written out); check-peers: tensor2tensor's formula"};
  enum class Beyond { kZero, kFarthest };
  static constexpr Choice<Beyond> kBeyond[] = {{"zero", Beyond::kZero},
                                               {"farthest", Beyond::kFarthest}};
  enum class Sharing { kByHead, kShared };
  static constexpr Choice<Sharing> kSharings[] = {{"by_head", Sharing::kByHead},
                                                  {"shared", Sharing::kShared}};
  int heads = 1;
  int head_dim = 64;
  int max_distance = 512;
  Beyond beyond = Beyond::kZero;
  Sharing sharing = Sharing::kByHead;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("max_distance", max_distance, 1, 65536,
          "vectors a head, for the distances 0 .. max_distance - 1 into the past", "context");
    field("beyond", beyond, kBeyond, "what farther keys get: no vector or the farthest one");
    field("sharing", sharing, kSharings, "whether each head has its own vectors");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }

  std::vector<WeightInfo> weights() const {
    return {{"key",
             {Tables(), max_distance, head_dim},
             WeightScope::kLayer,
             "E, a vector a distance, the farthest first"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  // A last row of zeros serves the distances without a vector.
  DistanceVectorTables distance_vectors(Weights weights, Distances distances) const {
    DistanceVectorTables tables;
    for (Index n = 0; n < distances.count; ++n) {
      tables.row.push_back(std::int32_t(Row(-(distances.first + n))));
    }
    const View<const double, 3> vectors(weights[0].data(), {Tables(), max_distance, head_dim});
    tables.key = Array<double, 3>({Tables(), max_distance + 1, head_dim});
    for (Index h = 0; h < Tables(); ++h) {
      for (Index r = 0; r < max_distance; ++r) {
        std::copy_n(vectors[h][r].data(), head_dim, tables.key.view()[h][r].data());
      }
    }
    return tables;
  }
  void distance_vectors_back(Weights, Distances, const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    const View<double, 3> d_vectors(d_weights[0].data(), {Tables(), max_distance, head_dim});
    for (Index h = 0; h < Tables(); ++h) {
      for (Index r = 0; r < max_distance; ++r) {
        for (Index c = 0; c < head_dim; ++c) d_vectors(h, r, c) += d_tables.key(h, r, c);
      }
    }
  }

 private:
  Index Tables() const { return sharing == Sharing::kShared ? 1 : heads; }
  std::int64_t Row(std::int64_t behind) const {
    const std::int64_t none = max_distance;
    if (behind < 0) return none;
    if (behind >= max_distance) return beyond == Beyond::kZero ? none : 0;
    return max_distance - 1 - behind;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Music>();
}  // namespace sextant
