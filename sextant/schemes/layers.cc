// A scheme for each layer.
#include "sextant/schemes/layers.h"

#include <algorithm>

#include "sextant/core/error.h"
#include "sextant/schemes/composite.h"

namespace sextant {
namespace {

class Layers final : public Scheme {
 public:
  Layers(std::vector<SchemePtr> parts, std::vector<std::size_t> pattern)
      : parts_(std::move(parts)), pattern_(std::move(pattern)) {}

  const SchemeInfo& info() const override {
    static constexpr SchemeInfo kInfo{
        "layers", "A scheme for each layer", "layer l uses pattern[l mod length]",
        "SmolLM3, Llama 4 (no positions in every fourth layer); Gemma 3 (local and global bases)",
        "SmolLM3, Llama 4, Cohere 2, EXAONE 4, Gemma 3, ModernBERT"};
    return kInfo;
  }
  Claims claims() const override { return ClaimsOfAll(parts_); }
  std::vector<Parameter> parameters() const override { return {}; }
  bool offers(Hook) const override { return false; }
  std::vector<SchemePtr> parts() const override { return parts_; }
  std::vector<std::size_t> layer_pattern() const override { return pattern_; }
  std::vector<WeightInfo> weights() const override {
    std::vector<WeightInfo> all;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (WeightInfo& weight : parts_[part]->weights()) {
        weight.name = std::to_string(part) + "." + weight.name;
        all.push_back(std::move(weight));
      }
    }
    return all;
  }
  std::vector<std::vector<double>> InitialWeights(Random& random) const override {
    return InitialWeightsOfAll(parts_, random);
  }

 private:
  std::vector<SchemePtr> parts_;
  std::vector<std::size_t> pattern_;
};

}  // namespace

SchemePtr MakeLayers(std::vector<SchemePtr> parts, std::vector<std::size_t> pattern) {
  if (pattern.empty()) {
    throw Error("layers", "needs the scheme of at least one layer",
                "like layers:[rope]x3,[none], which repeats over the model");
  }
  for (std::size_t part : pattern) {
    if (part >= parts.size()) throw Error("layers", "the pattern names a scheme that is not there");
  }
  for (const SchemePtr& part : parts) {
    if (!part->layer_pattern().empty()) {
      throw Error("layers", "a layer's scheme cannot be a policy of layers itself");
    }
    if (part->offers(Hook::kAdditive)) {
      throw Error("layers",
                  part->name() +
                      " adds rows to embeddings once, before the first layer, so no "
                      "layer can have it alone",
                  "give layers schemes that act inside attention: rope, alibi, t5, none");
    }
  }
  return std::make_shared<Layers>(std::move(parts), std::move(pattern));
}

LayerScheme SchemeOfLayer(const SchemePtr& scheme, Index layer) {
  const std::vector<std::size_t> pattern = scheme->layer_pattern();
  if (pattern.empty()) return {scheme, 0, 0};
  const std::size_t part = pattern[static_cast<std::size_t>(layer) % pattern.size()];
  const std::vector<SchemePtr> parts = scheme->parts();
  std::size_t first = 0;
  for (std::size_t before = 0; before < part; ++before) first += parts[before]->weights().size();
  return {parts[part], part, first};
}

std::string LayersOfPart(const Scheme& scheme, std::size_t part) {
  const std::vector<std::size_t> pattern = scheme.layer_pattern();
  std::string text;
  for (std::size_t first = 0; first < pattern.size(); ++first) {
    if (pattern[first] != part) continue;
    std::size_t last = first;
    while (last + 1 < pattern.size() && pattern[last + 1] == part) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  const bool one = text.find_first_of("-,") == std::string::npos;
  return (one ? "layer " : "layers ") + text + " of every " + std::to_string(pattern.size());
}

}  // namespace sextant
