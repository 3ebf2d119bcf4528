// SAM: the query itself reads a vector for the difference of rows and one for that of columns.
#include "sextant/schemes/bias/window.h"
#include "sextant/schemes/contextual/head_size.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Sam {
  static constexpr SchemeInfo info{
      .name = "sam",
      .title = "Decomposed relative positions of images",
      .formula = "score(i, j) += q_i . rows[row_i - row_j] + q_i . columns[column_i - column_j]",
      .source =
          "Li et al. 2022 (MViTv2), arXiv 2112.01526; Kirillov et al. 2023 (SAM), "
          "arXiv 2304.02643, and its released code",
      .known_models = "SAM, MViTv2, ViTDet; the vision towers of GOT-OCR and DeepSeek-OCR",
      .conventions =
          "rel_pos_h [2 height - 1, head_dim] and rel_pos_w [2 width - 1, head_dim], shared by the "
          "heads, with row (query - key) + size - 1. They start at 0, as in the released code.\n"
          "The query is not divided by sqrt(head_dim) in this term, only in q . k.\n"
          "Positions of two axes are row and column; a lone axis counts the cells row by row.",
      .beyond =
          "A position outside the window is an error. The released code interpolates its "
          "tables linearly to another size; do that to the weights.",
      .pitfalls =
          "The query scaled before both terms makes this one smaller by sqrt(head_dim).\n"
          "MViTv2 with pooled keys scales the coordinates first; this is the form of equal "
          "grids.",
      .error = "Rounding of sums of head_dim products.",
      .proof =
          "SamTest: the terms by hand, both spellings of positions.\nConformance suite: "
          "gradients of queries and both tables."};
  int head_dim = 64;
  int height = 32;
  int width = 8;
  WeightScope scope = WeightScope::kLayer;
  double init_std = 0;

  void fields(auto& field) {
    field("head_dim", head_dim, 1, 4096, "channels of a head", "head_dim");
    field("height", height, 1, 4096, "rows of the image or window, in cells");
    field("width", width, 1, 4096, "columns of the image or window, in cells");
    field("scope", scope, kWeightScopes, "whether all layers share the tables");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.keeps_norms = true, .learned = true}; }

  std::vector<WeightInfo> weights() const {
    return {{"rel_pos_h", {2 * height - 1, head_dim}, scope, "a vector a difference of rows"},
            {"rel_pos_w", {2 * width - 1, head_dim}, scope, "a vector a difference of columns"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  void contextual(Weights weights, const ContextualInput& in, View<double, 2> bias) const {
    const Tables<const double> tables(*this, weights[0].data(), weights[1].data());
    ForEach(in, [&](Index i, Index j, Index row, Index column) {
      double sum = 0;
      for (Index c = 0; c < head_dim; ++c) {
        sum += in.query(i, c) * (tables.rows(row, c) + tables.columns(column, c));
      }
      bias(i, j) = sum;
    });
  }
  void contextual_back(Weights weights, const ContextualInput& in, View<const double, 2> d_bias,
                       const ContextualGradients& gradients) const {
    const Tables<const double> tables(*this, weights[0].data(), weights[1].data());
    const Tables<double> d_tables(*this, gradients.weights[0].data(), gradients.weights[1].data());
    ForEach(in, [&](Index i, Index j, Index row, Index column) {
      const double d = d_bias(i, j);
      if (d == 0) return;
      for (Index c = 0; c < head_dim; ++c) {
        gradients.query(i, c) += d * (tables.rows(row, c) + tables.columns(column, c));
        d_tables.rows(row, c) += d * in.query(i, c);
        d_tables.columns(column, c) += d * in.query(i, c);
      }
    });
  }

 private:
  template <class T>
  struct Tables {
    Tables(const Sam& sam, T* h, T* w)
        : rows(h, {2 * sam.height - 1, sam.head_dim}),
          columns(w, {2 * sam.width - 1, sam.head_dim}) {}
    View<T, 2> rows, columns;
  };
  template <class Do>
  void ForEach(const ContextualInput& in, Do&& act) const {
    RequireHeadSize(info.name, in, head_dim);
    const Window window{height, width};
    window.ForEach(info.name, in.query_positions, in.key_positions,
                   [&](Index i, Index j, Index difference) {
                     const Index columns = 2 * window.width - 1;
                     act(i, j, difference / columns, difference % columns);
                   });
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Sam>();
}  // namespace sextant
