// Causal attention with T5's bias and the gradient of its table, without a matrix of scores or of
// biases: one call forth, one back, for any scheme.
#include <algorithm>
#include <cmath>
#include <vector>

#include "figures.h"
#include "sextant/attention/attention.h"
#include "sextant/core/random.h"
#include "sextant/schemes/spec.h"

namespace {

using sextant::Index;

constexpr Index kTokens = 200, kHeads = 4, kHeadDim = 32;

using Numbers = std::vector<float>;
using Table = std::vector<std::vector<double>>;  // the scheme's weights: one table [buckets, heads]

Numbers Normal(sextant::Random& random) {
  Numbers x(std::size_t(kTokens * kHeads * kHeadDim));
  for (float& number : x) number = float(random.Normal());
  return x;
}

template <class T>
sextant::HeadsOf<T> Heads(T* data) {
  return sextant::DenseHeads(data, kTokens, kHeads, kHeadDim);
}

// One layer: its scheme, inputs and the gradient of its output.
struct Layer {
  sextant::SchemePtr scheme =
      sextant::MakeScheme("t5:init_std=0.5", {{"heads", kHeads}, {"head_dim", kHeadDim}});
  sextant::Random random{1};
  Numbers query = Normal(random), key = Normal(random), value = Normal(random),
          d_out = Normal(random);
  sextant::PositionList positions = sextant::PositionList::Range(0, kTokens);

  sextant::PositionedHeads Input() const {
    return {.query = Heads(query.data()),
            .key = Heads(key.data()),
            .value = Heads(value.data()),
            .query_positions = positions,
            .key_positions = positions,
            .mask = {.causal = true}};
  }
};

// What a forward pass leaves for the backward pass.
struct Forward {
  Forward(const Layer& layer, const Table& table)
      : out(layer.query.size()), log_sum_exp(std::size_t(kHeads * kTokens)) {
    sextant::Attention(*layer.scheme, table, layer.Input(), Heads(out.data()), log_sum_exp.data());
  }
  // sum(out * d_out)
  double Loss(const Layer& layer) const {
    double loss = 0;
    for (std::size_t i = 0; i < out.size(); ++i) loss += double(out[i]) * double(layer.d_out[i]);
    return loss;
  }

  Numbers out, log_sum_exp;
};

Table Backward(const Layer& layer, const Table& table, const Forward& forward) {
  Numbers d_query(layer.query.size()), d_key(layer.key.size()), d_value(layer.value.size());
  Table d_table = sextant::ZeroWeights(*layer.scheme);
  sextant::AttentionBackward(*layer.scheme, table, layer.Input(),
                             {.out = Heads(forward.out.data()),
                              .d_out = Heads(layer.d_out.data()),
                              .log_sum_exp = forward.log_sum_exp.data(),
                              .d_query = Heads(d_query.data()),
                              .d_key = Heads(d_key.data()),
                              .d_value = Heads(d_value.data()),
                              .d_weights = d_table});
  return d_table;
}

// The largest difference of a gradient and the slope of the loss, in units of the largest slope.
double GradientError(const Layer& layer, const Table& table, const Table& gradient) {
  constexpr double kStep = 0x1p-6;
  double largest_error = 0, largest = 0;
  for (std::size_t i = 0; i < table[0].size(); ++i) {
    const auto loss_at = [&](double moved) {
      Table changed = table;
      changed[0][i] += moved;
      return Forward(layer, changed).Loss(layer);
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    largest_error = std::max(largest_error, std::abs(gradient[0][i] - slope));
    largest = std::max(largest, std::abs(slope));
  }
  return largest_error / largest;
}

}  // namespace

int main() {
  const Layer layer;
  sextant::Random random(2);
  const Table table = layer.scheme->InitialWeights(random);
  const Forward forward(layer, table);
  const Table gradient = Backward(layer, table, forward);

  Figures figures;
  figures.Add("gradient of T5's table beside finite differences",
              GradientError(layer, table, gradient), 1e-3);
  // A number added to all of a head's biases changes no weight, so a head's gradients sum to 0.
  double largest = 0;
  for (Index h = 0; h < kHeads; ++h) {
    double sum = 0;
    for (std::size_t b = 0; b < table[0].size() / kHeads; ++b) {
      sum += gradient[0][b * kHeads + std::size_t(h)];
    }
    largest = std::max(largest, std::abs(sum));
  }
  figures.Add("sum of a head's gradients", largest, 1e-4);
  return figures.exit_code();
}
