// Transformer-XL: projected sinusoids of the distance, with a content and a position bias.
#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct TransformerXl {
  static constexpr SchemeInfo info{
      "transformer-xl", "Transformer-XL relative positions",
      "score(i, j) = (q_i + u) . k_j + (q_i + v) . (W R[i - j]), R[p] = [sin(p w) | cos(p w)]",
      "Dai et al. 2019, arXiv 1901.02860, section 3.3", "Transformer-XL; XLNet with other offsets"};
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
      throw Error(info.name, "model_dim must be even, got " + std::to_string(model_dim));
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
    const Array<double, 2> sinusoids = Sinusoids(distances);
    const View<const double, 3> projection(weights[0].data(), {heads, head_dim, model_dim});
    DistanceVectorTables tables;
    for (Index n = 0; n < distances.count; ++n) tables.row.push_back(std::int32_t(n));
    tables.key = Array<double, 3>({heads, distances.count, head_dim});
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < distances.count; ++n) {
        const auto r = sinusoids.view()[n].span();
        for (Index c = 0; c < head_dim; ++c) {
          const auto w = projection[h][c].span();
          double sum = 0;
          for (std::size_t m = 0; m < r.size(); ++m) sum += w[m] * r[m];
          tables.key(h, n, c) = sum;
        }
      }
    }
    tables.content_bias = Array<double, 2>({heads, head_dim});
    tables.content_bias.values() = weights[1];
    tables.position_bias = Array<double, 2>({heads, head_dim});
    tables.position_bias.values() = weights[2];
    return tables;
  }
  void distance_vectors_back(Weights, Distances distances, const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    const Array<double, 2> sinusoids = Sinusoids(distances);
    const View<double, 3> d_projection(d_weights[0].data(), {heads, head_dim, model_dim});
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < distances.count; ++n) {
        const auto r = sinusoids.view()[n].span();
        for (Index c = 0; c < head_dim; ++c) {
          const double d_key = d_tables.key(h, n, c);
          const auto d_w = d_projection[h][c].span();
          for (std::size_t m = 0; m < r.size(); ++m) d_w[m] += d_key * r[m];
        }
      }
    }
    AddTo(d_tables.content_bias.values(), d_weights[1]);
    AddTo(d_tables.position_bias.values(), d_weights[2]);
  }

 private:
  // R [distances, model_dim] of query - key, sines first.
  Array<double, 2> Sinusoids(Distances distances) const {
    Array<double, 2> rows({distances.count, model_dim});
    for (Index i = 0; i < model_dim / 2; ++i) {
      const double frequency = std::pow(base, -2.0 * double(i) / model_dim);
      for (Index n = 0; n < distances.count; ++n) {
        std::int64_t behind = -(distances.first + n);
        if (clamp_length > 0) {
          behind = std::clamp<std::int64_t>(behind, -clamp_length, clamp_length);
        }
        rows(n, i) = std::sin(double(behind) * frequency);
        rows(n, model_dim / 2 + i) = std::cos(double(behind) * frequency);
      }
    }
    return rows;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::TransformerXl>();
}  // namespace sextant
