// The flat optimiser.
#include "lab/adamw.h"

#include <vector>

namespace sextant::lab {

using torch::Tensor;

AdamW::AdamW(torch::nn::Module& module, const AdamWSettings& settings) : settings_(settings) {
  torch::NoGradGuard no_grad;
  std::vector<Tensor> decaying, others;
  for (const auto& named : module.named_parameters()) {
    const bool decays = named.value().dim() >= 2 && named.key().rfind("scheme_", 0) != 0;
    (decays ? decaying : others).push_back(named.value());
  }
  for (const Tensor& weight : decaying) decaying_ += weight.numel();
  std::vector<Tensor> all = decaying;
  all.insert(all.end(), others.begin(), others.end());
  std::vector<Tensor> flat;
  for (const Tensor& weight : all) flat.push_back(weight.detach().flatten());
  weights_ = torch::cat(flat);
  gradients_ = torch::zeros_like(weights_);
  first_moment_ = torch::zeros_like(weights_);
  second_moment_ = torch::zeros_like(weights_);
  std::int64_t at = 0;
  for (Tensor& weight : all) {
    const auto place = [&](const Tensor& buffer) {
      return buffer.narrow(0, at, weight.numel()).view(weight.sizes());
    };
    weight.set_data(place(weights_));
    weight.mutable_grad() = place(gradients_);
    at += weight.numel();
  }
}

void AdamW::ZeroGradients() { gradients_.zero_(); }

double AdamW::Step(double learning_rate) {
  torch::NoGradGuard no_grad;
  const double norm = gradients_.norm().item<double>();
  if (settings_.clip > 0 && norm > settings_.clip) gradients_.mul_(settings_.clip / norm);
  ++steps_;
  const auto update = [&](std::int64_t first, std::int64_t count, double decay) {
    if (count == 0) return;
    const auto part = [&](const Tensor& buffer) {
      return std::vector<Tensor>{buffer.narrow(0, first, count)};
    };
    const std::vector<Tensor> step{torch::full({}, double(steps_), torch::kFloat)};
    std::vector<Tensor> weights = part(weights_), gradients = part(gradients_),
                        first_moment = part(first_moment_), second_moment = part(second_moment_);
    at::_fused_adamw_(weights, gradients, first_moment, second_moment, {}, step, learning_rate,
                      settings_.beta1, settings_.beta2, decay, settings_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  };
  update(0, decaying_, settings_.weight_decay);
  update(decaying_, weights_.numel() - decaying_, 0);
  return norm;
}

}  // namespace sextant::lab
