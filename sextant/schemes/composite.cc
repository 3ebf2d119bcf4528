// Composition of schemes.
#include "sextant/schemes/composite.h"

#include <algorithm>
#include <initializer_list>

#include "sextant/core/error.h"

namespace sextant {
namespace {

class Composite final : public Scheme {
 public:
  explicit Composite(std::vector<SchemePtr> parts) : parts_(std::move(parts)) {
    for (const SchemePtr& part : parts_) {
      if (!part->layer_pattern().empty()) {
        throw Error("spec", "layers cannot be a part of a composition",
                    "compose inside each layer: layers:[rope+alibi],[none]");
      }
      if (!name_.empty()) name_ += "+";
      name_ += part->name();
      first_weight_.push_back(weights_);
      weights_ += part->weights().size();
    }
    for (Hook alone : {Hook::kRotary, Hook::kDistanceVectors, Hook::kContextual}) RequireOne(alone);
    RequireEqual({Hook::kAdditive}, "model_dim", &Scheme::model_dim);
    RequireEqual({Hook::kDistanceBias, Hook::kTileBias}, "heads", &Scheme::bias_heads);
    info_ = {name_, "Composition: the rows and biases of its parts add up", "the sum of its parts",
             "the parts' own", ""};
  }

  const SchemeInfo& info() const override { return info_; }
  std::string name() const override { return name_; }
  std::vector<SchemePtr> parts() const override { return parts_; }

  Claims claims() const override {
    Claims all = ClaimsOfAll(parts_);
    // A rotated query keeps its absolute angle against what is not rotated with it.
    if (offers(Hook::kRotary) && (offers(Hook::kDistanceVectors) || offers(Hook::kContextual))) {
      all.relative = false;
    }
    return all;
  }
  std::vector<Parameter> parameters() const override {
    std::vector<Parameter> all;
    for (const SchemePtr& part : parts_) {
      for (Parameter& parameter : part->parameters()) {
        parameter.path = part->name() + "." + parameter.path;
        all.push_back(std::move(parameter));
      }
    }
    return all;
  }
  bool offers(Hook hook) const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const SchemePtr& part) { return part->offers(hook); });
  }
  std::vector<Figure> Figures(std::int64_t length) const override {
    std::vector<Figure> all;
    for (const SchemePtr& part : parts_) {
      for (Figure& figure : part->Figures(length)) all.push_back(std::move(figure));
    }
    return all;
  }
  double softmax_multiplier() const override {
    double product = 1;
    for (const SchemePtr& part : parts_) product *= part->softmax_multiplier();
    return product;
  }
  std::vector<WeightInfo> weights() const override {
    std::vector<WeightInfo> all;
    for (const SchemePtr& part : parts_) {
      for (WeightInfo& weight : part->weights()) {
        weight.name = part->name() + "." + weight.name;
        all.push_back(std::move(weight));
      }
    }
    return all;
  }
  std::vector<std::vector<double>> InitialWeights(Random& random) const override {
    return InitialWeightsOfAll(parts_, random);
  }

  Index model_dim() const override { return First(Hook::kAdditive, "additive rows").model_dim(); }
  void FillAdditive(Weights weights, const Positions& at, View<double, 2> rows) const override {
    Sum<2>(Hook::kAdditive, rows, [&](std::size_t part, View<double, 2> out) {
      parts_[part]->FillAdditive(WeightsOf(part, weights), at, out);
    });
  }
  void BackAdditive(Weights weights, const Positions& at, View<const double, 2> d_rows,
                    WeightGradients d_weights) const override {
    ForEach(Hook::kAdditive, [&](std::size_t part) {
      parts_[part]->BackAdditive(WeightsOf(part, weights), at, d_rows, WeightsOf(part, d_weights));
    });
  }

  RotaryShape rotary_shape() const override {
    return First(Hook::kRotary, "rotary table").rotary_shape();
  }
  void FillRotary(Weights weights, const Positions& at, Side side, View<double, 2> cos,
                  View<double, 2> sin) const override {
    ForEach(Hook::kRotary, [&](std::size_t part) {
      parts_[part]->FillRotary(WeightsOf(part, weights), at, side, cos, sin);
    });
  }
  std::optional<TurnFrequencies> turn_frequencies(Weights weights,
                                                  std::int64_t length) const override {
    std::optional<TurnFrequencies> frequencies;
    ForEach(Hook::kRotary, [&](std::size_t part) {
      frequencies = parts_[part]->turn_frequencies(WeightsOf(part, weights), length);
    });
    return frequencies;
  }
  void BackRotary(Weights weights, const Positions& at, Side side, View<const double, 2> d_cos,
                  View<const double, 2> d_sin, WeightGradients d_weights) const override {
    ForEach(Hook::kRotary, [&](std::size_t part) {
      parts_[part]->BackRotary(WeightsOf(part, weights), at, side, d_cos, d_sin,
                               WeightsOf(part, d_weights));
    });
  }

  Index bias_heads() const override {
    for (const SchemePtr& part : parts_) {
      if (part->offers(Hook::kDistanceBias) || part->offers(Hook::kTileBias)) {
        return part->bias_heads();
      }
    }
    NoHook("bias");
  }
  void FillDistanceBias(Weights weights, Distances at, View<double, 2> bias) const override {
    Sum<2>(Hook::kDistanceBias, bias, [&](std::size_t part, View<double, 2> out) {
      parts_[part]->FillDistanceBias(WeightsOf(part, weights), at, out);
    });
  }
  void BackDistanceBias(Weights weights, Distances at, View<const double, 2> d_bias,
                        WeightGradients d_weights) const override {
    ForEach(Hook::kDistanceBias, [&](std::size_t part) {
      parts_[part]->BackDistanceBias(WeightsOf(part, weights), at, d_bias,
                                     WeightsOf(part, d_weights));
    });
  }
  void FillTileBias(Weights weights, const Positions& queries, const Positions& keys,
                    View<double, 3> bias) const override {
    Sum<3>(Hook::kTileBias, bias, [&](std::size_t part, View<double, 3> out) {
      parts_[part]->FillTileBias(WeightsOf(part, weights), queries, keys, out);
    });
  }
  void BackTileBias(Weights weights, const Positions& queries, const Positions& keys,
                    View<const double, 3> d_bias, WeightGradients d_weights) const override {
    ForEach(Hook::kTileBias, [&](std::size_t part) {
      parts_[part]->BackTileBias(WeightsOf(part, weights), queries, keys, d_bias,
                                 WeightsOf(part, d_weights));
    });
  }

  DistanceVectorTables FillDistanceVectors(Weights weights, Distances at) const override {
    DistanceVectorTables tables;
    ForEach(Hook::kDistanceVectors, [&](std::size_t part) {
      tables = parts_[part]->FillDistanceVectors(WeightsOf(part, weights), at);
    });
    return tables;
  }
  void BackDistanceVectors(Weights weights, Distances at, const DistanceVectorTables& d_tables,
                           WeightGradients d_weights) const override {
    ForEach(Hook::kDistanceVectors, [&](std::size_t part) {
      parts_[part]->BackDistanceVectors(WeightsOf(part, weights), at, d_tables,
                                        WeightsOf(part, d_weights));
    });
  }

  void FillContextual(Weights weights, const ContextualInput& input,
                      View<double, 2> bias) const override {
    ForEach(Hook::kContextual, [&](std::size_t part) {
      parts_[part]->FillContextual(WeightsOf(part, weights), input, bias);
    });
  }
  void BackContextual(Weights weights, const ContextualInput& input, View<const double, 2> d_bias,
                      const ContextualGradients& gradients) const override {
    ForEach(Hook::kContextual, [&](std::size_t part) {
      parts_[part]->BackContextual(
          WeightsOf(part, weights), input, d_bias,
          {gradients.query, gradients.key, gradients.scores, WeightsOf(part, gradients.weights)});
    });
  }

  // Query factors multiply, so each part's gradient carries the others' factors.
  void FillQueryScale(Weights weights, const Positions& at, View<double, 1> scale) const override {
    std::fill(scale.span().begin(), scale.span().end(), 1.0);
    ForEach(Hook::kQueryScale, [&](std::size_t part) { MultiplyScale(part, weights, at, scale); });
  }
  void BackQueryScale(Weights weights, const Positions& at, View<const double, 1> d_scale,
                      WeightGradients d_weights) const override {
    ForEach(Hook::kQueryScale, [&](std::size_t part) {
      Array<double, 1> d_part({at.count()});
      std::copy(d_scale.span().begin(), d_scale.span().end(), d_part.values().begin());
      ForEach(Hook::kQueryScale, [&](std::size_t other) {
        if (other != part) MultiplyScale(other, weights, at, d_part);
      });
      parts_[part]->BackQueryScale(WeightsOf(part, weights), at, d_part,
                                   WeightsOf(part, d_weights));
    });
  }

 private:
  template <class Do>
  void ForEach(Hook hook, Do&& act) const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (parts_[part]->offers(hook)) act(part);
    }
  }

  template <std::size_t rank, class Fill>
  void Sum(Hook hook, View<double, rank> out, Fill&& fill) const {
    Array<double, rank> sum(out.shape()), term(out.shape());
    ForEach(hook, [&](std::size_t part) {
      fill(part, term.view());
      AddTo(term.values(), sum.values());
    });
    CopyTo<rank>(sum.view(), out);
  }

  template <std::size_t rank>
  static void CopyTo(View<const double, rank> from, View<double, rank> to) {
    for (Index i = 0; i < from.extent(0); ++i) {
      if constexpr (rank == 1)
        to(i) = from(i);
      else
        CopyTo<rank - 1>(from[i], to[i]);
    }
  }

  void MultiplyScale(std::size_t part, Weights weights, const Positions& at,
                     View<double, 1> scale) const {
    Array<double, 1> factor({at.count()});
    parts_[part]->FillQueryScale(WeightsOf(part, weights), at, factor);
    for (Index n = 0; n < at.count(); ++n) scale(n) *= factor(n);
  }

  template <class Span>
  Span WeightsOf(std::size_t part, Span weights) const {
    return weights.subspan(first_weight_[part], parts_[part]->weights().size());
  }

  const Scheme& First(Hook hook, const char* what) const {
    for (const SchemePtr& part : parts_) {
      if (part->offers(hook)) return *part;
    }
    NoHook(what);
  }

  void RequireOne(Hook hook) const {
    std::string first;
    for (const SchemePtr& part : parts_) {
      if (!part->offers(hook)) continue;
      if (!first.empty()) {
        throw Error(name_, first + " and " + part->name() +
                               " cannot be combined: both turn or index the same queries and keys");
      }
      first = part->name();
    }
  }
  void RequireEqual(std::initializer_list<Hook> hooks, const char* what,
                    Index (Scheme::*extent)() const) const {
    const Scheme* first = nullptr;
    for (const SchemePtr& part : parts_) {
      if (std::none_of(hooks.begin(), hooks.end(), [&](Hook h) { return part->offers(h); })) {
        continue;
      }
      if (first != nullptr && ((*first).*extent)() != ((*part).*extent)()) {
        throw Error(name_, std::string(what) + " must be equal in all parts, got " +
                               std::to_string(((*first).*extent)()) + " and " +
                               std::to_string(((*part).*extent)()));
      }
      first = part.get();
    }
  }

  std::vector<SchemePtr> parts_;
  std::vector<std::size_t> first_weight_;
  std::size_t weights_ = 0;
  std::string name_;
  SchemeInfo info_;
};

}  // namespace

Claims ClaimsOfAll(const std::vector<SchemePtr>& parts) {
  Claims all = parts[0]->claims();
  for (const SchemePtr& part : parts) {
    const Claims claims = part->claims();
    all.relative &= claims.relative;
    all.keeps_norms &= claims.keeps_norms;
    all.learned |= claims.learned;
    all.any_length &= claims.any_length;
    all.decays &= claims.decays;
  }
  return all;
}

std::vector<std::vector<double>> InitialWeightsOfAll(const std::vector<SchemePtr>& parts,
                                                     Random& random) {
  std::vector<std::vector<double>> all;
  for (const SchemePtr& part : parts) {
    for (std::vector<double>& values : part->InitialWeights(random)) {
      all.push_back(std::move(values));
    }
  }
  return all;
}

SchemePtr Compose(std::vector<SchemePtr> parts) {
  if (parts.empty()) throw Error("spec", "a composition needs at least one scheme");
  return std::make_shared<Composite>(std::move(parts));
}

}  // namespace sextant
