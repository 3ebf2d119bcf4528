// What the contract answers where a scheme offers nothing.
#include "sextant/schemes/scheme.h"

#include <algorithm>

#include "sextant/core/error.h"

namespace sextant {

std::span<const ClaimText> ClaimTexts() {
  static constexpr ClaimText kTexts[] = {
      {"relative", &Claims::relative, "scores depend on key position - query position alone",
       "a window shifted by 1, 1000 and 2^20 gives the same scores to 1e-9 of their range"},
      {"keeps_norms", &Claims::keeps_norms, "queries and keys keep their lengths",
       "norms before and after agree to 1e-12 at positions up to 2^20"},
      {"learned", &Claims::learned, "training changes it",
       "it declares weights, and each one's gradient agrees with finite differences in double"},
      {"any_length", &Claims::any_length, "defined at every position",
       "tables at positions up to 2^20 are finite; without the claim the end is an error"},
      {"decays", &Claims::decays, "untrained, equal vectors score less the farther apart they are",
       "rank correlation of score and distance is below -0.5"},
  };
  return kTexts;
}

std::span<const HookName> HookNames() {
  static constexpr HookName kNames[] = {
      {Hook::kAdditive, "additive"},
      {Hook::kRotary, "rotary"},
      {Hook::kDistanceBias, "distance_bias"},
      {Hook::kTileBias, "tile_bias"},
      {Hook::kDistanceVectors, "distance_vectors"},
      {Hook::kContextual, "contextual"},
      {Hook::kQueryScale, "query_scale"},
  };
  return kNames;
}

PositionList::PositionList(std::span<const std::int64_t> positions, std::int64_t length)
    : values_({1, static_cast<Index>(positions.size())}), length_(length) {
  std::copy(positions.begin(), positions.end(), values_.values().begin());
  if (length_ == 0 && !positions.empty()) {
    length_ = *std::max_element(positions.begin(), positions.end()) + 1;
  }
}

PositionList::PositionList(Array<std::int64_t, 2> positions, std::int64_t length)
    : values_(std::move(positions)), length_(length) {
  const std::vector<std::int64_t>& all = values_.values();
  if (length_ == 0 && !all.empty()) length_ = *std::max_element(all.begin(), all.end()) + 1;
}

PositionList::PositionList(const Positions& positions)
    : values_({positions.axes(), positions.count()}), length_(positions.length) {
  for (Index axis = 0; axis < positions.axes(); ++axis) {
    for (Index n = 0; n < positions.count(); ++n) values_(axis, n) = positions.values(axis, n);
  }
}

PositionList PositionList::Range(std::int64_t first, Index count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) positions[static_cast<std::size_t>(i)] = first + i;
  return PositionList(positions);
}

Index WeightInfo::elements() const {
  Index count = 1;
  for (Index extent : shape) count *= extent;
  return count;
}

std::vector<std::vector<double>> ZeroWeights(const Scheme& scheme) {
  std::vector<std::vector<double>> zeros;
  for (const WeightInfo& weight : scheme.weights()) {
    zeros.emplace_back(static_cast<std::size_t>(weight.elements()));
  }
  return zeros;
}

std::vector<std::vector<double>> NormalWeights(const std::vector<WeightInfo>& weights, double std,
                                               Random& random) {
  std::vector<std::vector<double>> initial;
  for (const WeightInfo& weight : weights) {
    std::vector<double>& values = initial.emplace_back(static_cast<std::size_t>(weight.elements()));
    for (double& value : values) value = std * random.Normal();
  }
  return initial;
}

PairChannels ChannelsOf(const RotaryShape& shape, Index pair) {
  const Index width = shape.rotated_dims / shape.blocks, pairs = width / 2;
  const Index start = shape.first + pair / pairs * width, within = pair % pairs;
  const Index half0 = start + within, half1 = half0 + pairs;
  const Index next0 = start + 2 * within, next1 = next0 + 1;
  switch (shape.pairing) {
    case Pairing::kHalves:
      return {half0, half1, half0, half1};
    case Pairing::kAdjacent:
      return {next0, next1, next0, next1};
    case Pairing::kAdjacentToHalves:
      return {next0, next1, half0, half1};
  }
  return {};
}

void AddTo(const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

void FailPosition(std::string_view scheme, std::int64_t position, std::int64_t limit) {
  throw Error(scheme,
              "position " + std::to_string(position) + " is outside the table of " +
                  std::to_string(limit) + " positions (0 to " + std::to_string(limit - 1) + ")",
              "a table has no value past its end: give it more positions and train them, or use a "
              "scheme defined at any length (rope, alibi, t5, sinusoidal)");
}

void Scheme::NoHook(const char* hook) const { throw Error(name(), std::string("has no ") + hook); }

std::vector<Figure> Scheme::Figures(std::int64_t) const { return {}; }
std::vector<std::vector<double>> Scheme::InitialWeights(Random&) const { return {}; }
Index Scheme::model_dim() const { NoHook("additive rows"); }
void Scheme::FillAdditive(Weights, const Positions&, View<double, 2>) const {
  NoHook("additive rows");
}
void Scheme::BackAdditive(Weights, const Positions&, View<const double, 2>, WeightGradients) const {
  NoHook("additive rows");
}
RotaryShape Scheme::rotary_shape() const { NoHook("rotary table"); }
void Scheme::FillRotary(Weights, const Positions&, Side, View<double, 2>, View<double, 2>) const {
  NoHook("rotary table");
}
void Scheme::BackRotary(Weights, const Positions&, Side, View<const double, 2>,
                        View<const double, 2>, WeightGradients) const {
  NoHook("rotary table");
}
std::optional<TurnFrequencies> Scheme::turn_frequencies(Weights, std::int64_t) const {
  return std::nullopt;
}
Index Scheme::bias_heads() const { NoHook("bias"); }
void Scheme::FillDistanceBias(Weights, Distances, View<double, 2>) const {
  NoHook("distance bias");
}
void Scheme::BackDistanceBias(Weights, Distances, View<const double, 2>, WeightGradients) const {
  NoHook("distance bias");
}
void Scheme::FillTileBias(Weights, const Positions&, const Positions&, View<double, 3>) const {
  NoHook("tile bias");
}
void Scheme::BackTileBias(Weights, const Positions&, const Positions&, View<const double, 3>,
                          WeightGradients) const {
  NoHook("tile bias");
}
DistanceVectorTables Scheme::FillDistanceVectors(Weights, Distances) const {
  NoHook("distance vectors");
}
void Scheme::BackDistanceVectors(Weights, Distances, const DistanceVectorTables&,
                                 WeightGradients) const {
  NoHook("distance vectors");
}
void Scheme::FillContextual(Weights, const ContextualInput&, View<double, 2>) const {
  NoHook("contextual bias");
}
void Scheme::BackContextual(Weights, const ContextualInput&, View<const double, 2>,
                            const ContextualGradients&) const {
  NoHook("contextual bias");
}
void Scheme::FillQueryScale(Weights, const Positions&, View<double, 1>) const {
  NoHook("query scale");
}
void Scheme::BackQueryScale(Weights, const Positions&, View<const double, 1>,
                            WeightGradients) const {
  NoHook("query scale");
}

}  // namespace sextant
