// DeBERTa: content against position vectors, and position vectors against content.
#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/vectors/deberta_buckets.h"
#include "sextant/schemes/vectors/projection.h"

namespace sextant {
namespace schemes {

struct Deberta {
  static constexpr SchemeInfo info{
      .name = "deberta",
      .title = "Disentangled attention",
      .formula =
          "score(i, j) = (q_i . k_j + q_i . K P[row] + k_j . (Q P[row] + b)) / sqrt(3 "
          "head_dim), row = clamp(bucket(i - j) + span, 0, 2 span - 1)",
      .source =
          "He et al. 2021, arXiv 2006.03654, section 3.1, equations 2 and 4, as its released "
          "code (v1, v2) has it",
      .known_models = "DeBERTa (v1), DeBERTa v2 and v3, mDeBERTa v3 (v2)",
      .conventions =
          "row: query - key, so keys before the query lie above the middle; transformers names it "
          "relative_pos.\n"
          "Both terms take the same row: p2c gathers by -(key - query) and transposes, which is "
          "query - key again.\n"
          "The rows -span .. span - 1 are not symmetric: the farthest key before the query shares "
          "its row with the one a step nearer.\n"
          "rel_embeddings: P; norm_rel_ebd=layer_norm (v2, v3) normalises P first, so give "
          "normalised rows. key_projection and query_projection: pos_proj and pos_q_proj (v1), "
          "pos_key_proj and pos_query_proj (v2), or with share_att_key the attention's own key and "
          "query projections (copies of them here). A bias of the key projection adds the same to "
          "all scores of a query and is left out.\n"
          "terms: pos_att_type, c2p is content_to_position, p2c is position_to_content.",
      .beyond =
          "Any distance has a row; from span (v1) or about max_relative_positions (v2) on all "
          "share the last.",
      .pitfalls =
          "Bucketing with the sequence's length instead of max_relative_positions: distance 200 "
          "falls in bucket 180 of a 384 sequence, not 169; up to half the buckets both agree, so "
          "short tests pass.\n"
          "The sign of the position-to-content rows: the paper writes delta(j, i) there, the "
          "released code and so all checkpoints take delta(i, j).\n"
          "floor for ceil in the bucket, and max_relative_positions for max_relative_positions - "
          "1.\n"
          "The softmax scale counts the terms: 1 / sqrt(head_dim (1 + terms)).",
      .error =
          "Rows are exact, where transformers' float32 logarithm is one bucket off at 8 of 1.4 "
          "million sizes and distances tried (none of the released sizes); vectors are sums "
          "in double.",
      .proof =
          "DebertaTest, DebertaFormTest, DebertaBucketTest; check-peers: transformers' deberta and "
          "deberta_v2"};
  enum class Form { kV1, kV2 };
  static constexpr Choice<Form> kForms[] = {{"v1", Form::kV1}, {"v2", Form::kV2}};
  enum class Terms { kContentToPosition, kPositionToContent, kBoth };
  static constexpr Choice<Terms> kTerms[] = {{"content_to_position", Terms::kContentToPosition},
                                             {"position_to_content", Terms::kPositionToContent},
                                             {"both", Terms::kBoth}};
  int heads = 1;
  int head_dim = 64;
  int model_dim = 64;
  Form form = Form::kV2;
  Terms terms = Terms::kBoth;
  int max_relative_positions = 512;
  int position_buckets = 0;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("model_dim", model_dim, 1, 65536, "width of the rows before projection", "model_dim");
    field("form", form, kForms, "v1 clamps distances, v2 puts far ones into logarithmic buckets");
    field("terms", terms, kTerms, "which of the two terms scores gain");
    field("max_relative_positions", max_relative_positions, 2, 65536,
          "v1: distances with a row of their own a side; v2: where the buckets end", "context");
    field("position_buckets", position_buckets, 0, 65536,
          "v2: rows a side, even; 0: half of max_relative_positions, as DeBERTa v2 and v3");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  void check() const {
    if (form == Form::kV1) {
      if (position_buckets == 0) return;
      throw Error(
          info.name,
          "form=v1 has no buckets, got position_buckets=" + std::to_string(position_buckets),
          "form=v2 has");
    }
    if (position_buckets % 2 != 0) {
      throw Error(info.name,
                  "position_buckets must be even, got " + std::to_string(position_buckets));
    }
    if (max_relative_positions - 1 <= Buckets() / 2) {
      throw Error(info.name,
                  "max_relative_positions must exceed half of position_buckets by 2 or more, got " +
                      std::to_string(max_relative_positions) + " with " +
                      std::to_string(Buckets()) + " buckets",
                  "form=v1 takes every distance as it is");
    }
  }
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }

  // Layers share the rows, each projects them its own way.
  std::vector<WeightInfo> weights() const {
    const std::vector<Index> projection = {heads, head_dim, model_dim};
    std::vector<WeightInfo> weights = {{"rel_embeddings",
                                        {2 * Span(), model_dim},
                                        WeightScope::kModel,
                                        "P, a row a distance or bucket -span .. span - 1"}};
    if (HasKey()) {
      weights.push_back({"key_projection", projection, WeightScope::kLayer, "K, P to keys"});
    }
    if (HasQuery()) {
      weights.push_back({"query_projection", projection, WeightScope::kLayer, "Q, P to queries"});
      weights.push_back(
          {"query_bias", {heads, head_dim}, WeightScope::kLayer, "b, added to projected queries"});
    }
    return weights;
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    std::vector<std::vector<double>> values = NormalWeights(weights(), init_std, random);
    if (HasQuery()) std::fill(values.back().begin(), values.back().end(), 0.0);
    return values;
  }

  double softmax_multiplier() const { return 1 / std::sqrt(1.0 + HasKey() + HasQuery()); }

  std::vector<Figure> figures(std::int64_t length) const {
    Figure rows{"buckets", {}};
    for (std::int64_t r = 0; r < std::min<std::int64_t>(length, 4096); ++r) {
      rows.values.push_back(double(Row(-r) - Span()));
    }
    return {rows, {"softmax_multiplier", {softmax_multiplier()}}};
  }

  DistanceVectorTables distance_vectors(Weights weights, Distances distances) const {
    DistanceVectorTables tables;
    if (distances.count == 0) return tables;
    const std::int64_t lowest = LowestRow(distances);
    for (Index n = 0; n < distances.count; ++n) {
      tables.row.push_back(std::int32_t(Row(distances.first + n) - lowest));
    }
    const View<const double, 2> rows = Rows<const double>(weights[0].data(), distances);
    if (HasKey()) tables.key = Project(Projection<const double>(weights[1].data()), rows);
    if (HasQuery()) {
      const std::size_t at = QueryWeight();
      tables.query = Project(Projection<const double>(weights[at].data()), rows);
      const View<const double, 2> bias(weights[at + 1].data(), {heads, head_dim});
      for (Index h = 0; h < heads; ++h) {
        for (Index n = 0; n < rows.extent(0); ++n) {
          for (Index c = 0; c < head_dim; ++c) tables.query(h, n, c) += bias(h, c);
        }
      }
    }
    return tables;
  }
  void distance_vectors_back(Weights weights, Distances distances,
                             const DistanceVectorTables& d_tables,
                             WeightGradients d_weights) const {
    if (distances.count == 0) return;
    const View<const double, 2> rows = Rows<const double>(weights[0].data(), distances);
    const View<double, 2> d_rows = Rows<double>(d_weights[0].data(), distances);
    if (HasKey()) {
      ProjectBack(Projection<const double>(weights[1].data()), rows, d_tables.key.view(),
                  Projection<double>(d_weights[1].data()), d_rows);
    }
    if (HasQuery()) {
      const std::size_t at = QueryWeight();
      ProjectBack(Projection<const double>(weights[at].data()), rows, d_tables.query.view(),
                  Projection<double>(d_weights[at].data()), d_rows);
      const View<double, 2> d_bias(d_weights[at + 1].data(), {heads, head_dim});
      for (Index h = 0; h < heads; ++h) {
        for (Index n = 0; n < rows.extent(0); ++n) {
          for (Index c = 0; c < head_dim; ++c) d_bias(h, c) += d_tables.query(h, n, c);
        }
      }
    }
  }

 private:
  bool HasKey() const { return terms != Terms::kPositionToContent; }
  bool HasQuery() const { return terms != Terms::kContentToPosition; }
  std::size_t QueryWeight() const { return HasKey() ? 2 : 1; }
  int Buckets() const {
    return position_buckets > 0 ? position_buckets : 2 * std::max(1, max_relative_positions / 4);
  }
  int Span() const { return form == Form::kV1 ? max_relative_positions : Buckets(); }

  std::int64_t Row(std::int64_t distance) const {
    const std::int64_t behind = -distance, span = Span();
    const std::int64_t relative =
        form == Form::kV1 ? behind : DebertaBucket(behind, Buckets(), max_relative_positions);
    return std::clamp<std::int64_t>(relative + span, 0, 2 * span - 1);
  }
  // Rows fall as key - query grows.
  std::int64_t LowestRow(Distances distances) const {
    return Row(distances.first + distances.count - 1);
  }
  // The rows of P that distances use.
  template <class T>
  View<T, 2> Rows(T* embeddings, Distances distances) const {
    const std::int64_t lowest = LowestRow(distances);
    return {embeddings + lowest * model_dim, {Row(distances.first) - lowest + 1, model_dim}};
  }
  template <class T>
  View<T, 3> Projection(T* weight) const {
    return {weight, {heads, head_dim, model_dim}};
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Deberta>();
}  // namespace sextant
