// Swin: a trained number a head for each difference of rows and columns in a window.
#include "sextant/schemes/bias/window.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct Swin {
  static constexpr SchemeInfo info{
      .name = "swin",
      .title = "Swin relative bias in a window",
      .formula = "score(i, j) += table[row_i - row_j, column_i - column_j, h]",
      .source = "Liu et al. 2021, arXiv 2103.14030, equation 4",
      .known_models = "Swin (7 x 7, 12 x 12); BEiT and MaxViT have tables of this kind",
      .conventions =
          "The table is [(2 height - 1)(2 width - 1), heads] with row (row_i - row_j + height - 1) "
          "(2 width - 1) + column_i - column_j + width - 1: query minus key, rows first, as "
          "relative_position_index has it.\n"
          "Positions of two axes are row and column; a lone axis counts the cells row by row. Each "
          "window starts at 0; shifted windows are a mask, not a position.",
      .beyond =
          "A position outside the window is an error: the table has no number for it. Models "
          "with larger windows resize the table.",
      .pitfalls =
          "A window of another width has another row for the same difference, so a table "
          "must be resized in two dimensions, never cut.\n"
          "A lone axis is not relative: a step of one from the end of a row is another "
          "difference than one inside it.",
      .error = "Exact: numbers are read, not computed.",
      .proof =
          "SwinTest: the index of the released code by its own construction, both spellings of "
          "positions.\nConformance suite: the gradient."};
  int heads = 8;
  int height = 32;
  int width = 8;
  WeightScope scope = WeightScope::kLayer;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("height", height, 1, 256, "rows of the window");
    field("width", width, 1, 256, "columns of the window");
    field("scope", scope, kWeightScopes, "whether all layers share the table or each has its own");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.keeps_norms = true, .learned = true}; }

  std::vector<WeightInfo> weights() const {
    return {{"table", {window().differences(), heads}, scope, "a number a difference and head"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  void tile_bias(Weights weights, const Positions& queries, const Positions& keys,
                 View<double, 3> bias) const {
    const View<const double, 2> table(weights[0].data(), {window().differences(), heads});
    window().ForEach(info.name, queries, keys, [&](Index i, Index j, Index row) {
      for (Index h = 0; h < heads; ++h) bias(h, i, j) = table(row, h);
    });
  }
  void tile_bias_back(Weights, const Positions& queries, const Positions& keys,
                      View<const double, 3> d_bias, WeightGradients d_weights) const {
    const View<double, 2> d_table(d_weights[0].data(), {window().differences(), heads});
    window().ForEach(info.name, queries, keys, [&](Index i, Index j, Index row) {
      for (Index h = 0; h < heads; ++h) d_table(row, h) += d_bias(h, i, j);
    });
  }

 private:
  Window window() const { return {height, width}; }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Swin>();
}  // namespace sextant
