// What is left of a scheme once queries and keys are encoded.
#pragma once

#include "sextant/schemes/scheme.h"

namespace sextant {

// The scheme without rows and turns: the reference gives it queries and keys that hold them
// already. The scheme must outlive it.
class EncodedScheme final : public Scheme {
 public:
  explicit EncodedScheme(const Scheme& scheme) : scheme_(scheme) {}

  const SchemeInfo& info() const override { return scheme_.info(); }
  std::string name() const override { return scheme_.name(); }
  Claims claims() const override { return scheme_.claims(); }
  std::vector<Parameter> parameters() const override { return scheme_.parameters(); }
  bool offers(Hook hook) const override {
    return hook != Hook::kAdditive && hook != Hook::kRotary && scheme_.offers(hook);
  }
  double softmax_multiplier() const override { return scheme_.softmax_multiplier(); }
  std::vector<WeightInfo> weights() const override { return scheme_.weights(); }

  Index bias_heads() const override { return scheme_.bias_heads(); }
  void FillDistanceBias(Weights weights, Distances distances, View<double, 2> bias) const override {
    scheme_.FillDistanceBias(weights, distances, bias);
  }
  void FillTileBias(Weights weights, const Positions& queries, const Positions& keys,
                    View<double, 3> bias) const override {
    scheme_.FillTileBias(weights, queries, keys, bias);
  }
  DistanceVectorTables FillDistanceVectors(Weights weights, Distances distances) const override {
    return scheme_.FillDistanceVectors(weights, distances);
  }
  void FillContextual(Weights weights, const ContextualInput& input,
                      View<double, 2> bias) const override {
    scheme_.FillContextual(weights, input, bias);
  }
  void FillQueryScale(Weights weights, const Positions& positions,
                      View<double, 1> scale) const override {
    scheme_.FillQueryScale(weights, positions, scale);
  }

 private:
  const Scheme& scheme_;
};

}  // namespace sextant
