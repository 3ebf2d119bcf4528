// XLNet: Transformer-XL's projected sinusoids, with biases of each layer and both directions.
#include <algorithm>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/vectors/projection.h"

namespace sextant {
namespace schemes {

struct Xlnet {
  static constexpr SchemeInfo info{
      .name = "xlnet",
      .title = "XLNet relative positions",
      .formula =
          "score(i, j) = (q_i + r_w_bias) . k_j + (q_i + r_r_bias) . (r R[i - j]), "
          "R[p] = [sin(p w) | cos(p w)]",
      .source = "Yang et al. 2019, arXiv 1906.08237, section 2.3 and its released code",
      .known_models = "XLNet base and large",
      .conventions =
          "R is of query - key, sines first, as in transformer-xl; the released code lays out one "
          "row more (from klen down to 1 - qlen) and shifts by another cut, which finds the same "
          "distance.\n"
          "Against transformer-xl: both biases belong to a layer (untie_r), clamp_len cuts both "
          "sides, and keys after the query have rows (attn_type=bi).\n"
          "r: [model_dim, heads, head_dim] in released files, [heads, head_dim, model_dim] here.\n"
          "The segment term (r_s_bias, seg_embed) looks at which text a token is of, not at "
          "positions: not part of this.\n"
          "bi_data runs half of a batch backwards: give those rows negated positions.",
      .beyond = "Any distance; with clamp_len all from there on are one.",
      .pitfalls =
          "Shifting with Transformer-XL's cut where the table has XLNet's extra row puts "
          "every distance one off.\n"
          "direction=past: what the released code reads for keys after the query is of "
          "another row's distances; they must be masked. Here they count as distance 0.",
      .error = "Sinusoids within 1e-15 + 2e-16 |distance|, sums in double.",
      .proof = "XlnetTest (the released shift written out); check-peers: transformers' xlnet"};
  enum class Direction { kBoth, kPast };
  static constexpr Choice<Direction> kDirections[] = {{"both", Direction::kBoth},
                                                      {"past", Direction::kPast}};
  int model_dim = 64;
  int heads = 1;
  int head_dim = 64;
  double base = 1e4;
  Direction direction = Direction::kBoth;
  int clamp_len = 0;
  double init_std = 0.02;

  void fields(auto& field) {
    field("model_dim", model_dim, 2, 65536, "width of the sinusoids R, even", "model_dim");
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength");
    field("direction", direction, kDirections,
          "attn_type: both is bi, past is uni, where keys after the query must be masked");
    field("clamp_len", clamp_len, 0, 1 << 24, "farther distances count as this; 0: no limit");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  void check() const {
    if (model_dim % 2 != 0) {
      throw Error(info.name, "model_dim must be even, got " + std::to_string(model_dim),
                  "sines and cosines share the width");
    }
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }

  std::vector<WeightInfo> weights() const {
    return {{"projection", {heads, head_dim, model_dim}, WeightScope::kLayer, "r, R to keys"},
            {"content_bias", {heads, head_dim}, WeightScope::kLayer, "r_w_bias, for keys"},
            {"position_bias", {heads, head_dim}, WeightScope::kLayer, "r_r_bias, for projected R"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  DistanceVectorTables distance_vectors(Weights weights, Distances distances) const {
    return Vectors().Tables(weights, Behind(distances));
  }
  void distance_vectors_back(Weights weights, Distances distances,
                             const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    Vectors().Back(weights, Behind(distances), d_tables, d_weights);
  }

 private:
  ProjectedSinusoids Vectors() const { return {heads, head_dim, model_dim, base}; }
  std::vector<double> Behind(Distances distances) const {
    std::vector<double> behind;
    for (Index n = 0; n < distances.count; ++n) {
      std::int64_t b = -(distances.first + n);
      if (clamp_len > 0) b = std::clamp<std::int64_t>(b, -clamp_len, clamp_len);
      if (direction == Direction::kPast) b = std::max<std::int64_t>(b, 0);
      behind.push_back(double(b));
    }
    return behind;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Xlnet>();
}  // namespace sextant
