// AdamW over all weights at once, with the norm of the gradient limited.
#pragma once

#include <torch/torch.h>

namespace sextant::lab {

struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1;
  double clip = 1.0;  // largest gradient norm; 0: no limit
};

// Moves the module's weights into one buffer and their gradients into another, so that a step is a
// few operations over everything. Weights of two or more axes decay, unless their name starts with
// "scheme_". Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2.
class AdamW {
 public:
  AdamW(torch::nn::Module& module, const AdamWSettings& settings);

  void ZeroGradients();
  // One step with the gradients gathered since ZeroGradients; returns their norm before clipping.
  double Step(double learning_rate);

  // State to be kept by a checkpoint, each as long as all weights together.
  torch::Tensor& weights() { return weights_; }
  torch::Tensor& first_moment() { return first_moment_; }
  torch::Tensor& second_moment() { return second_moment_; }
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  AdamWSettings settings_;
  std::int64_t decaying_ = 0;  // weights at the front of the buffers that decay
  std::int64_t steps_ = 0;
  torch::Tensor weights_, gradients_, first_moment_, second_moment_;
};

}  // namespace sextant::lab
