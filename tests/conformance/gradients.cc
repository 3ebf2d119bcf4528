// Gradients of attention with a scheme, against central differences of the loss in double.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {
namespace {

double largest_error = 0;

constexpr int kCoordinates = 14;  // of each tensor in each of the three settings
constexpr std::int64_t kFarthest = 150;
constexpr double kTolerance = 1e-6, kStep = 3e-5;

// One setting of attention: sum(out * d_out) as a function of everything it is made of.
struct Setting {
  std::string name;
  AttentionCase at;
  Array<double, 3> d_out;
  std::vector<std::vector<double>> weights;

  double Loss(const Scheme& scheme) {
    const AttentionOutput output = at.Run(scheme, weights);
    double sum = 0;
    for (std::size_t n = 0; n < d_out.values().size(); ++n) {
      sum += output.out.values()[n] * d_out.values()[n];
    }
    return sum;
  }
};

// A tensor of a setting with its gradient by the map back.
struct Tensor {
  std::string name;
  std::vector<double>& values;
  const std::vector<double>& gradient;
};

// Fourth-order central difference of the loss along `move(step)`.
template <class Move>
double Difference(const Scheme& scheme, Setting& setting, Move&& move) {
  const auto loss = [&](double step) {
    move(step);
    const double value = setting.Loss(scheme);
    move(-step);
    return value;
  };
  return (8 * (loss(kStep) - loss(-kStep)) - (loss(2 * kStep) - loss(-2 * kStep))) / (12 * kStep);
}

double LargestIn(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Half of them anywhere, half where the gradient is not zero.
std::vector<std::size_t> SampleCoordinates(const std::vector<double>& gradient, Random& random) {
  std::vector<std::size_t> sample, nonzero;
  for (std::size_t n = 0; n < gradient.size(); ++n) {
    if (gradient[n] != 0) nonzero.push_back(n);
  }
  for (int n = 0; n < kCoordinates; ++n) {
    sample.push_back(n % 2 == 0 || nonzero.empty() ? random.Below(gradient.size())
                                                   : nonzero[random.Below(nonzero.size())]);
  }
  return sample;
}

// Gradients below `floor` are held to the same absolute difference as one of that size.
void CheckTensor(const Scheme& scheme, Setting& setting, const Tensor& tensor, double floor,
                 Random& random, Failures& failures) {
  if (tensor.values.empty()) return;
  for (const std::size_t n : SampleCoordinates(tensor.gradient, random)) {
    double& coordinate = tensor.values[n];
    const double before = coordinate;
    const double measured = Difference(scheme, setting, [&](double step) { coordinate += step; });
    coordinate = before;
    const double given = tensor.gradient[n];
    const double error =
        std::abs(measured - given) / std::max({std::abs(measured), std::abs(given), floor});
    largest_error = std::max(largest_error, error);
    if (error <= kTolerance) continue;
    failures.push_back(setting.name + ": gradient of " + tensor.name + "[" + std::to_string(n) +
                       "] is " + ToText(given) + ", differences give " + ToText(measured));
    return;
  }
}

// One random direction through all tensors at once: misses no coordinate.
void CheckDirection(const Scheme& scheme, Setting& setting, const std::vector<Tensor>& tensors,
                    Random& random, Failures& failures) {
  std::vector<std::vector<double>> direction, before;
  double given = 0, size = 0;
  for (const Tensor& tensor : tensors) {
    before.push_back(tensor.values);
    std::vector<double>& along = direction.emplace_back();
    for (double gradient : tensor.gradient) {
      along.push_back(0.1 * random.Normal());
      given += along.back() * gradient;
      size += 0.01 * gradient * gradient;
    }
  }
  const double measured = Difference(scheme, setting, [&](double step) {
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      for (std::size_t n = 0; n < direction[t].size(); ++n) {
        tensors[t].values[n] += step * direction[t][n];
      }
    }
  });
  for (std::size_t t = 0; t < tensors.size(); ++t) tensors[t].values = before[t];
  const double error = std::abs(measured - given) / std::max(std::sqrt(size), 1e-3);
  largest_error = std::max(largest_error, error);
  if (error <= kTolerance) return;
  failures.push_back(setting.name + ": along a random direction of " + tensors[0].name +
                     (tensors.size() > 1 ? " and the rest" : "") + " the gradients give " +
                     ToText(given) + ", differences " + ToText(measured));
}

// Positions near and far apart, within what the scheme serves.
std::vector<std::int64_t> Spread(const Scheme& scheme, const Model& model, Index count) {
  const std::int64_t end = scheme.claims().any_length ? kFarthest : model.context;
  std::vector<std::int64_t> positions;
  for (Index n = 0; n < count; ++n) {
    const double part = double(n) / double(count - 1);
    positions.push_back(std::max<std::int64_t>(n, std::int64_t(part * part * double(end - 1))));
  }
  return positions;
}

std::vector<Setting> Settings(const Scheme& scheme, const Model& model) {
  const std::vector<std::vector<double>> weights = TrainedWeights(scheme, model);
  const auto make = [&](const char* name, Index kv_heads, Index queries, Index keys) {
    const std::vector<std::int64_t> at_keys = Spread(scheme, model, keys);
    std::vector<std::int64_t> at_queries = at_keys;
    if (queries != keys) {
      at_queries = Spread(scheme, model, queries + 1);
      at_queries.erase(at_queries.begin());
    }
    Random random(31);
    Setting setting{
        name,
        AttentionCase({model.heads, queries, model.head_dim}, {kv_heads, keys, model.head_dim},
                      at_queries, at_keys, kFarthest, 32),
        RandomHeads({model.heads, queries, model.head_dim}, random), weights};
    return setting;
  };
  std::vector<Setting> settings;
  settings.push_back(make("without a mask", model.heads, 5, 7));
  settings.push_back(make("causal", model.heads, 6, 6));
  settings.back().at.causal = true;
  settings.push_back(make("grouped heads, padded, packed", KeyHeads(scheme, model), 7, 7));
  AttentionCase& at = settings.back().at;
  at.causal = true;
  at.valid = {1, 1, 0, 1, 1, 1, 1};
  at.query_sequence = at.key_sequence = {0, 0, 0, 0, 1, 1, 1};
  return settings;
}

Failures CheckTensors(const SchemePtr& scheme, const Model& model, bool of_weights) {
  Failures failures;
  const std::vector<WeightInfo> declared = scheme->weights();
  std::vector<bool> reached(declared.size());
  Random random(33);
  for (Setting& setting : Settings(*scheme, model)) {
    const AttentionGradients gradients = ReferenceAttentionBackward(
        *scheme, setting.weights, setting.at.Input(), setting.d_out.view());
    std::vector<Tensor> tensors;
    for (std::size_t w = 0; of_weights && w < declared.size(); ++w) {
      tensors.push_back({"weight " + declared[w].name, setting.weights[w], gradients.weights[w]});
      if (LargestIn(gradients.weights[w]) > 0) reached[w] = true;
    }
    if (!of_weights) {
      tensors.push_back({"query", setting.at.query.values(), gradients.query.values()});
      tensors.push_back({"key", setting.at.key.values(), gradients.key.values()});
      tensors.push_back({"value", setting.at.value.values(), gradients.value.values()});
    }
    const double floor = 1e-3 * LargestIn(gradients.value.values());
    for (const Tensor& tensor : tensors) {
      CheckTensor(*scheme, setting, tensor, floor, random, failures);
    }
    CheckDirection(*scheme, setting, tensors, random, failures);
  }
  for (std::size_t w = 0; of_weights && w < declared.size(); ++w) {
    if (!reached[w]) failures.push_back("no gradient reaches weight " + declared[w].name);
  }
  return failures;
}

}  // namespace

double TakeLargestGradientError() { return std::exchange(largest_error, 0); }

Failures CheckGradients(const SchemePtr& scheme, const Model& model) {
  return CheckTensors(scheme, model, false);
}

Failures CheckLearned(const SchemePtr& scheme, const Model& model) {
  const bool learned = !scheme->weights().empty();
  if (learned != scheme->claims().learned) {
    return {learned ? "has weights but does not claim to be learned"
                    : "claims to be learned but has no weights"};
  }
  return learned ? CheckTensors(scheme, model, true) : Failures{};
}

}  // namespace sextant::conformance
