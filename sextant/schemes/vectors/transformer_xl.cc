// Transformer-XL: projected sinusoids of the distance, with a content and a position bias.
#include <algorithm>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/vectors/projection.h"

namespace sextant {
namespace schemes {

struct TransformerXl {
  static constexpr SchemeInfo info{
      .name = "transformer-xl",
      .title = "Transformer-XL relative positions",
      .formula =
          "score(i, j) = (q_i + u) . k_j + (q_i + v) . (W R[i - j]), R[p] = [sin(p w) | cos(p w)]",
      .source = "Dai et al. 2019, arXiv 1901.02860, section 3.3",
      .known_models = "Transformer-XL; XLNet with other offsets (xlnet)",
      .conventions =
          "R is of query - key, sines first; all terms are scaled with q . k.\n"
          "W: r_net; u: r_w_bias (content_bias); v: r_r_bias (position_bias), shared by the layers "
          "unless untie_r.\n"
          "clamp_length: clamp_len, cuts both sides; 0 is no limit (-1 in released code).",
      .beyond = "Any distance; with clamp_length all from there on are one.",
      .pitfalls =
          "The released shift (pad a column, reshape, drop a row) leaves garbage above the "
          "diagonal: it holds under a causal mask only. Here every distance has its row.\n"
          "u and v are scaled too.",
      .error = "Sinusoids within 1e-15 + 2e-16 |distance|, sums in double.",
      .proof =
          "TransformerXlTest, TransformerXlFormTest (the released shift written out); check-peers: "
          "transformers' wav2vec2_conformer, the release's formula"};
  int model_dim = 64;
  int heads = 1;
  int head_dim = 64;
  double base = 1e4;
  int clamp_length = 0;
  double init_std = 0.02;

  void fields(auto& field) {
    field("model_dim", model_dim, 2, 65536, "width of the sinusoids R, even", "model_dim");
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength");
    field("clamp_length", clamp_length, 0, 1 << 24, "farther distances count as this; 0: no limit");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  void check() const {
    if (model_dim % 2 != 0) {
      throw Error(info.name, "model_dim must be even, got " + std::to_string(model_dim),
                  "sines and cosines share the width");
    }
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }

  // The released code shares u and v between layers unless told otherwise, and never the
  // projection.
  std::vector<WeightInfo> weights() const {
    return {
        {"projection", {heads, head_dim, model_dim}, WeightScope::kLayer, "W, R to keys"},
        {"content_bias", {heads, head_dim}, WeightScope::kModel, "u, added to queries for keys"},
        {"position_bias", {heads, head_dim}, WeightScope::kModel, "v, the same for R"}};
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
      if (clamp_length > 0) b = std::clamp<std::int64_t>(b, -clamp_length, clamp_length);
      behind.push_back(double(b));
    }
    return behind;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::TransformerXl>();
}  // namespace sextant
