// Swin V2: a perceptron of log-spaced differences of rows and columns gives every head its number.
#include <cmath>
#include <map>

#include "sextant/core/error.h"
#include "sextant/schemes/bias/perceptron.h"
#include "sextant/schemes/bias/window.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct SwinV2 {
  static constexpr SchemeInfo info{
      .name = "swin-v2",
      .title = "Swin V2 log-spaced continuous bias",
      .formula =
          "score(i, j) += 16 sigmoid(MLP(g(row_i - row_j), g(column_i - column_j))[h]), "
          "g(d) = sign(d) log2(1 + 8 |d| / (w - 1)) / 3",
      .source = "Liu et al. 2022, arXiv 2111.09883, equations 3 and 4, and its released code",
      .known_models = "Swin V2",
      .conventions =
          "w is height for rows and width for columns, or trained_height and trained_width where a "
          "model is used at another window than it was trained at; g is 1.057 at the edge.\n"
          "One hidden layer of ReLU units with a bias; the last layer has none. The paper writes "
          "sign(d) log(1 + |d|); the division by w - 1, the 8 and the 16 sigmoid are the code's.\n"
          "Differences are query minus key; positions of two axes are row and column, a lone axis "
          "counts the cells row by row. The cosine attention of the model is not part of this.",
      .beyond =
          "A position outside the window is an error, but a larger window needs no new "
          "weights: give its height and width, and the old ones as trained_height and "
          "trained_width.",
      .pitfalls =
          "With trained_height left out at a larger window the same difference has another "
          "input, and the model degrades without an error.\n"
          "A window one cell high or wide divides 0 by 0 in the released code; it is refused.",
      .error = "Rounding of sums of hidden_dim products.",
      .proof =
          "SwinV2Test: coordinates and bias by hand, a trained window.\nConformance suite: "
          "gradients of every layer."};
  int heads = 8;
  int height = 32;
  int width = 8;
  int trained_height = 0;
  int trained_width = 0;
  int hidden_dim = 512;
  WeightScope scope = WeightScope::kLayer;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("height", height, 2, 256, "rows of the window");
    field("width", width, 2, 256, "columns of the window");
    field("trained_height", trained_height, 0, 256, "rows of the window trained at; 0: height");
    field("trained_width", trained_width, 0, 256, "columns of the window trained at; 0: width");
    field("hidden_dim", hidden_dim, 1, 4096, "units of the hidden layer");
    field("scope", scope, kWeightScopes, "whether all layers share the perceptron");
  }
  void check() const {
    CheckTrained("trained_height", trained_height);
    CheckTrained("trained_width", trained_width);
  }
  Claims claims() const { return {.keeps_norms = true, .learned = true}; }

  std::vector<WeightInfo> weights() const { return Mlp().weights(scope); }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return Mlp().InitialWeights(random);
  }

  void tile_bias(Weights weights, const Positions& queries, const Positions& keys,
                 View<double, 3> bias) const {
    // Few differences serve many cells.
    std::map<Index, std::vector<double>> known;
    window().ForEach(info.name, queries, keys, [&](Index i, Index j, Index difference) {
      std::vector<double>& found = known[difference];
      if (found.empty()) found = Biases(weights, difference);
      for (Index h = 0; h < heads; ++h) bias(h, i, j) = found[std::size_t(h)];
    });
  }
  void tile_bias_back(Weights weights, const Positions& queries, const Positions& keys,
                      View<const double, 3> d_bias, WeightGradients d_weights) const {
    std::map<Index, std::vector<double>> sums;
    window().ForEach(info.name, queries, keys, [&](Index i, Index j, Index difference) {
      std::vector<double>& sum = sums[difference];
      sum.resize(std::size_t(heads));
      for (Index h = 0; h < heads; ++h) sum[std::size_t(h)] += d_bias(h, i, j);
    });
    const Perceptron mlp = Mlp();
    for (auto& [difference, d_out] : sums) {
      const std::vector<double> bias = Biases(weights, difference);
      for (std::size_t h = 0; h < bias.size(); ++h) d_out[h] *= bias[h] * (1 - bias[h] / kHighest);
      const std::vector<double> input = Input(difference);
      std::vector<double> unused(2);
      mlp.Back(weights, input, d_out, d_weights, unused);
    }
  }

 private:
  static constexpr double kHighest = 16;

  void CheckTrained(const char* name, int trained) const {
    if (trained == 0 || trained >= 2) return;
    throw Error(info.name, std::string(name) + " must be 0 or from 2 to 256, got 1",
                "0 stands for the window itself; differences are divided by the size minus one");
  }
  Window window() const { return {height, width}; }
  Perceptron Mlp() const {
    return Perceptron({2, hidden_dim, heads}, Perceptron::Activation::kRelu,
                      Perceptron::LastBias::kAbsent);
  }
  static double Spaced(Index difference, int size) {
    const double part = 8 * double(difference) / (size - 1);
    return std::copysign(std::log2(1 + std::abs(part)) / 3, part);
  }
  std::vector<double> Input(Index difference) const {
    const Index columns = 2 * width - 1;
    return {
        Spaced(difference / columns - (height - 1), trained_height > 0 ? trained_height : height),
        Spaced(difference % columns - (width - 1), trained_width > 0 ? trained_width : width)};
  }
  std::vector<double> Biases(Weights weights, Index difference) const {
    std::vector<double> out(static_cast<std::size_t>(heads));
    Mlp().Apply(weights, Input(difference), out);
    for (double& value : out) value = kHighest / (1 + std::exp(-value));
    return out;
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::SwinV2>();
}  // namespace sextant
