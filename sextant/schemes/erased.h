// Turns a plain scheme struct into a Scheme: finds its hooks by concept and erases its type.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "sextant/schemes/registry.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

// What a struct may have. A hook without trainable weights is one const method; with weights, the
// map back stands beside it under the same name and `_back`.
namespace hook {

template <class T>
concept Weighted = requires(const T& s, Random& random) {
  { s.weights() } -> std::same_as<std::vector<WeightInfo>>;
  { s.initial_weights(random) } -> std::same_as<std::vector<std::vector<double>>>;
};
template <class T>
concept Additive = requires(const T& s, Weights w, const Positions& p, View<double, 2> rows) {
  s.model_dim;
  s.additive(w, p, rows);
};
template <class T>
concept AdditiveBack = requires(const T& s, Weights w, const Positions& p, View<const double, 2> d,
                                WeightGradients g) {
  s.additive_back(w, p, d, g);
};
template <class T>
concept Rotary = requires(const T& s, Weights w, const Positions& p, View<double, 2> table) {
  { s.rotary_shape() } -> std::same_as<RotaryShape>;
  s.rotary(w, p, Side::kQuery, table, table);
};
template <class T>
concept RotaryBack = requires(const T& s, Weights w, const Positions& p, View<const double, 2> d,
                              WeightGradients g) {
  s.rotary_back(w, p, Side::kQuery, d, d, g);
};
template <class T>
concept DistanceBias = requires(const T& s, Weights w, Distances at, View<double, 2> bias) {
  s.heads;
  s.distance_bias(w, at, bias);
};
template <class T>
concept DistanceBiasBack = requires(const T& s, Weights w, Distances at, View<const double, 2> d,
                                    WeightGradients g) {
  s.distance_bias_back(w, at, d, g);
};
template <class T>
concept TileBias = requires(const T& s, Weights w, const Positions& p, View<double, 3> bias) {
  s.heads;
  s.tile_bias(w, p, p, bias);
};
template <class T>
concept TileBiasBack = requires(const T& s, Weights w, const Positions& p, View<const double, 3> d,
                                WeightGradients g) {
  s.tile_bias_back(w, p, p, d, g);
};
template <class T>
concept DistanceVectors = requires(const T& s, Weights w, Distances at) {
  { s.distance_vectors(w, at) } -> std::same_as<DistanceVectorTables>;
};
template <class T>
concept DistanceVectorsBack = requires(const T& s, Weights w, Distances at,
                                       const DistanceVectorTables& d, WeightGradients g) {
  s.distance_vectors_back(w, at, d, g);
};
template <class T>
concept Contextual = requires(const T& s, Weights w, const ContextualInput& in,
                              View<double, 2> bias) {
  s.contextual(w, in, bias);
};
template <class T>
concept ContextualBack = requires(const T& s, Weights w, const ContextualInput& in,
                                  View<const double, 2> d, const ContextualGradients& g) {
  s.contextual_back(w, in, d, g);
};
template <class T>
concept QueryScale = requires(const T& s, Weights w, const Positions& p, View<double, 1> scale) {
  s.query_scale(w, p, scale);
};
template <class T>
concept QueryScaleBack = requires(const T& s, Weights w, const Positions& p,
                                  View<const double, 1> d, WeightGradients g) {
  s.query_scale_back(w, p, d, g);
};
template <class T>
concept HasFigures = requires(const T& s) {
  { s.figures(std::int64_t{}) } -> std::same_as<std::vector<Figure>>;
};
template <class T>
concept ScalesSoftmax = requires(const T& s) {
  { s.softmax_multiplier() } -> std::same_as<double>;
};
template <class T>
concept TurnsByFrequencies = requires(const T& s, Weights w) {
  { s.turn_frequencies(w, std::int64_t{}) } -> std::same_as<std::optional<TurnFrequencies>>;
};
template <class T>
concept Checked = requires(const T& s) {
  s.check();
};

}  // namespace hook

template <class T>
class ErasedScheme final : public Scheme {
 public:
  explicit ErasedScheme(T scheme) : scheme_(std::move(scheme)) {
    if constexpr (hook::Checked<T>) scheme_.check();
  }

  const SchemeInfo& info() const override { return T::info; }
  Claims claims() const override { return scheme_.claims(); }
  std::vector<Parameter> parameters() const override { return ListFields(scheme_); }

  bool offers(Hook hook) const override {
    switch (hook) {
      case Hook::kAdditive:
        return hook::Additive<T>;
      case Hook::kRotary:
        return hook::Rotary<T>;
      case Hook::kDistanceBias:
        return hook::DistanceBias<T>;
      case Hook::kTileBias:
        return hook::TileBias<T>;
      case Hook::kDistanceVectors:
        return hook::DistanceVectors<T>;
      case Hook::kContextual:
        return hook::Contextual<T>;
      case Hook::kQueryScale:
        return hook::QueryScale<T>;
    }
    return false;
  }

  std::vector<Figure> Figures(std::int64_t length) const override {
    if constexpr (hook::HasFigures<T>)
      return scheme_.figures(length);
    else
      return Scheme::Figures(length);
  }
  double softmax_multiplier() const override {
    if constexpr (hook::ScalesSoftmax<T>)
      return scheme_.softmax_multiplier();
    else
      return 1;
  }

  std::vector<WeightInfo> weights() const override {
    if constexpr (hook::Weighted<T>)
      return scheme_.weights();
    else
      return {};
  }
  std::vector<std::vector<double>> InitialWeights(Random& random) const override {
    if constexpr (hook::Weighted<T>)
      return scheme_.initial_weights(random);
    else
      return {};
  }

  Index model_dim() const override {
    if constexpr (hook::Additive<T>)
      return scheme_.model_dim;
    else
      NoHook("additive rows");
  }
  void FillAdditive(Weights w, const Positions& p, View<double, 2> rows) const override {
    if constexpr (hook::Additive<T>)
      scheme_.additive(w, p, rows);
    else
      NoHook("additive rows");
  }
  void BackAdditive(Weights w, const Positions& p, View<const double, 2> d,
                    WeightGradients g) const override {
    if constexpr (hook::AdditiveBack<T>) scheme_.additive_back(w, p, d, g);
  }

  RotaryShape rotary_shape() const override {
    if constexpr (hook::Rotary<T>)
      return scheme_.rotary_shape();
    else
      NoHook("rotary table");
  }
  void FillRotary(Weights w, const Positions& p, Side side, View<double, 2> cos,
                  View<double, 2> sin) const override {
    if constexpr (hook::Rotary<T>)
      scheme_.rotary(w, p, side, cos, sin);
    else
      NoHook("rotary table");
  }
  std::optional<TurnFrequencies> turn_frequencies(Weights w, std::int64_t length) const override {
    if constexpr (hook::TurnsByFrequencies<T>)
      return scheme_.turn_frequencies(w, length);
    else
      return std::nullopt;
  }
  void BackRotary(Weights w, const Positions& p, Side side, View<const double, 2> d_cos,
                  View<const double, 2> d_sin, WeightGradients g) const override {
    if constexpr (hook::RotaryBack<T>) scheme_.rotary_back(w, p, side, d_cos, d_sin, g);
  }

  Index bias_heads() const override {
    if constexpr (hook::DistanceBias<T> || hook::TileBias<T>)
      return scheme_.heads;
    else
      NoHook("bias");
  }
  void FillDistanceBias(Weights w, Distances at, View<double, 2> bias) const override {
    if constexpr (hook::DistanceBias<T>)
      scheme_.distance_bias(w, at, bias);
    else
      NoHook("distance bias");
  }
  void BackDistanceBias(Weights w, Distances at, View<const double, 2> d,
                        WeightGradients g) const override {
    if constexpr (hook::DistanceBiasBack<T>) scheme_.distance_bias_back(w, at, d, g);
  }

  void FillTileBias(Weights w, const Positions& queries, const Positions& keys,
                    View<double, 3> bias) const override {
    if constexpr (hook::TileBias<T>)
      scheme_.tile_bias(w, queries, keys, bias);
    else
      NoHook("tile bias");
  }
  void BackTileBias(Weights w, const Positions& queries, const Positions& keys,
                    View<const double, 3> d, WeightGradients g) const override {
    if constexpr (hook::TileBiasBack<T>) scheme_.tile_bias_back(w, queries, keys, d, g);
  }

  DistanceVectorTables FillDistanceVectors(Weights w, Distances at) const override {
    if constexpr (hook::DistanceVectors<T>)
      return scheme_.distance_vectors(w, at);
    else
      NoHook("distance vectors");
  }
  void BackDistanceVectors(Weights w, Distances at, const DistanceVectorTables& d,
                           WeightGradients g) const override {
    if constexpr (hook::DistanceVectorsBack<T>) scheme_.distance_vectors_back(w, at, d, g);
  }

  void FillContextual(Weights w, const ContextualInput& in, View<double, 2> bias) const override {
    if constexpr (hook::Contextual<T>)
      scheme_.contextual(w, in, bias);
    else
      NoHook("contextual bias");
  }
  void BackContextual(Weights w, const ContextualInput& in, View<const double, 2> d,
                      const ContextualGradients& g) const override {
    if constexpr (hook::ContextualBack<T>) scheme_.contextual_back(w, in, d, g);
  }

  void FillQueryScale(Weights w, const Positions& p, View<double, 1> scale) const override {
    if constexpr (hook::QueryScale<T>)
      scheme_.query_scale(w, p, scale);
    else
      NoHook("query scale");
  }
  void BackQueryScale(Weights w, const Positions& p, View<const double, 1> d,
                      WeightGradients g) const override {
    if constexpr (hook::QueryScaleBack<T>) scheme_.query_scale_back(w, p, d, g);
  }

 private:
  // A trainable scheme states the map back beside each hook it fills from its weights.
  static_assert(!hook::Weighted<T> || !hook::Additive<T> || hook::AdditiveBack<T>);
  static_assert(!hook::Weighted<T> || !hook::Rotary<T> || hook::RotaryBack<T>);
  static_assert(!hook::Weighted<T> || !hook::DistanceBias<T> || hook::DistanceBiasBack<T>);
  static_assert(!hook::Weighted<T> || !hook::TileBias<T> || hook::TileBiasBack<T>);
  static_assert(!hook::Weighted<T> || !hook::DistanceVectors<T> || hook::DistanceVectorsBack<T>);
  static_assert(!hook::Weighted<T> || !hook::QueryScale<T> || hook::QueryScaleBack<T>);
  // A contextual bias depends on queries and scores, so it always has a map back.
  static_assert(!hook::Contextual<T> || hook::ContextualBack<T>);

  T scheme_;
};

template <class T>
SchemeEntry EntryOf() {
  return {T::info, ListFields(T{}),
          [](const ParameterValues& given, const ModelShape& shape) -> SchemePtr {
            return std::make_shared<ErasedScheme<T>>(
                MakeFromFields<T>(std::string(T::info.name), given, shape));
          },
          [](const ParameterValues& given, const ModelShape& shape) {
            return ListFields(MakeFromFields<T>(std::string(T::info.name), given, shape));
          }};
}

}  // namespace sextant
