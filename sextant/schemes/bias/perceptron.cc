// Layers of a perceptron, forward and back.
#include "sextant/schemes/bias/perceptron.h"

#include <algorithm>
#include <cmath>

namespace sextant {

std::vector<Perceptron::Layer> Perceptron::Layers() const {
  std::vector<Layer> layers;
  for (std::size_t l = 0; l + 1 < widths_.size(); ++l) {
    const bool last = l + 2 == widths_.size();
    layers.push_back(
        {2 * l, widths_[l], widths_[l + 1], !last || last_bias_ == LastBias::kPresent, last});
  }
  return layers;
}

std::vector<WeightInfo> Perceptron::weights(WeightScope scope) const {
  std::vector<WeightInfo> weights;
  for (const Layer& layer : Layers()) {
    const std::string number = std::to_string(layer.weight / 2);
    weights.push_back({"weight" + number,
                       {layer.outputs, layer.inputs},
                       scope,
                       "layer " + number + " of the perceptron"});
    if (layer.biased) {
      weights.push_back(
          {"bias" + number, {layer.outputs}, scope, "what layer " + number + " adds"});
    }
  }
  return weights;
}

std::vector<std::vector<double>> Perceptron::InitialWeights(Random& random) const {
  std::vector<std::vector<double>> initial;
  for (const Layer& layer : Layers()) {
    const double bound = 1 / std::sqrt(double(layer.inputs));
    const auto draw = [&](Index count) {
      std::vector<double>& values = initial.emplace_back(std::size_t(count));
      for (double& value : values) value = bound * (2 * random.Uniform() - 1);
    };
    draw(layer.outputs * layer.inputs);
    if (layer.biased) draw(layer.outputs);
  }
  return initial;
}

std::vector<double> Perceptron::Sums(const Layer& layer, Weights weights,
                                     std::span<const double> in) {
  const View<const double, 2> matrix(weights[layer.weight].data(), {layer.outputs, layer.inputs});
  std::vector<double> sums(static_cast<std::size_t>(layer.outputs));
  for (Index o = 0; o < layer.outputs; ++o) {
    double sum = layer.biased ? weights[layer.weight + 1][std::size_t(o)] : 0;
    for (Index i = 0; i < layer.inputs; ++i) sum += matrix(o, i) * in[std::size_t(i)];
    sums[std::size_t(o)] = sum;
  }
  return sums;
}

double Perceptron::Activated(double x) const {
  if (activation_ == Activation::kRelu) return std::max(x, 0.0);
  return x / (1 + std::exp(-x));
}

double Perceptron::Slope(double x) const {
  if (activation_ == Activation::kRelu) return x > 0 ? 1 : 0;
  const double gate = 1 / (1 + std::exp(-x));
  return gate * (1 + x * (1 - gate));
}

void Perceptron::Apply(Weights weights, std::span<const double> in, std::span<double> out) const {
  std::vector<double> x(in.begin(), in.end());
  for (const Layer& layer : Layers()) {
    x = Sums(layer, weights, x);
    if (layer.last) continue;
    for (double& value : x) value = Activated(value);
  }
  std::copy(x.begin(), x.end(), out.begin());
}

void Perceptron::Back(Weights weights, std::span<const double> in, std::span<const double> d_out,
                      WeightGradients d_weights, std::span<double> d_in) const {
  const std::vector<Layer> layers = Layers();
  std::vector<std::vector<double>> inputs{{in.begin(), in.end()}}, sums;
  for (const Layer& layer : layers) {
    sums.push_back(Sums(layer, weights, inputs.back()));
    std::vector<double>& next = inputs.emplace_back(sums.back());
    for (double& value : next) value = Activated(value);
  }
  std::vector<double> d(d_out.begin(), d_out.end());
  for (std::size_t l = layers.size(); l-- > 0;) {
    const Layer& layer = layers[l];
    const Shape<2> shape{layer.outputs, layer.inputs};
    const View<const double, 2> matrix(weights[layer.weight].data(), shape);
    const View<double, 2> d_matrix(d_weights[layer.weight].data(), shape);
    std::vector<double> d_before(static_cast<std::size_t>(layer.inputs));
    for (Index o = 0; o < layer.outputs; ++o) {
      const double d_sum = d[std::size_t(o)] * (layer.last ? 1 : Slope(sums[l][std::size_t(o)]));
      if (d_sum == 0) continue;
      if (layer.biased) d_weights[layer.weight + 1][std::size_t(o)] += d_sum;
      for (Index i = 0; i < layer.inputs; ++i) {
        d_matrix(o, i) += d_sum * inputs[l][std::size_t(i)];
        d_before[std::size_t(i)] += d_sum * matrix(o, i);
      }
    }
    d = std::move(d_before);
  }
  for (std::size_t i = 0; i < d.size(); ++i) d_in[i] += d[i];
}

}  // namespace sextant
