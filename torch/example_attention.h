// Schemes with weights that matter, for tests of attention.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sextant/schemes/spec.h"
#include "torch/scheme_tables.h"

namespace sextant::nn {

struct ExampleAttention {
  static constexpr Index kHeads = 4, kHeadDim = 8;
  static ModelShape Shape() {
    return {{"model_dim", kHeadDim}, {"heads", kHeads}, {"head_dim", kHeadDim}, {"context", 64}};
  }

  explicit ExampleAttention(const std::string& spec) : scheme(MakeScheme(spec, Shape())) {
    Random random(7);
    weights = scheme->InitialWeights(random);
    for (std::vector<double>& values : weights) {
      // Large enough to matter, small enough for float32; zeros get values of their own.
      double largest = 0;
      for (double value : values) largest = std::max(largest, std::abs(value));
      for (double& value : values) {
        value = largest > 0 ? value * std::max(0.4 / largest, 1.0) : 0.3 * random.Normal();
      }
    }
  }

  // The weights in float32, new leaves that need gradients.
  WeightTensors WeightLeaves() const {
    WeightTensors leaves;
    const std::vector<WeightInfo> infos = scheme->weights();
    for (std::size_t i = 0; i < infos.size(); ++i) {
      leaves.push_back(torch::tensor(at::ArrayRef<double>(weights[i]), torch::kDouble)
                           .view(infos[i].shape)
                           .to(torch::kFloat)
                           .requires_grad_());
    }
    return leaves;
  }

  SchemePtr scheme;
  std::vector<std::vector<double>> weights;
};

// Every registered scheme that enters attention, and some with settings and composed. Additive rows
// never reach attention in a model.
inline std::vector<std::string> SpecsInsideAttention() {
  std::vector<std::string> specs = {"rope:pairing=adjacent,rotated_dims=4",
                                    "rope:pairing=adjacent_to_halves",
                                    "rope+alibi",
                                    "shaw+t5",
                                    "shaw:terms=keys,clip=2",
                                    "t5:direction=bidirectional",
                                    "rope+shaw:clip=3",
                                    "temperature+deberta+alibi",
                                    "rope+fire+log-n"};
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const SchemePtr scheme = MakeScheme(std::string(entry.info.name), ExampleAttention::Shape());
    if (!scheme->offers(Hook::kAdditive)) specs.emplace_back(entry.info.name);
  }
  return specs;
}

}  // namespace sextant::nn
