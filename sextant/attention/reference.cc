// The definition of attention with positions.
#include "sextant/attention/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sextant/attention/encode.h"
#include "sextant/attention/sizes.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double Dot(View<const double, 1> a, View<const double, 1> b) {
  double sum = 0;
  for (Index c = 0; c < a.extent(0); ++c) sum += a(c) * b(c);
  return sum;
}

void AddScaled(double factor, View<const double, 1> from, View<double, 1> to) {
  for (Index c = 0; c < from.extent(0); ++c) to(c) += factor * from(c);
}

void CheckInput(const Scheme& scheme, Weights weights, const AttentionInput& input) {
  CheckSizes(scheme, weights,
             {input.query.shape(), input.key.shape(), input.value.shape(),
              input.query_positions.count(), input.key_positions.count()});
}

// The tables a scheme fills for one pair of position lists, and where gradients of them gather.
class Tables {
 public:
  Tables(const Scheme& scheme, Weights weights, const AttentionInput& input)
      : scheme_(scheme), weights_(weights), input_(input) {
    CheckInput(scheme, weights, input);
    visible = VisibleKeys(input.mask, input.query_positions, input.key_positions);
    query = Encode(scheme, weights, input.query_positions, Side::kQuery, input.query);
    key = Encode(scheme, weights, input.key_positions, Side::kKey, input.key);
    scale = input.scale != 0 ? input.scale : 1 / std::sqrt(double(input.query.extent(2)));
    scale *= scheme.softmax_multiplier();
    query_scale = Array<double, 1>({queries()});
    std::fill(query_scale.values().begin(), query_scale.values().end(), 1.0);
    if (scheme.offers(Hook::kQueryScale)) {
      scheme.FillQueryScale(weights, input.query_positions, query_scale);
    }
    distances = DistancesBetween(input.query_positions, input.key_positions);
    if (scheme.offers(Hook::kDistanceBias)) {
      bias = Array<double, 2>({heads(), distances.count});
      scheme.FillDistanceBias(weights, distances, bias);
    }
    if (scheme.offers(Hook::kTileBias)) {
      tile = Array<double, 3>({heads(), queries(), keys()});
      scheme.FillTileBias(weights, input.query_positions, input.key_positions, tile);
    }
    if (scheme.offers(Hook::kDistanceVectors)) {
      vectors = scheme.FillDistanceVectors(weights, distances);
      CheckVectorSizes(scheme, vectors, heads(), head_dim());
    }
  }

  Index heads() const { return input_.query.extent(0); }
  Index queries() const { return input_.query.extent(1); }
  Index keys() const { return input_.key.extent(1); }
  Index head_dim() const { return input_.query.extent(2); }
  Index kv_head(Index head) const { return head / (heads() / input_.key.extent(0)); }
  Index distance(Index i, Index j) const {
    return input_.key_positions.values(0, j) - input_.query_positions.values(0, i) -
           distances.first;
  }
  // The row of a vector table [1 or heads, rows, head_dim] for head, query and key.
  template <class Table>
  auto Vector(Table& table, Index head, Index i, Index j) const {
    const Index row = vectors.row[static_cast<std::size_t>(distance(i, j))];
    return table.view()[table.extent(0) == 1 ? 0 : head][row];
  }

  // The part of a score that query scale and scale multiply.
  double Raw(Index h, Index i, Index j) const {
    const auto q = query.view()[h][i], k = key.view()[kv_head(h)][j];
    double raw = Dot(q, k);
    if (!vectors.content_bias.empty()) raw += Dot(vectors.content_bias.view()[h], k);
    if (!vectors.key.empty()) {
      const auto r = Vector(vectors.key, h, i, j);
      raw += Dot(q, r);
      if (!vectors.position_bias.empty()) raw += Dot(vectors.position_bias.view()[h], r);
    }
    if (!vectors.query.empty()) raw += Dot(k, Vector(vectors.query, h, i, j));
    return raw;
  }

  // Scores [queries, keys] of one head without the contextual bias, and with it in `with_context`.
  Array<double, 2> Scores(Index h) const {
    Array<double, 2> scores({queries(), keys()});
    for (Index i = 0; i < queries(); ++i) {
      for (Index j = 0; j < keys(); ++j) {
        double score = kNever;
        if (visible(i, j)) {
          score = scale * query_scale(i) * Raw(h, i, j);
          if (!bias.empty()) score += bias(h, distance(i, j));
          if (!tile.empty()) score += tile(h, i, j);
        }
        scores(i, j) = score;
      }
    }
    return scores;
  }
  void AddContext(Index h, Array<double, 2>& scores) const {
    if (!scheme_.offers(Hook::kContextual)) return;
    Array<double, 2> added(scores.shape());
    scheme_.FillContextual(weights_, Context(h, scores), added);
    for (Index i = 0; i < queries(); ++i) {
      for (Index j = 0; j < keys(); ++j) {
        if (visible(i, j)) scores(i, j) += added(i, j);
      }
    }
  }

  ContextualInput Context(Index h, const Array<double, 2>& scores) const {
    return {h,       query.view()[h],        key.view()[kv_head(h)], scores.view(),
            visible, input_.query_positions, input_.key_positions};
  }

  double scale = 0;
  Distances distances;
  Array<std::uint8_t, 2> visible;
  Array<double, 3> query, key;  // encoded
  Array<double, 1> query_scale;
  Array<double, 2> bias;
  Array<double, 3> tile;
  DistanceVectorTables vectors;

 private:
  const Scheme& scheme_;
  Weights weights_;
  const AttentionInput& input_;
};

// Softmax of one row into `weights`; returns the log of the sum of exponentials.
double Softmax(View<const double, 1> scores, View<double, 1> weights) {
  double highest = kNever;
  for (double score : scores.span()) highest = std::max(highest, score);
  if (highest == kNever) {
    std::fill(weights.span().begin(), weights.span().end(), 0.0);
    return kNever;
  }
  double sum = 0;
  for (Index j = 0; j < scores.extent(0); ++j) sum += weights(j) = std::exp(scores(j) - highest);
  for (double& weight : weights.span()) weight /= sum;
  return highest + std::log(sum);
}

// Where the gradients of a scheme's tables gather before the scheme maps them back.
struct TableGradients {
  explicit TableGradients(const Tables& tables)
      : query(tables.query.shape()),
        key(tables.key.shape()),
        query_scale(tables.query_scale.shape()),
        bias(tables.bias.shape()),
        tile(tables.tile.shape()) {
    const DistanceVectorTables& from = tables.vectors;
    vectors.row = from.row;
    vectors.key = Array<double, 3>(from.key.shape());
    vectors.query = Array<double, 3>(from.query.shape());
    vectors.value = Array<double, 3>(from.value.shape());
    vectors.content_bias = Array<double, 2>(from.content_bias.shape());
    vectors.position_bias = Array<double, 2>(from.position_bias.shape());
  }

  // Adds the gradients that a score's own gradient `d` sends to everything the score was made of.
  void AddScore(const Tables& t, Index h, Index i, Index j, double d) {
    const Index kv = t.kv_head(h);
    if (!bias.empty()) bias(h, t.distance(i, j)) += d;
    if (!tile.empty()) tile(h, i, j) += d;
    query_scale(i) += d * t.scale * t.Raw(h, i, j);
    const double d_raw = d * t.scale * t.query_scale(i);
    const auto q = t.query.view()[h][i], k = t.key.view()[kv][j];
    AddScaled(d_raw, k, query.view()[h][i]);
    AddScaled(d_raw, q, key.view()[kv][j]);
    if (!vectors.content_bias.empty()) {
      AddScaled(d_raw, k, vectors.content_bias.view()[h]);
      AddScaled(d_raw, t.vectors.content_bias.view()[h], key.view()[kv][j]);
    }
    if (!vectors.key.empty()) {
      const auto r = t.Vector(t.vectors.key, h, i, j);
      AddScaled(d_raw, r, query.view()[h][i]);
      AddScaled(d_raw, q, t.Vector(vectors.key, h, i, j));
      if (!vectors.position_bias.empty()) {
        AddScaled(d_raw, r, vectors.position_bias.view()[h]);
        AddScaled(d_raw, t.vectors.position_bias.view()[h], t.Vector(vectors.key, h, i, j));
      }
    }
    if (!vectors.query.empty()) {
      AddScaled(d_raw, t.Vector(t.vectors.query, h, i, j), key.view()[kv][j]);
      AddScaled(d_raw, k, t.Vector(vectors.query, h, i, j));
    }
  }

  Array<double, 3> query, key;
  Array<double, 1> query_scale;
  Array<double, 2> bias;
  Array<double, 3> tile;
  DistanceVectorTables vectors;
};

// From the gradient of one head's softmax weights to the gradient of its scores.
void SoftmaxBackward(const Array<double, 2>& weights, Array<double, 2>& d_weights) {
  for (Index i = 0; i < weights.extent(0); ++i) {
    const double mean = Dot(weights.view()[i], d_weights.view()[i]);
    for (Index j = 0; j < weights.extent(1); ++j) {
      d_weights(i, j) = weights(i, j) * (d_weights(i, j) - mean);
    }
  }
}

// Backward of one head: gathers into `d`, `d_value` and, for a contextual bias, `d_weights`.
void HeadBackward(const Scheme& scheme, Weights weights, const AttentionInput& input,
                  const Tables& tables, Index h, View<const double, 3> d_out, TableGradients& d,
                  Array<double, 3>& d_value, WeightGradients d_weights) {
  const Index kv = tables.kv_head(h), queries = tables.queries(), keys = tables.keys();
  const Array<double, 2> scores = tables.Scores(h);
  Array<double, 2> with_context = scores;
  tables.AddContext(h, with_context);
  Array<double, 2> softmax(scores.shape()), d_score(scores.shape());
  for (Index i = 0; i < queries; ++i) Softmax(with_context.view()[i], softmax.view()[i]);
  for (Index i = 0; i < queries; ++i) {
    for (Index j = 0; j < keys; ++j) {
      if (!tables.visible(i, j)) continue;
      d_score(i, j) = Dot(d_out[h][i], input.value[kv][j]);
      AddScaled(softmax(i, j), d_out[h][i], d_value.view()[kv][j]);
      if (tables.vectors.value.empty()) continue;
      d_score(i, j) += Dot(d_out[h][i], tables.Vector(tables.vectors.value, h, i, j));
      AddScaled(softmax(i, j), d_out[h][i], tables.Vector(d.vectors.value, h, i, j));
    }
  }
  SoftmaxBackward(softmax, d_score);
  if (scheme.offers(Hook::kContextual)) {
    const Array<double, 2> d_context = d_score;
    scheme.BackContextual(weights, tables.Context(h, scores), d_context,
                          {d.query.view()[h], d.key.view()[kv], d_score, d_weights});
  }
  for (Index i = 0; i < queries; ++i) {
    for (Index j = 0; j < keys; ++j) {
      if (tables.visible(i, j)) d.AddScore(tables, h, i, j, d_score(i, j));
    }
  }
}

}  // namespace

AttentionOutput ReferenceAttention(const Scheme& scheme, Weights weights,
                                   const AttentionInput& input) {
  const Tables tables(scheme, weights, input);
  const Index heads = tables.heads(), queries = tables.queries(), keys = tables.keys();
  AttentionOutput output;
  output.out = Array<double, 3>({heads, queries, tables.head_dim()});
  output.scores = Array<double, 3>({heads, queries, keys});
  output.weights = Array<double, 3>({heads, queries, keys});
  output.log_sum_exp = Array<double, 2>({heads, queries});
  for (Index h = 0; h < heads; ++h) {
    Array<double, 2> scores = tables.Scores(h);
    tables.AddContext(h, scores);
    for (Index i = 0; i < queries; ++i) {
      const auto row = output.weights.view()[h][i];
      output.log_sum_exp(h, i) = Softmax(scores.view()[i], row);
      for (Index j = 0; j < keys; ++j) {
        output.scores(h, i, j) = scores(i, j);
        if (!tables.visible(i, j)) continue;
        AddScaled(row(j), input.value[tables.kv_head(h)][j], output.out.view()[h][i]);
        if (tables.vectors.value.empty()) continue;
        AddScaled(row(j), tables.Vector(tables.vectors.value, h, i, j), output.out.view()[h][i]);
      }
    }
  }
  return output;
}

AttentionGradients ReferenceAttentionBackward(const Scheme& scheme, Weights weights,
                                              const AttentionInput& input,
                                              View<const double, 3> d_out) {
  const Tables tables(scheme, weights, input);
  if (d_out.shape() != input.query.shape()) {
    throw Error("attention", "d_out must have the shape of the queries");
  }
  AttentionGradients gradients;
  gradients.weights = ZeroWeights(scheme);
  gradients.value = Array<double, 3>(input.value.shape());
  TableGradients d(tables);
  for (Index h = 0; h < tables.heads(); ++h) {
    HeadBackward(scheme, weights, input, tables, h, d_out, d, gradients.value, gradients.weights);
  }
  if (scheme.offers(Hook::kDistanceBias)) {
    scheme.BackDistanceBias(weights, tables.distances, d.bias, gradients.weights);
  }
  if (scheme.offers(Hook::kTileBias)) {
    scheme.BackTileBias(weights, input.query_positions, input.key_positions, d.tile,
                        gradients.weights);
  }
  if (scheme.offers(Hook::kDistanceVectors)) {
    scheme.BackDistanceVectors(weights, tables.distances, d.vectors, gradients.weights);
  }
  if (scheme.offers(Hook::kQueryScale)) {
    scheme.BackQueryScale(weights, input.query_positions, d.query_scale, gradients.weights);
  }
  gradients.query = EncodeBackward(scheme, weights, input.query_positions, Side::kQuery,
                                   input.query, d.query, gradients.weights);
  gradients.key = EncodeBackward(scheme, weights, input.key_positions, Side::kKey, input.key, d.key,
                                 gradients.weights);
  return gradients;
}

ScoreTerms AdditiveScoreTerms(const Scheme& scheme, Weights weights, const AttentionInput& input) {
  CheckInput(scheme, weights, input);
  const Shape<3> shape{input.query.extent(0), input.query.extent(1), input.key.extent(1)};
  const Index heads = shape[0], head_dim = input.query.extent(2), kv_heads = input.key.extent(0);
  const Array<double, 3> p = AdditiveRows(scheme, weights, input.query_positions, heads, head_dim);
  const Array<double, 3> r = AdditiveRows(scheme, weights, input.key_positions, kv_heads, head_dim);
  const double scale = input.scale != 0 ? input.scale : 1 / std::sqrt(double(head_dim));
  const auto terms = [&](View<const double, 3> queries, View<const double, 3> keys) {
    Array<double, 3> dots(shape);
    for (Index h = 0; h < shape[0]; ++h) {
      for (Index i = 0; i < shape[1]; ++i) {
        for (Index j = 0; j < shape[2]; ++j) {
          dots(h, i, j) = scale * Dot(queries[h][i], keys[h / (heads / kv_heads)][j]);
        }
      }
    }
    return dots;
  };
  return {terms(input.query, input.key), terms(input.query, r), terms(p, input.key), terms(p, r)};
}

}  // namespace sextant
