// Checks of the tables themselves: slices, what a fill may touch, maps back, names and specs.
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"
#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {
namespace {

constexpr double kGuard = -7.25e77;

// A matrix inside a larger one of guards; what it holds at first is as wrong.
class Guarded {
 public:
  explicit Guarded(const Shape<2>& shape) : memory_({shape[0], shape[1] + 5}), shape_(shape) {
    memory_.values().assign(memory_.values().size(), kGuard);
  }
  View<double, 2> view() { return {memory_.values().data() + 2, shape_, {memory_.extent(1), 1}}; }
  double operator()(Index i, Index j) const { return memory_(i, j + 2); }
  bool Intact() const {
    for (Index i = 0; i < memory_.extent(0); ++i) {
      for (Index j = 0; j < memory_.extent(1); ++j) {
        const bool inside = j >= 2 && j < shape_[1] + 2;
        if (inside == (memory_(i, j) == kGuard)) return false;
      }
    }
    return true;
  }

 private:
  Array<double, 2> memory_;
  Shape<2> shape_;
};

using FillRows = std::function<void(const Positions&, View<double, 2>)>;

// Rows by position: the whole at once, and in slices of 1, 4 and the rest.
void CheckRowSlices(const std::string& what, const std::vector<std::int64_t>& positions,
                    std::int64_t length, Index width, const FillRows& fill, Failures& failures) {
  const Index count = Index(positions.size());
  Guarded whole({count, width});
  fill(PositionList(positions, length), whole.view());
  if (!whole.Intact()) failures.push_back(what + ": a fill leaves rows or writes beside them");
  for (Index first = 0, size = 1; first < count; first += size, size = size == 1 ? 4 : count) {
    size = std::min(size, count - first);
    const std::vector<std::int64_t> slice(positions.begin() + first,
                                          positions.begin() + first + size);
    Guarded part({size, width});
    fill(PositionList(slice, length), part.view());
    bool same = part.Intact();
    for (Index n = 0; n < size; ++n) {
      for (Index c = 0; c < width; ++c) same &= part(n, c) == whole(first + n, c);
    }
    if (!same) failures.push_back(what + ": a slice of positions is not that slice of the whole");
  }
}

void CheckBiasSlices(const Scheme& scheme, Weights weights, Index heads, std::int64_t reach,
                     Failures& failures) {
  const Distances all{-reach, 2 * reach + 1};
  Guarded whole({heads, all.count});
  scheme.FillDistanceBias(weights, all, whole.view());
  if (!whole.Intact()) failures.push_back("distance bias: a fill leaves or writes beside its rows");
  for (const Distances slice : {Distances{-reach, 1}, Distances{-3, 5}, Distances{reach, 1}}) {
    Guarded part({heads, slice.count});
    scheme.FillDistanceBias(weights, slice, part.view());
    bool same = part.Intact();
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < slice.count; ++n) {
        same &= part(h, n) == whole(h, slice.first + n + reach);
      }
    }
    if (!same) failures.push_back("distance bias: a slice is not that slice of the whole");
  }
}

void CheckVectorSlices(const Scheme& scheme, Weights weights, std::int64_t reach,
                       Failures& failures) {
  const DistanceVectorTables whole = scheme.FillDistanceVectors(weights, {-reach, 2 * reach + 1});
  for (const Distances slice : {Distances{-reach, 1}, Distances{-3, 5}, Distances{reach, 1}}) {
    const DistanceVectorTables part = scheme.FillDistanceVectors(weights, slice);
    bool same = Index(part.row.size()) == slice.count;
    using Table = Array<double, 3> DistanceVectorTables::*;
    for (Table table :
         {&DistanceVectorTables::key, &DistanceVectorTables::query, &DistanceVectorTables::value}) {
      same &= (part.*table).empty() == (whole.*table).empty();
      if (!same || (whole.*table).empty()) continue;
      for (Index h = 0; h < (whole.*table).extent(0); ++h) {
        for (Index n = 0; n < slice.count; ++n) {
          const auto a = (part.*table).view()[h][part.row[std::size_t(n)]];
          const auto b = (whole.*table).view()[h][whole.row[std::size_t(slice.first + n + reach)]];
          same &= std::equal(a.span().begin(), a.span().end(), b.span().begin());
        }
      }
    }
    same &= part.content_bias.values() == whole.content_bias.values() &&
            part.position_bias.values() == whole.position_bias.values();
    if (!same) failures.push_back("distance vectors: a slice is not that slice of the whole");
  }
}

void CheckTileSlices(const Scheme& scheme, Weights weights, Index heads,
                     const std::vector<std::int64_t>& positions, std::int64_t length,
                     Failures& failures) {
  const Index count = Index(positions.size());
  Array<double, 3> whole({heads, count, count});
  whole.values().assign(whole.values().size(), kGuard);
  const PositionList all(positions, length);
  scheme.FillTileBias(weights, all, all, whole);
  const std::vector<std::int64_t> rows(positions.begin() + 1, positions.begin() + 3);
  const std::vector<std::int64_t> columns(positions.begin() + 2, positions.end());
  Array<double, 3> part({heads, 2, count - 2});
  scheme.FillTileBias(weights, PositionList(rows, length), PositionList(columns, length), part);
  bool same = true;
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < 2; ++i) {
      for (Index j = 0; j < count - 2; ++j) same &= part(h, i, j) == whole(h, i + 1, j + 2);
    }
  }
  if (!same) failures.push_back("tile bias: a tile is not that tile of the whole");
}

// What a map back adds to zeros, it must add to ones.
void CheckAdds(const std::string& what, const Scheme& scheme,
               const std::function<void(WeightGradients)>& back, Failures& failures) {
  std::vector<std::vector<double>> zeros = ZeroWeights(scheme), ones = ZeroWeights(scheme);
  for (std::vector<double>& weight : ones) weight.assign(weight.size(), 1);
  back(zeros);
  back(ones);
  for (std::size_t w = 0; w < zeros.size(); ++w) {
    for (std::size_t n = 0; n < zeros[w].size(); ++n) {
      if (std::abs(zeros[w][n] + 1 - ones[w][n]) <= 1e-12 * (1 + std::abs(zeros[w][n]))) continue;
      failures.push_back(what + ": the map back does not add to the gradients");
      return;
    }
  }
}

void CheckMapsBackAdd(const Scheme& scheme, const Model& model, Weights weights,
                      Failures& failures) {
  const PositionList at = PositionList::Range(1, 4);
  const Distances distances{-4, 9};
  Random random(41);
  const auto matrix = [&](Index rows, Index columns) {
    Array<double, 2> d({rows, columns});
    for (double& value : d.values()) value = random.Normal();
    return d;
  };
  using Gradients = WeightGradients;
  if (scheme.offers(Hook::kAdditive)) {
    const Array<double, 2> d = matrix(4, scheme.model_dim());
    CheckAdds(
        "additive", scheme, [&](Gradients g) { scheme.BackAdditive(weights, at, d, g); }, failures);
  }
  if (scheme.offers(Hook::kRotary)) {
    const Index pairs = scheme.rotary_shape().rotated_dims / 2;
    const Array<double, 2> d_cos = matrix(4, pairs), d_sin = matrix(4, pairs);
    for (Side side : {Side::kQuery, Side::kKey}) {
      CheckAdds(
          "rotary", scheme,
          [&](Gradients g) { scheme.BackRotary(weights, at, side, d_cos, d_sin, g); }, failures);
    }
  }
  if (scheme.offers(Hook::kDistanceBias)) {
    const Array<double, 2> d = matrix(model.heads, distances.count);
    CheckAdds(
        "distance bias", scheme,
        [&](Gradients g) { scheme.BackDistanceBias(weights, distances, d, g); }, failures);
  }
  if (scheme.offers(Hook::kTileBias)) {
    const Array<double, 3> d = RandomHeads({model.heads, 4, 4}, random);
    CheckAdds(
        "tile bias", scheme, [&](Gradients g) { scheme.BackTileBias(weights, at, at, d, g); },
        failures);
  }
  if (scheme.offers(Hook::kDistanceVectors)) {
    const DistanceVectorTables d = scheme.FillDistanceVectors(weights, distances);
    CheckAdds(
        "distance vectors", scheme,
        [&](Gradients g) { scheme.BackDistanceVectors(weights, distances, d, g); }, failures);
  }
  if (scheme.offers(Hook::kQueryScale)) {
    Array<double, 1> d({4});
    for (double& value : d.values()) value = random.Normal();
    CheckAdds(
        "query scale", scheme, [&](Gradients g) { scheme.BackQueryScale(weights, at, d, g); },
        failures);
  }
}

void CheckHooksNotOffered(const Scheme& scheme, Failures& failures) {
  const PositionList at = PositionList::Range(0, 1);
  Array<double, 1> one({1});
  Array<double, 2> two({1, 1});
  Array<double, 3> three({1, 1, 1});
  Array<std::uint8_t, 2> visible({1, 1});
  const std::function<void()> calls[] = {
      [&] { scheme.FillAdditive({}, at, two); },
      [&] { scheme.FillRotary({}, at, Side::kQuery, two, two); },
      [&] {
        scheme.FillDistanceBias({}, {0, 1}, two);
      },
      [&] { scheme.FillTileBias({}, at, at, three); },
      [&] {
        scheme.FillDistanceVectors({}, {0, 1});
      },
      [&] {
        scheme.FillContextual({}, {0, two, two, two, visible, at, at}, two);
      },
      [&] { scheme.FillQueryScale({}, at, one); },
  };
  for (const HookName& hook : HookNames()) {
    if (scheme.offers(hook.hook)) continue;
    bool failed = false;
    try {
      calls[std::size_t(hook.hook)]();
    } catch (const Error&) {
      failed = true;
    }
    if (!failed && scheme.parts().empty()) {
      failures.push_back(std::string("fills ") + hook.name + " without offering it");
    }
  }
}

// Turns by frequencies are the table: what kernels make of them is what the reference turns by.
void CheckFrequencies(const Scheme& scheme, Weights weights, Failures& failures) {
  if (!scheme.offers(Hook::kRotary)) return;
  const std::vector<std::int64_t> positions = {0, 1, 2, 63, 1000, 131071, std::int64_t{1} << 20};
  for (const std::int64_t length : {std::int64_t{64}, std::int64_t{1} << 21}) {
    const auto turns = scheme.turn_frequencies(weights, length);
    if (!turns) continue;
    const Index pairs = scheme.rotary_shape().rotated_dims / 2;
    if (Index(turns->inv_freq.size()) != pairs) {
      failures.push_back("has not a frequency for each pair");
      return;
    }
    for (const Side side : {Side::kQuery, Side::kKey}) {
      Array<double, 2> cos({Index(positions.size()), pairs}), sin(cos.shape());
      scheme.FillRotary(weights, PositionList(positions, length), side, cos, sin);
      double worst = 0;
      for (Index n = 0; n < cos.extent(0); ++n) {
        for (Index i = 0; i < pairs; ++i) {
          const double angle = double(positions[std::size_t(n)]) * turns->inv_freq[std::size_t(i)];
          KeepLargest(std::abs(cos(n, i) - turns->magnitude * std::cos(angle)), worst);
          KeepLargest(std::abs(sin(n, i) - turns->magnitude * std::sin(angle)), worst);
        }
      }
      if (!(worst <= 1e-12 * std::max(1.0, turns->magnitude))) {
        failures.push_back("turns by frequencies differ from the table by " + ToText(worst));
      }
    }
  }
}

}  // namespace

Failures CheckSlices(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  std::vector<std::int64_t> positions = {3, 0, model.context - 1, 7, 7, 1, 20, 5};
  if (scheme->claims().any_length) positions.insert(positions.end(), {1000, 1 << 20, 131071});
  const std::int64_t length = (1 << 20) + 1;
  if (scheme->offers(Hook::kAdditive)) {
    CheckRowSlices(
        "additive", positions, length, scheme->model_dim(),
        [&](const Positions& at, View<double, 2> rows) { scheme->FillAdditive(weights, at, rows); },
        failures);
  }
  for (Side side : {Side::kQuery, Side::kKey}) {
    if (!scheme->offers(Hook::kRotary)) continue;
    const Index pairs = scheme->rotary_shape().rotated_dims / 2;
    for (const bool of_cos : {true, false}) {
      CheckRowSlices(
          "rotary", positions, length, pairs,
          [&](const Positions& at, View<double, 2> rows) {
            Array<double, 2> other(rows.shape());
            scheme->FillRotary(weights, at, side, of_cos ? rows : other.view(),
                               of_cos ? other.view() : rows);
          },
          failures);
    }
  }
  if (scheme->offers(Hook::kQueryScale)) {
    CheckRowSlices(
        "query scale", positions, length, 1,
        [&](const Positions& at, View<double, 2> rows) {
          Array<double, 1> scale({at.count()});
          scale.values().assign(scale.values().size(), kGuard);
          scheme->FillQueryScale(weights, at, scale);
          for (Index n = 0; n < at.count(); ++n) rows(n, 0) = scale(n);
        },
        failures);
  }
  const std::int64_t reach = model.context - 1;
  if (scheme->offers(Hook::kDistanceBias)) {
    CheckBiasSlices(*scheme, weights, model.heads, reach, failures);
  }
  if (scheme->offers(Hook::kDistanceVectors)) CheckVectorSlices(*scheme, weights, reach, failures);
  if (scheme->offers(Hook::kTileBias)) {
    CheckTileSlices(*scheme, weights, model.heads, positions, length, failures);
  }
  return failures;
}

Failures CheckContract(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  Random random(42), again(42);
  const std::vector<std::vector<double>> initial = scheme->InitialWeights(random);
  const std::vector<WeightInfo> declared = scheme->weights();
  if (initial != scheme->InitialWeights(again)) {
    failures.push_back("equal random numbers give other initial weights");
  }
  if (initial.size() != declared.size()) return {"declares other weights than it initialises"};
  std::set<std::string> names;
  for (std::size_t w = 0; w < declared.size(); ++w) {
    if (Index(initial[w].size()) != declared[w].elements()) {
      failures.push_back("weight " + declared[w].name + " has another size than declared");
    }
    if (!names.insert(declared[w].name).second && scheme->parts().empty()) {
      failures.push_back("two weights are named " + declared[w].name);
    }
  }
  CheckMapsBackAdd(*scheme, model, TrainedWeights(*scheme, model), failures);
  CheckHooksNotOffered(*scheme, failures);
  CheckFrequencies(*scheme, TrainedWeights(*scheme, model), failures);
  return failures;
}

Failures CheckSpec(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const auto values = [](const Scheme& of) {
    std::string text;
    for (const Parameter& parameter : of.parameters()) {
      text += parameter.path + "=" + ToText(parameter.value) + " ";
    }
    return text;
  };
  const Spec spec = SpecOf(*scheme);
  const std::pair<std::string, ModelShape> spellings[] = {
      {ToJson(spec).dump(), {}},
      {ToText(spec), {}},
      {ShortText(*scheme, {}, *model.registry), {}},
      {ShortText(*scheme, model.shape(), *model.registry), model.shape()}};
  for (const auto& [text, shape] : spellings) {
    const SchemePtr read = MakeScheme(text, shape, *model.registry);
    if (values(*read) == values(*scheme) && ToJson(SpecOf(*read)) == ToJson(spec)) continue;
    failures.push_back("reads back as " + values(*read) + "from " + text);
  }
  return failures;
}

}  // namespace sextant::conformance
