// The model, the weights and the list of all checks.
#include "tests/conformance/conformance.h"

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant::conformance {

ModelShape Model::shape() const {
  return {{"model_dim", heads * head_dim},
          {"heads", heads},
          {"head_dim", head_dim},
          {"context", context}};
}

Model WideModel(const Registry& registry) {
  return {.heads = 2, .kv_heads = 1, .head_dim = 64, .context = 256, .registry = &registry};
}

std::vector<std::vector<double>> TrainedWeights(const Scheme& scheme, const Model& model) {
  Random random(11), noise(12);
  std::vector<std::vector<double>> weights = scheme.InitialWeights(random);
  for (std::vector<double>& weight : weights) {
    for (double& value : weight) value += model.noise * noise.Normal();
  }
  return weights;
}

std::span<const Check> Checks() {
  static constexpr Check kChecks[] = {
      {"relative", CheckRelative, true},  {"keeps_norms", CheckKeepsNorms, true},
      {"learned", CheckLearned, false},   {"any_length", CheckAnyLength, true},
      {"decays", CheckDecays, true},      {"gradients", CheckGradients, false},
      {"spec", CheckSpec, false},         {"packed", CheckPacked, false},
      {"decode", CheckDecode, false},     {"order", CheckOrder, false},
      {"empty", CheckEmpty, false},       {"slices", CheckSlices, false},
      {"contract", CheckContract, false}, {"kernels", CheckKernels, false},
      {"cache", CheckCache, false},
  };
  return kChecks;
}

Failures CheckEverything(const std::string& spec, const Registry& registry) {
  Failures all;
  for (const Check& check : Checks()) {
    Model model = check.wide ? WideModel(registry) : Model{};
    model.registry = &registry;
    try {
      for (const std::string& failure :
           check.run(MakeScheme(spec, model.shape(), registry), model)) {
        all.push_back(std::string(check.name) + ": " + failure);
      }
    } catch (const Error& error) {
      all.push_back(std::string(check.name) + ": throws " + error.what());
    }
  }
  return all;
}

}  // namespace sextant::conformance
