// A small pre-norm decoder-only GPT whose positions come from any scheme.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/layers.h"
#include "lab/settings.h"
#include "sextant/schemes/layers.h"
#include "torch/attention.h"

namespace sextant::lab {

// Contiguous double tables of a model's input.
struct EmbeddingTables {
  torch::Tensor tokens;     // [vocabulary, width], scaled as they enter
  torch::Tensor positions;  // [context, width], the additive rows
};

// Embedding (scaled, plus additive rows) -> layers of attention and MLP -> norm -> logits by a
// matrix of their own (with the embedding's, scaled up, every token would at first predict itself).
// For one seed, all weights but the scheme's are the same whatever the scheme. Weights are float32.
// Not for use by two threads at once.
class Gpt : public torch::nn::Module {
 public:
  // Throws Error where the scheme does not fit the model's sizes.
  Gpt(const Settings& settings, std::int64_t vocabulary, SchemePtr scheme, std::uint64_t seed,
      nn::AttentionPath path = nn::AttentionPath::kFastest);

  // Logits [batch, n, vocabulary] of tokens int64 [batch, n] at positions 0 .. n-1. Throws
  // sextant::Error where the scheme has no table that long.
  torch::Tensor Forward(const torch::Tensor& tokens);

  // Nothing for schemes that add no rows.
  std::optional<EmbeddingTables> AdditiveTables();

  // Mean norm of the additive rows of positions 0 .. context-1 over the mean norm of the scaled
  // token embeddings; nothing for schemes that add none.
  std::optional<double> PositionToTokenNorm();

  std::int64_t parameter_count() const;
  const SchemePtr& scheme() const { return scheme_; }

 private:
  struct Block {
    Norm norm1;
    Linear qkv, out;
    Norm norm2;
    Linear up, down;
  };
  // A layer's scheme and its weights; model-wide ones are the same tensor in every layer.
  struct Layer {
    explicit Layer(const LayerScheme& own) : scheme(own.scheme) {}
    bool SameTables(const Layer& other) const;

    SchemePtr scheme;
    nn::WeightTensors weights;
  };
  // What depends on the length alone or on the scheme's weights, for one layer.
  std::vector<nn::CausalTables> Prepare(std::int64_t length);
  double EmbedScale() const;
  // x + what attention adds to it.
  torch::Tensor AddAttention(const Block& block, const torch::Tensor& x,
                             const nn::CausalTables& tables);
  torch::Tensor AddWeight(const std::string& name, at::IntArrayRef shape, double std);
  void AddSchemeWeights();

  Settings settings_;
  SchemePtr scheme_;
  std::uint64_t seed_;
  nn::AttentionPath path_;
  torch::Tensor embedding_;
  Norm norm_;
  Linear head_;
  std::vector<Block> blocks_;
  std::vector<Layer> layers_;
  std::map<std::int64_t, std::pair<torch::Tensor, std::vector<nn::CausalTables>>>
      fixed_;  // untrained, by length
};

}  // namespace sextant::lab
