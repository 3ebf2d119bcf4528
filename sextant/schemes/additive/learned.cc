// A trained table of positions, added to the embedding; past its last row there is nothing.
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Learned {
  static constexpr SchemeInfo info{
      .name = "learned",
      .title = "Learned absolute positions",
      .formula = "row[p] = scale table[p + offset]",
      .source =
          "Gehring et al. 2017, arXiv 1705.03122, section 3.1; Devlin et al. 2019, arXiv "
          "1810.04805",
      .known_models =
          "GPT-2 (1024 x 768), BERT (512), RoBERTa (512, offset 2), OPT (2048, offset 2)",
      .conventions =
          "positions count what the table serves: positions + offset rows (RoBERTa 514 = 512 + 2, "
          "OPT 2050 = 2048 + 2)\n"
          "OPT, BART: the n-th token from 0 reads row n + 2, padding row 1\n"
          "RoBERTa, XLM-R, ESM, MPNet: row pad + 1 + n, padding row pad; pad is 1, so offset 2\n"
          "GPT-2, BERT: row n; x-transformers multiplies by scale = model_dim^-0.5",
      .beyond = "Past the last position there is no row: an error that names the limit.",
      .pitfalls =
          "Positions from 0 given to a table with an offset read rows two too low, and nothing "
          "fails: set offset.\n"
          "The limit is rows - offset: RoBERTa's 513th token has no row in its 514.\n"
          "Left padding shifts every token where positions are 0, 1, 2, ... for the whole row: "
          "make them from the mask (sextant/schemes/positions.h).",
      .error = "None but the rounding of one product: rows are copied.",
      .proof =
          "LearnedTest: rows, offset, scale, the end of the table, gradients; PositionsTest: "
          "the rules of OPT and RoBERTa."};
  int model_dim = 64;
  int positions = 1024;
  int offset = 0;
  double scale = 1;
  double init_std = 0.02;

  void fields(auto& field) {
    field("model_dim", model_dim, 1, 65536, "width of the embedding", "model_dim");
    field("positions", positions, 1, 1 << 24, "positions the table serves", "context");
    field("offset", offset, 0, 4096, "rows before that of position 0 (OPT, BART and RoBERTa: 2)");
    field("scale", scale, 1e-6, 1e6, "factor on rows (x-transformers: model_dim^-0.5)");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  Claims claims() const { return {.learned = true}; }

  std::vector<WeightInfo> weights() const {
    return {{"table", {positions + offset, model_dim}, WeightScope::kModel, "a row a position"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  void additive(Weights weights, const Positions& at, View<double, 2> rows) const {
    const View<const double, 2> table(weights[0].data(), {positions + offset, model_dim});
    for (Index n = 0; n < at.count(); ++n) {
      const Index row = Row(at.values(0, n));
      for (Index c = 0; c < model_dim; ++c) rows(n, c) = scale * table(row, c);
    }
  }
  void additive_back(Weights, const Positions& at, View<const double, 2> d_rows,
                     WeightGradients d_weights) const {
    const View<double, 2> d_table(d_weights[0].data(), {positions + offset, model_dim});
    for (Index n = 0; n < at.count(); ++n) {
      const Index row = Row(at.values(0, n));
      for (Index c = 0; c < model_dim; ++c) d_table(row, c) += scale * d_rows(n, c);
    }
  }

 private:
  Index Row(std::int64_t position) const {
    if (position < 0 || position >= positions) FailPosition(info.name, position, positions);
    return position + offset;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Learned>();
}  // namespace sextant
