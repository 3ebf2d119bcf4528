// The checks of a scheme's claims, made and not made.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 20;

std::string Number(double value) { return ToText(ParameterValue(value)); }

bool Finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

// All scores of a window of 12 positions from `first` on.
std::vector<double> WindowScores(const Scheme& scheme, const Model& model, Weights weights,
                                 std::int64_t first, std::int64_t length) {
  constexpr Index kWindow = 12;
  AttentionCase at({model.heads, kWindow, model.head_dim}, {model.heads, kWindow, model.head_dim},
                   Steps(first, kWindow), Steps(first, kWindow), length);
  return at.Run(scheme, weights).scores.values();
}

// Rank of each value; equal values share the mean of their ranks.
std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t n = first; n < end; ++n) ranks[order[n]] = double(first + end - 1) / 2;
  }
  return ranks;
}

double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = Ranks(a), y = Ranks(b);
  const double mean = double(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    xy += (x[n] - mean) * (y[n] - mean);
    xx += (x[n] - mean) * (x[n] - mean);
    yy += (y[n] - mean) * (y[n] - mean);
  }
  return xx * yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

// Rank correlation of distance and score of equal vectors, untrained: the mean over heads and over
// vectors taken with both signs, so that what does not multiply two of them cancels. NaN where a
// score is not finite.
double Decay(const Scheme& scheme, const Model& model) {
  Random random(21);
  const std::vector<std::vector<double>> weights = scheme.InitialWeights(random);
  const Index keys = model.context;
  std::vector<double> distance, score(std::size_t(keys), 0.0);
  for (Index j = 0; j < keys; ++j) distance.push_back(double(keys - 1 - j));
  for (int trial = 0; trial < 16; ++trial) {
    std::vector<double> x(std::size_t(model.head_dim));
    for (double& value : x) value = random.Normal();
    for (const double sign : {1.0, -1.0}) {
      AttentionCase at({model.heads, 1, model.head_dim}, {model.heads, keys, model.head_dim},
                       {keys - 1}, Steps(0, keys), keys);
      for (Array<double, 3>* vectors : {&at.query, &at.key}) {
        for (std::size_t n = 0; n < vectors->values().size(); ++n) {
          vectors->values()[n] = sign * x[n % x.size()];
        }
      }
      const AttentionOutput output = at.Run(scheme, weights);
      for (std::size_t n = 0; n < output.scores.values().size(); ++n) {
        score[n % std::size_t(keys)] += output.scores.values()[n];
      }
    }
  }
  if (!Finite(score)) return std::numeric_limits<double>::quiet_NaN();
  // Differences of rounding are no order.
  double largest = 0;
  for (double s : score) largest = std::max(largest, std::abs(s));
  if (largest == 0) return 0;
  for (double& s : score) s = std::round(s / largest * 1e12);
  return RankCorrelation(distance, score);
}

bool VectorsFinite(const DistanceVectorTables& tables) {
  bool finite = true;
  for (const Array<double, 3>* table : {&tables.key, &tables.query, &tables.value}) {
    if (table->empty()) continue;
    for (std::int32_t row : tables.row) finite &= row >= 0 && row < table->extent(1);
    finite &= Finite(table->values());
  }
  return finite && Finite(tables.content_bias.values()) && Finite(tables.position_bias.values());
}

// Whether every table at position p, or distance p either way, is finite; throws what fills throw.
bool TablesFiniteAt(const Scheme& scheme, const Model& model, Weights weights, std::int64_t p) {
  const PositionList at = PositionList::Range(p, 1), zero = PositionList::Range(0, 1);
  bool finite = true;
  if (scheme.offers(Hook::kAdditive)) {
    Array<double, 2> rows({1, scheme.model_dim()});
    scheme.FillAdditive(weights, at, rows);
    finite &= Finite(rows.values());
  }
  if (scheme.offers(Hook::kRotary)) {
    for (Side side : {Side::kQuery, Side::kKey}) {
      Array<double, 2> cos({1, scheme.rotary_shape().rotated_dims / 2}), sin(cos.shape());
      scheme.FillRotary(weights, at, side, cos, sin);
      finite &= Finite(cos.values()) && Finite(sin.values());
    }
  }
  if (scheme.offers(Hook::kQueryScale)) {
    Array<double, 1> scale({1});
    scheme.FillQueryScale(weights, at, scale);
    finite &= Finite(scale.values());
  }
  for (const std::int64_t distance : {p, -p}) {
    if (scheme.offers(Hook::kDistanceBias)) {
      Array<double, 2> bias({model.heads, 1});
      scheme.FillDistanceBias(weights, {distance, 1}, bias);
      finite &= Finite(bias.values());
    }
    if (scheme.offers(Hook::kDistanceVectors)) {
      finite &= VectorsFinite(scheme.FillDistanceVectors(weights, {distance, 1}));
    }
    if (scheme.offers(Hook::kTileBias)) {
      Array<double, 3> tile({model.heads, 1, 1});
      scheme.FillTileBias(weights, distance < 0 ? at : zero, distance < 0 ? zero : at, tile);
      finite &= Finite(tile.values());
    }
    if (scheme.offers(Hook::kContextual)) {
      const Array<double, 2> vector({1, model.head_dim}), score({1, 1});
      Array<std::uint8_t, 2> visible({1, 1});
      visible(0, 0) = 1;
      Array<double, 2> bias({1, 1});
      scheme.FillContextual(
          weights,
          {0, vector, vector, score, visible, distance < 0 ? at : zero, distance < 0 ? zero : at},
          bias);
      finite &= Finite(bias.values());
    }
  }
  return finite;
}

enum class At { kFinite, kNotFinite, kError };

At TryTables(const Scheme& scheme, const Model& model, Weights weights, std::int64_t p) {
  try {
    return TablesFiniteAt(scheme, model, weights, p) ? At::kFinite : At::kNotFinite;
  } catch (const Error&) {
    return At::kError;
  }
}

// Without the claim of any length: an error from some position on, and numbers before it.
Failures CheckEnd(const Scheme& scheme, const Model& model, Weights weights) {
  std::int64_t inside = model.context - 1, outside = 2 * model.context;
  while (outside < std::int64_t{1} << 40 &&
         TryTables(scheme, model, weights, outside) != At::kError) {
    inside = outside;
    outside *= 2;
  }
  if (TryTables(scheme, model, weights, outside) != At::kError) {
    return {"has no end up to position 2^40 but does not claim any_length"};
  }
  for (std::int64_t beyond = outside; beyond < std::int64_t{1} << 40; beyond *= 2) {
    if (TryTables(scheme, model, weights, beyond) != At::kError) {
      return {"has tables at position " + std::to_string(beyond) + ", past its end"};
    }
  }
  while (outside - inside > 1) {
    const std::int64_t middle = inside + (outside - inside) / 2;
    (TryTables(scheme, model, weights, middle) == At::kError ? outside : inside) = middle;
  }
  if (TryTables(scheme, model, weights, inside) != At::kFinite) {
    return {"is not finite at its last position " + std::to_string(inside)};
  }
  try {
    TablesFiniteAt(scheme, model, weights, outside);
  } catch (const Error& error) {
    if (error.rule().find(std::to_string(outside)) != std::string::npos) return {};
    return {"its error past the end does not name position " + std::to_string(outside) + ": " +
            error.what()};
  }
  return {"gives an error at position " + std::to_string(outside) + " only sometimes"};
}

}  // namespace

Failures CheckRelative(const SchemePtr& scheme, const Model& model) {
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  const bool far = scheme->claims().any_length;
  const std::vector<std::int64_t> shifts =
      far ? std::vector<std::int64_t>{1, 1000, kFar}
          : std::vector<std::int64_t>{1, model.context / 2, model.context - 12};
  const std::int64_t length = shifts.back() + 12;
  const std::vector<double> base = WindowScores(*scheme, model, weights, 0, length);
  const auto [low, high] = std::minmax_element(base.begin(), base.end());
  double largest = 0;
  for (const std::int64_t shift : shifts) {
    const std::vector<double> moved = WindowScores(*scheme, model, weights, shift, length);
    for (std::size_t n = 0; n < base.size(); ++n) {
      KeepLargest(std::abs(moved[n] - base[n]), largest);
    }
  }
  const double part = largest / (*high - *low);
  if (!std::isfinite(part)) return {"has scores that are not finite"};
  const bool relative = part <= 1e-9;
  if (relative == scheme->claims().relative) return {};
  return {std::string(relative ? "is relative to rounding but does not claim it"
                               : "claims to be relative but is not") +
          ": a shift changes scores by " + Number(part) + " of their range"};
}

Failures CheckKeepsNorms(const SchemePtr& scheme, const Model& model) {
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  std::vector<std::int64_t> positions = {0, 1, model.context / 2, model.context - 1};
  if (scheme->claims().any_length) {
    for (std::int64_t p : {std::int64_t{1000}, std::int64_t{131071}, kFar}) positions.push_back(p);
  }
  const PositionList at(positions);
  Random random(22);
  double largest = 0;
  for (Side side : {Side::kQuery, Side::kKey}) {
    const Array<double, 3> x =
        RandomHeads({model.heads, Index(positions.size()), model.head_dim}, random);
    const Array<double, 3> y = Encode(*scheme, weights, at, side, x.view());
    for (Index h = 0; h < x.extent(0); ++h) {
      for (Index n = 0; n < x.extent(1); ++n) {
        double before = 0, after = 0;
        for (Index c = 0; c < x.extent(2); ++c) {
          before += x(h, n, c) * x(h, n, c);
          after += y(h, n, c) * y(h, n, c);
        }
        KeepLargest(std::abs(std::sqrt(after / before) - 1), largest);
      }
    }
  }
  const bool keeps = largest <= 1e-12, claims = scheme->claims().keeps_norms;
  if (claims && !keeps) {
    return {"claims to keep norms but changes them by a factor of 1 + " + Number(largest)};
  }
  // Vectors and factors inside attention change what queries and keys amount to unseen by Encode.
  const bool seen = !scheme->offers(Hook::kDistanceVectors) && !scheme->offers(Hook::kQueryScale) &&
                    !scheme->offers(Hook::kContextual);
  if (keeps && !claims && seen) return {"keeps norms but does not claim it"};
  return {};
}

Failures CheckAnyLength(const SchemePtr& scheme, const Model& model) {
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  const bool any = scheme->claims().any_length;
  std::vector<std::int64_t> positions = Steps(0, 8);
  positions.push_back(model.context - 1);
  if (any) {
    for (std::int64_t p : {std::int64_t{4096}, std::int64_t{65537}, std::int64_t{131071},
                           std::int64_t{999999}, kFar - 1, kFar, std::int64_t{1} << 24}) {
      positions.push_back(p);
    }
  }
  for (const std::int64_t p : positions) {
    const At found = TryTables(*scheme, model, weights, p);
    if (found == At::kFinite) continue;
    return {std::string(found == At::kError ? "has no table" : "has a table that is not finite") +
            " at position " + std::to_string(p)};
  }
  return any ? Failures{} : CheckEnd(*scheme, model, weights);
}

Failures CheckDecays(const SchemePtr& scheme, const Model& model) {
  const double correlation = Decay(*scheme, model);
  if (std::isnan(correlation)) return {"has scores that are not finite"};
  const bool decays = correlation < -0.5, claims = scheme->claims().decays;
  if (claims && !decays) {
    return {"claims to decay, but distance and score correlate by " + Number(correlation)};
  }
  const bool known = scheme->parts().empty() && scheme->weights().empty();
  if (decays && !claims && known) {
    return {"decays (rank correlation " + Number(correlation) + ") but does not claim it"};
  }
  return {};
}

}  // namespace sextant::conformance
