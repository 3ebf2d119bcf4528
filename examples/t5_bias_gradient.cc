// Causal attention with T5's bias and the gradient of its table, without a matrix of scores or of
// biases: the scheme fills a vector by distance, the kernel takes it, and gradients go back.
#include <algorithm>
#include <cmath>
#include <vector>

#include "figures.h"
#include "sextant/core/random.h"
#include "sextant/kernels/attention.h"
#include "sextant/schemes/spec.h"

namespace {

using sextant::Index;

constexpr Index kTokens = 200, kHeads = 4, kHeadDim = 32;
constexpr Index kDistances = 2 * kTokens - 1;  // 1 - kTokens .. kTokens - 1

using Numbers = std::vector<float>;
using Table = std::vector<std::vector<double>>;  // the scheme's weights: one table [buckets, heads]

Numbers Normal(sextant::Random& random) {
  Numbers x(std::size_t(kTokens * kHeads * kHeadDim));
  for (float& number : x) number = float(random.Normal());
  return x;
}

template <class T>
sextant::HeadsOf<T> Heads(T* data) {
  return {data, kTokens, kHeads, kHeadDim, kHeads * kHeadDim, kHeadDim};
}

// One layer: its scheme, inputs and the gradient of its output.
struct Layer {
  sextant::SchemePtr scheme =
      sextant::MakeScheme("t5:init_std=0.5", {{"heads", kHeads}, {"head_dim", kHeadDim}});
  sextant::Random random{1};
  Numbers query = Normal(random), key = Normal(random), value = Normal(random),
          d_out = Normal(random);

  sextant::FusedAttention Input(const Numbers& bias) const {
    const double scale = scheme->softmax_multiplier() / std::sqrt(double(kHeadDim));
    sextant::FusedAttention in{Heads(query.data()),
                               Heads(key.data()),
                               Heads(value.data()),
                               float(scale),
                               {.causal = true}};
    in.first_distance = 1 - kTokens;
    in.distances = kDistances;
    in.bias = {bias.data(), kDistances};
    return in;
  }
};

constexpr sextant::Distances kAll{1 - kTokens, kDistances};

Numbers BiasByDistance(const Layer& layer, const Table& table) {
  sextant::Array<double, 2> bias({kHeads, kDistances});
  layer.scheme->FillDistanceBias(table, kAll, bias);
  return {bias.values().begin(), bias.values().end()};
}

// What a forward pass leaves for the backward pass.
struct Forward {
  Forward(const Layer& layer, const Table& table)
      : bias(BiasByDistance(layer, table)),
        out(layer.query.size()),
        log_sum_exp(std::size_t(kHeads * kTokens)) {
    sextant::AttentionForward(layer.Input(bias), Heads(out.data()), log_sum_exp.data(),
                              sextant::DefaultExecutor());
  }
  // sum(out * d_out)
  double Loss(const Layer& layer) const {
    double loss = 0;
    for (std::size_t i = 0; i < out.size(); ++i) loss += double(out[i]) * layer.d_out[i];
    return loss;
  }

  Numbers bias, out, log_sum_exp;
};

// The gradient of the loss, through the kernel and the scheme's map back.
Table Backward(const Layer& layer, const Forward& forward) {
  Numbers d_query(layer.query.size()), d_key(layer.key.size()), d_value(layer.value.size());
  sextant::Array<double, 2> d_bias({kHeads, kDistances});
  sextant::AttentionBackward(
      layer.Input(forward.bias),
      {Heads(forward.out.data()), Heads(layer.d_out.data()), forward.log_sum_exp.data(),
       Heads(d_query.data()), Heads(d_key.data()), Heads(d_value.data()), d_bias.values().data()},
      sextant::DefaultExecutor());
  Table d_table = sextant::ZeroWeights(*layer.scheme);
  layer.scheme->BackDistanceBias({}, kAll, d_bias, d_table);
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
  const Table gradient = Backward(layer, forward);

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
