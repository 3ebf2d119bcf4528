// A small multi-layer perceptron with its map back: what continuous biases share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// x <- activation(W x + b) for each layer but the last, which has no activation:
//   widths[0] inputs, hidden layers, widths.back() outputs
//   ReLU: max(x, 0)    SiLU: x / (1 + exp(-x))
// Weights are weight0 [widths[1], widths[0]], bias0 [widths[1]], weight1, ... in that order; the
// last bias is absent where so declared. Computes in double; allocates its activations.
class Perceptron {
 public:
  enum class Activation { kRelu, kSilu };
  enum class LastBias { kPresent, kAbsent };

  Perceptron(std::vector<Index> widths, Activation activation,
             LastBias last_bias = LastBias::kPresent)
      : widths_(std::move(widths)), activation_(activation), last_bias_(last_bias) {}

  std::vector<WeightInfo> weights(WeightScope scope) const;
  // Uniform in +-1 / sqrt(inputs of the layer), as torch.nn.Linear starts.
  std::vector<std::vector<double>> InitialWeights(Random& random) const;

  void Apply(Weights weights, std::span<const double> in, std::span<double> out) const;
  // Adds to the gradients of the weights and of the inputs.
  void Back(Weights weights, std::span<const double> in, std::span<const double> d_out,
            WeightGradients d_weights, std::span<double> d_in) const;

 private:
  struct Layer {
    std::size_t weight = 0;  // its place among the weights; the bias follows
    Index inputs = 0, outputs = 0;
    bool biased = true, last = false;
  };
  std::vector<Layer> Layers() const;
  static std::vector<double> Sums(const Layer& layer, Weights weights, std::span<const double> in);
  double Activated(double x) const;
  double Slope(double x) const;

  std::vector<Index> widths_;
  Activation activation_;
  LastBias last_bias_;
};

}  // namespace sextant
