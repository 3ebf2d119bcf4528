// The model's weights and forward pass.
#include "lab/gpt.h"

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"
#include "sextant/core/random.h"
#include "sextant/schemes/layers.h"

namespace sextant::lab {
namespace {

using torch::Tensor;

constexpr int kMlpFactor = 4;
constexpr std::size_t kTablesKept = 8;

void CheckFits(const Scheme& scheme, const Settings& settings) {
  if (scheme.offers(Hook::kAdditive) && scheme.model_dim() != settings.width) {
    throw Error(scheme.name(),
                "model_dim is " + std::to_string(scheme.model_dim()) + ", the model's width is " +
                    std::to_string(settings.width),
                "leave model_dim out and it follows the model");
  }
}

}  // namespace

Gpt::Gpt(const Settings& settings, std::int64_t vocabulary, SchemePtr scheme, std::uint64_t seed,
         nn::AttentionPath path)
    : settings_(settings), scheme_(std::move(scheme)), seed_(seed), path_(path) {
  CheckFits(*scheme_, settings_);
  const std::int64_t width = settings_.width, hidden = kMlpFactor * width;
  // Outputs into the residual stream start smaller the more of them there are (GPT-2).
  const double std = 0.02, residual_std = std / std::sqrt(2.0 * settings_.layers);
  const double in_std = 1 / std::sqrt(double(width));
  embedding_ = AddWeight("embedding", {vocabulary, width}, in_std);
  for (int layer = 0; layer < settings_.layers; ++layer) {
    const std::string prefix = "layer" + std::to_string(layer) + "_";
    const auto ones = [&](const char* name, std::int64_t size) {
      return register_parameter(prefix + name, torch::ones({size}));
    };
    const auto zeros = [&](const char* name, std::int64_t size) {
      return register_parameter(prefix + name, torch::zeros({size}));
    };
    Block block;
    block.norm1 = {ones("norm1", width), zeros("norm1_bias", width)};
    block.qkv.weight = AddWeight(prefix + "qkv", {3 * width, width}, in_std);
    block.out.weight = AddWeight(prefix + "out", {width, width}, residual_std);
    block.norm2 = {ones("norm2", width), zeros("norm2_bias", width)};
    block.up = {AddWeight(prefix + "up", {hidden, width}, in_std), zeros("up_bias", hidden)};
    block.down = {AddWeight(prefix + "down", {width, hidden}, residual_std),
                  zeros("down_bias", width)};
    blocks_.push_back(block);
  }
  norm_ = {register_parameter("norm", torch::ones({width})),
           register_parameter("norm_bias", torch::zeros({width}))};
  head_.weight = AddWeight("head", {vocabulary, width}, std);
  AddSchemeWeights();
  torch::NoGradGuard no_grad;
  // A scheme that does not fit fails here, not in the first step.
  Forward(torch::zeros({1, 2}, torch::kLong));
}

Tensor Gpt::AddWeight(const std::string& name, at::IntArrayRef shape, double std) {
  Random random = Random::For(seed_, Fingerprint(name));
  Tensor weight = torch::empty(shape);
  float* values = weight.data_ptr<float>();
  for (std::int64_t i = 0; i < weight.numel(); ++i) {
    values[i] = static_cast<float>(std * random.Normal());
  }
  return register_parameter(name, weight);
}

void Gpt::AddSchemeWeights() {
  std::map<std::string, Tensor> shared;  // model-wide ones, by name
  for (int layer = 0; layer < settings_.layers; ++layer) {
    const LayerScheme own = SchemeOfLayer(scheme_, layer);
    const std::vector<WeightInfo> infos = own.scheme->weights();
    nn::WeightTensors& weights = layers_.emplace_back(own).weights;
    Random random = Random::For(seed_, Fingerprint("scheme" + std::to_string(layer)));
    const std::vector<std::vector<double>> initial = own.scheme->InitialWeights(random);
    for (std::size_t i = 0; i < infos.size(); ++i) {
      std::string name = "scheme_" + scheme_->weights()[own.first_weight + i].name;
      if (infos[i].scope == WeightScope::kLayer) name += "_layer" + std::to_string(layer);
      for (char& letter : name) {
        if (letter == '.') letter = '_';
      }
      Tensor& weight = shared[name];
      if (!weight.defined()) {
        weight =
            register_parameter(name, torch::tensor(at::ArrayRef<double>(initial[i]), torch::kDouble)
                                         .view(infos[i].shape)
                                         .to(torch::kFloat));
      }
      weights.push_back(weight);
    }
  }
}

std::vector<nn::CausalTables> Gpt::Prepare(std::int64_t length) {
  const PositionList positions = PositionList::Range(0, length);
  const auto options = embedding_.options().requires_grad(false);
  std::vector<nn::CausalTables> tables;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const Layer& own = layers_[layer];
    // Layers of one scheme and the same weights have the same tables.
    std::size_t same = 0;
    while (same < layer && !own.SameTables(layers_[same])) ++same;
    tables.push_back(same < layer ? tables[same]
                                  : nn::PrepareCausal(own.scheme, own.weights, positions, positions,
                                                      options, path_));
  }
  return tables;
}

bool Gpt::Layer::SameTables(const Layer& other) const {
  return scheme == other.scheme &&
         std::equal(weights.begin(), weights.end(), other.weights.begin(), other.weights.end(),
                    [](const Tensor& a, const Tensor& b) { return a.is_same(b); });
}

Tensor Gpt::AddAttention(const Block& block, const Tensor& x, const nn::CausalTables& tables) {
  const std::int64_t batch = x.size(0), length = x.size(1);
  const Tensor qkv =
      NormLinear(x, block.norm1, block.qkv).view({batch, length, 3, settings_.heads, -1});
  const Tensor out = nn::CausalSelfAttention(qkv, tables);
  return AddLinear(x, out.reshape({batch, length, settings_.width}), block.out);
}

Tensor Gpt::Forward(const Tensor& tokens) {
  const std::int64_t length = tokens.size(1);
  Tensor x = torch::embedding(embedding_, tokens) * EmbedScale();
  std::vector<nn::CausalTables> tables;
  Tensor rows;
  // Without weights nothing changes between steps.
  const bool fixed = scheme_->weights().empty();
  const auto kept = fixed_.find(length);
  if (fixed && kept != fixed_.end()) {
    rows = kept->second.first;
    tables = kept->second.second;
  } else {
    if (scheme_->offers(Hook::kAdditive)) {
      rows = nn::AdditiveRows(scheme_, layers_[0].weights, PositionList::Range(0, length),
                              embedding_.options().requires_grad(false));
    }
    tables = Prepare(length);
    if (fixed) {
      if (fixed_.size() >= kTablesKept) fixed_.clear();
      fixed_.emplace(length, std::pair(rows, tables));
    }
  }
  if (rows.defined()) x = x + rows;
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const Block& block = blocks_[layer];
    x = AddAttention(block, x, tables[layer]);
    x = AddMlp(x, block.norm2, block.up, block.down);
  }
  return NormLinear(x, norm_, head_);
}

double Gpt::EmbedScale() const {
  return settings_.embed_scale > 0 ? settings_.embed_scale : std::sqrt(double(settings_.width));
}

std::optional<EmbeddingTables> Gpt::AdditiveTables() {
  if (!scheme_->offers(Hook::kAdditive)) return std::nullopt;
  torch::NoGradGuard no_grad;
  const Tensor rows =
      nn::AdditiveRows(scheme_, layers_[0].weights, PositionList::Range(0, settings_.context),
                       embedding_.options().requires_grad(false));
  return EmbeddingTables{(embedding_.detach().to(torch::kDouble) * EmbedScale()).contiguous(),
                         rows.detach().to(torch::kDouble).contiguous()};
}

std::optional<double> Gpt::PositionToTokenNorm() {
  const std::optional<EmbeddingTables> tables = AdditiveTables();
  if (!tables) return std::nullopt;
  return (tables->positions.norm(2, 1).mean() / tables->tokens.norm(2, 1).mean()).item<double>();
}

std::int64_t Gpt::parameter_count() const {
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

}  // namespace sextant::lab
