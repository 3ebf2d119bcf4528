// Schemes for the hooks and combinations that no scheme of the registry uses, as plain structs.
#pragma once

#include <algorithm>
#include <cmath>

#include "sextant/schemes/erased.h"

namespace sextant::conformance {

// FIRE with one unit: the distance over the query's own position, so no function of distance alone.
//   r = ln(1 + c |k - q|) / ln(1 + c max(q, 32)),  bias[h] = a[h] tanh(b[h] r)
struct Fire {
  static constexpr SchemeInfo info{"fire", "Functional interpolation", "a tanh(b r)",
                                   "after Li et al. 2024, arXiv 2310.04418", ""};
  int heads = 4;

  void fields(auto& field) { field("heads", heads, 1, 64, "attention heads", "heads"); }
  Claims claims() const { return {.keeps_norms = true, .learned = true, .any_length = true}; }
  std::vector<WeightInfo> weights() const {
    return {{"a", {heads}, WeightScope::kModel, ""},
            {"b", {heads}, WeightScope::kModel, ""},
            {"log_c", {1}, WeightScope::kModel, ""}};
  }
  std::vector<std::vector<double>> initial_weights(Random&) const {
    const std::size_t count = static_cast<std::size_t>(heads);
    return {std::vector<double>(count, -1), std::vector<double>(count, 1.5), {-1}};
  }
  // ln(1 + c n) and its derivative by ln(c).
  static double Psi(double c, double n) { return std::log1p(c * n); }
  static double PsiByLogC(double c, double n) { return c * n / (1 + c * n); }

  void tile_bias(Weights w, const Positions& queries, const Positions& keys,
                 View<double, 3> bias) const {
    const double c = std::exp(w[2][0]);
    for (Index i = 0; i < queries.count(); ++i) {
      const double q = double(queries.values(0, i)), most = std::max(q, 32.0);
      for (Index j = 0; j < keys.count(); ++j) {
        const double r = Psi(c, std::abs(double(keys.values(0, j)) - q)) / Psi(c, most);
        for (Index h = 0; h < heads; ++h) {
          const std::size_t at = static_cast<std::size_t>(h);
          bias(h, i, j) = w[0][at] * std::tanh(w[1][at] * r);
        }
      }
    }
  }
  void tile_bias_back(Weights w, const Positions& queries, const Positions& keys,
                      View<const double, 3> d_bias, WeightGradients g) const {
    const double c = std::exp(w[2][0]);
    for (Index i = 0; i < queries.count(); ++i) {
      const double q = double(queries.values(0, i)), most = std::max(q, 32.0);
      for (Index j = 0; j < keys.count(); ++j) {
        const double n = std::abs(double(keys.values(0, j)) - q);
        const double r = Psi(c, n) / Psi(c, most);
        const double r_by_log_c = (PsiByLogC(c, n) - r * PsiByLogC(c, most)) / Psi(c, most);
        for (Index h = 0; h < heads; ++h) {
          const std::size_t at = static_cast<std::size_t>(h);
          const double t = std::tanh(w[1][at] * r), slope = w[0][at] * (1 - t * t);
          g[0][at] += d_bias(h, i, j) * t;
          g[1][at] += d_bias(h, i, j) * slope * r;
          g[2][0] += d_bias(h, i, j) * slope * w[1][at] * r_by_log_c;
        }
      }
    }
  }
};

// CoPE made smooth: positions are sums of gates over the visible keys from the key on.
//   p_ij = sum_{m >= j, visible} sigmoid(s_im),  bias_ij = tanh(p_ij / 4) (a[h] + q_i . e)
struct Cope {
  static constexpr SchemeInfo info{"cope", "Contextual positions", "tanh(p / 4) (a + q . e)",
                                   "after Golovneva et al. 2024, arXiv 2405.18719", ""};
  int heads = 4;
  int head_dim = 6;

  void fields(auto& field) {
    field("heads", heads, 1, 64, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
  }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }
  std::vector<WeightInfo> weights() const {
    return {{"a", {heads}, WeightScope::kModel, ""}, {"e", {head_dim}, WeightScope::kModel, ""}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), 0.5, random);
  }
  static double Gate(double score) { return 1 / (1 + std::exp(-score)); }

  double Factor(Weights w, Index head, View<const double, 2> query, Index i) const {
    double factor = w[0][static_cast<std::size_t>(head)];
    for (Index c = 0; c < head_dim; ++c) factor += query(i, c) * w[1][static_cast<std::size_t>(c)];
    return factor;
  }
  void contextual(Weights w, const ContextualInput& in, View<double, 2> bias) const {
    const auto& scores = in.scores;
    const auto& visible = in.visible;
    for (Index i = 0; i < scores.extent(0); ++i) {
      const double factor = Factor(w, in.head, in.query, i);
      double position = 0;
      for (Index j = scores.extent(1); j-- > 0;) {
        if (visible(i, j)) position += Gate(scores(i, j));
        bias(i, j) = std::tanh(position / 4) * factor;
      }
    }
  }
  void contextual_back(Weights w, const ContextualInput& in, View<const double, 2> d_bias,
                       const ContextualGradients& g) const {
    const auto& scores = in.scores;
    const auto& visible = in.visible;
    for (Index i = 0; i < scores.extent(0); ++i) {
      const double factor = Factor(w, in.head, in.query, i);
      std::vector<double> tanh(static_cast<std::size_t>(scores.extent(1)));
      double position = 0, d_factor = 0, d_position = 0;
      for (Index j = scores.extent(1); j-- > 0;) {
        if (!visible(i, j)) continue;
        position += Gate(scores(i, j));
        tanh[static_cast<std::size_t>(j)] = std::tanh(position / 4);
        d_factor += d_bias(i, j) * tanh[static_cast<std::size_t>(j)];
      }
      // A gate enters the positions of its own key and of all before it.
      for (Index j = 0; j < scores.extent(1); ++j) {
        if (!visible(i, j)) continue;
        const double t = tanh[static_cast<std::size_t>(j)], gate = Gate(scores(i, j));
        d_position += d_bias(i, j) * factor * (1 - t * t) / 4;
        g.scores(i, j) += d_position * gate * (1 - gate);
      }
      g.weights[0][static_cast<std::size_t>(in.head)] += d_factor;
      for (Index c = 0; c < head_dim; ++c) {
        g.weights[1][static_cast<std::size_t>(c)] += d_factor * in.query(i, c);
        g.query(i, c) += d_factor * w[1][static_cast<std::size_t>(c)];
      }
    }
  }
};

// Attention temperature: scale[p] = 1 + w ln(1 + p).
struct LogN {
  static constexpr SchemeInfo info{"logn", "Trained log-n temperature", "1 + w ln(1 + p)",
                                   "after Su 2021, kexue.fm/archives/8823", ""};
  void fields(auto&) {}
  Claims claims() const { return {.learned = true, .any_length = true}; }
  std::vector<WeightInfo> weights() const { return {{"w", {1}, WeightScope::kModel, ""}}; }
  std::vector<std::vector<double>> initial_weights(Random&) const { return {{0.3}}; }

  void query_scale(Weights w, const Positions& at, View<double, 1> scale) const {
    for (Index n = 0; n < at.count(); ++n) {
      scale(n) = 1 + w[0][0] * std::log1p(double(at.values(0, n)));
    }
  }
  void query_scale_back(Weights, const Positions& at, View<const double, 1> d_scale,
                        WeightGradients g) const {
    for (Index n = 0; n < at.count(); ++n) {
      g[0][0] += d_scale(n) * std::log1p(double(at.values(0, n)));
    }
  }
};

// Vectors a head and clipped distance in each term: DeBERTa has those of keys (content to position)
// and queries (position to content); `all` adds values and both bias vectors.
struct Vectors {
  static constexpr SchemeInfo info{"vectors", "Disentangled vectors",
                                   "q . key[d] + k . query[d], and value[d], u, v",
                                   "after He et al. 2021, arXiv 2006.03654", ""};
  enum class Terms { kDeberta, kAll };
  static constexpr Choice<Terms> kTerms[] = {{"deberta", Terms::kDeberta}, {"all", Terms::kAll}};
  int heads = 4;
  int head_dim = 6;
  int clip = 3;
  Terms terms = Terms::kDeberta;

  void fields(auto& field) {
    field("heads", heads, 1, 64, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("clip", clip, 1, 100, "largest distance with vectors of its own");
    field("terms", terms, kTerms, "what has vectors");
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }
  std::vector<WeightInfo> weights() const {
    const std::vector<Index> table = {heads, 2 * clip + 1, head_dim}, vector = {heads, head_dim};
    std::vector<WeightInfo> weights = {{"key", table, WeightScope::kLayer, ""},
                                       {"query", table, WeightScope::kLayer, ""}};
    if (terms == Terms::kDeberta) return weights;
    weights.push_back({"value", table, WeightScope::kLayer, ""});
    weights.push_back({"u", vector, WeightScope::kModel, ""});
    weights.push_back({"v", vector, WeightScope::kModel, ""});
    return weights;
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), 0.5, random);
  }
  DistanceVectorTables distance_vectors(Weights w, Distances distances) const {
    DistanceVectorTables tables;
    for (Index n = 0; n < distances.count; ++n) {
      const std::int64_t distance = distances.first + n;
      tables.row.push_back(
          static_cast<std::int32_t>(std::clamp<std::int64_t>(distance, -clip, clip) + clip));
    }
    tables.key = tables.query = Array<double, 3>({heads, 2 * clip + 1, head_dim});
    tables.key.values() = w[0];
    tables.query.values() = w[1];
    if (terms == Terms::kDeberta) return tables;
    tables.value = tables.key;
    tables.value.values() = w[2];
    tables.content_bias = tables.position_bias = Array<double, 2>({heads, head_dim});
    tables.content_bias.values() = w[3];
    tables.position_bias.values() = w[4];
    return tables;
  }
  void distance_vectors_back(Weights, Distances, const DistanceVectorTables& d,
                             WeightGradients g) const {
    AddTo(d.key.values(), g[0]);
    AddTo(d.query.values(), g[1]);
    if (terms == Terms::kDeberta) return;
    AddTo(d.value.values(), g[2]);
    AddTo(d.content_bias.values(), g[3]);
    AddTo(d.position_bias.values(), g[4]);
  }
};

// RoPE with trained frequencies; queries also grow by a trained factor, keys do not, and the
// softmax has a multiplier.
struct TrainedRope {
  static constexpr SchemeInfo info{"trained-rope", "Trained frequencies", "R(p w[i]) m", "none",
                                   ""};
  int rotated_dims = 6;

  void fields(auto& field) {
    field("rotated_dims", rotated_dims, 2, 4096, "channels that turn", "head_dim");
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }
  std::vector<WeightInfo> weights() const {
    return {{"frequency", {rotated_dims / 2}, WeightScope::kModel, ""},
            {"magnitude", {1}, WeightScope::kModel, ""}};
  }
  std::vector<std::vector<double>> initial_weights(Random&) const {
    std::vector<double> frequencies;
    for (int i = 0; i < rotated_dims / 2; ++i) {
      frequencies.push_back(std::pow(1e3, -2.0 * i / rotated_dims));
    }
    return {frequencies, {1.5}};
  }
  RotaryShape rotary_shape() const { return {rotated_dims, Pairing::kHalves}; }
  double softmax_multiplier() const { return 1.25; }

  void rotary(Weights w, const Positions& at, Side side, View<double, 2> cos,
              View<double, 2> sin) const {
    const double magnitude = side == Side::kQuery ? w[1][0] : 1;
    for (Index n = 0; n < at.count(); ++n) {
      for (Index i = 0; i < rotated_dims / 2; ++i) {
        const double angle = double(at.values(0, n)) * w[0][static_cast<std::size_t>(i)];
        cos(n, i) = magnitude * std::cos(angle);
        sin(n, i) = magnitude * std::sin(angle);
      }
    }
  }
  void rotary_back(Weights w, const Positions& at, Side side, View<const double, 2> d_cos,
                   View<const double, 2> d_sin, WeightGradients g) const {
    const double magnitude = side == Side::kQuery ? w[1][0] : 1;
    for (Index n = 0; n < at.count(); ++n) {
      for (Index i = 0; i < rotated_dims / 2; ++i) {
        const double p = double(at.values(0, n)), angle = p * w[0][static_cast<std::size_t>(i)];
        const double cos = std::cos(angle), sin = std::sin(angle);
        g[0][static_cast<std::size_t>(i)] +=
            magnitude * p * (d_sin(n, i) * cos - d_cos(n, i) * sin);
        if (side == Side::kQuery) g[1][0] += d_cos(n, i) * cos + d_sin(n, i) * sin;
      }
    }
  }
};

// A number for each distance up to `reach` either way, and nothing beyond.
struct ByDistance {
  static constexpr SchemeInfo info{"by-distance", "Learned by distance", "table[h, d]", "none", ""};
  int heads = 4;
  int reach = 64;

  void fields(auto& field) {
    field("heads", heads, 1, 64, "attention heads", "heads");
    field("reach", reach, 1, 4096, "distances served are below", "context");
  }
  Claims claims() const { return {.relative = true, .keeps_norms = true, .learned = true}; }
  std::vector<WeightInfo> weights() const {
    return {{"table", {heads, 2 * reach - 1}, WeightScope::kModel, ""}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), 0.5, random);
  }
  std::size_t At(Index head, std::int64_t distance) const {
    if (std::abs(distance) >= reach) FailPosition(info.name, distance, reach);
    return static_cast<std::size_t>(head * (2 * reach - 1) + distance + reach - 1);
  }
  void distance_bias(Weights w, Distances distances, View<double, 2> bias) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < distances.count; ++n) bias(h, n) = w[0][At(h, distances.first + n)];
    }
  }
  void distance_bias_back(Weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients g) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < distances.count; ++n) {
        g[0][At(h, distances.first + n)] += d_bias(h, n);
      }
    }
  }
};

}  // namespace sextant::conformance
