// The four requirements as measurements.
#include "sextant/probe/requirements.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sextant/core/error.h"
#include "sextant/probe/uniqueness.h"

namespace sextant {
namespace {

constexpr std::int64_t kFarthestPosition = std::int64_t{1} << 20;
constexpr std::int64_t kFarthestDistance = 1024;
constexpr Index kContents = 4, kUnitContents = 16;
constexpr double kApart = 1e-9, kMostOfContent = 2, kWeakestDecay = -0.5, kTie = 1e-12;

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

template <std::size_t rank>
bool Finite(const Array<double, rank>& table) {
  return std::all_of(table.values().begin(), table.values().end(),
                     [](double value) { return std::isfinite(value); });
}

bool AbsoluteTablesServe(const Subject& subject, std::int64_t position) {
  const Scheme& scheme = subject.scheme;
  const PositionList at = PositionList::Range(position, 1);
  const PositionList origin = PositionList::Range(0, 1);
  bool finite = true;
  if (scheme.offers(Hook::kAdditive)) {
    Array<double, 2> rows({1, scheme.model_dim()});
    scheme.FillAdditive(subject.weights, at, rows);
    finite &= Finite(rows);
  }
  if (scheme.offers(Hook::kRotary)) {
    const Shape<2> shape{1, scheme.rotary_shape().rotated_dims / 2};
    for (Side side : {Side::kQuery, Side::kKey}) {
      Array<double, 2> cos(shape), sin(shape);
      scheme.FillRotary(subject.weights, at, side, cos, sin);
      finite &= Finite(cos) && Finite(sin);
    }
  }
  if (scheme.offers(Hook::kTileBias)) {
    Array<double, 3> bias({scheme.bias_heads(), 1, 1});
    scheme.FillTileBias(subject.weights, at, origin, bias);
    finite &= Finite(bias);
    scheme.FillTileBias(subject.weights, origin, at, bias);
    finite &= Finite(bias);
  }
  if (scheme.offers(Hook::kQueryScale)) {
    Array<double, 1> scale({1});
    scheme.FillQueryScale(subject.weights, at, scale);
    finite &= Finite(scale);
  }
  return finite;
}

bool DistanceTablesServe(const Subject& subject, std::int64_t distance) {
  const Scheme& scheme = subject.scheme;
  bool finite = true;
  if (scheme.offers(Hook::kDistanceBias)) {
    Array<double, 2> bias({scheme.bias_heads(), 1});
    scheme.FillDistanceBias(subject.weights, {distance, 1}, bias);
    finite &= Finite(bias);
  }
  if (scheme.offers(Hook::kDistanceVectors)) {
    const DistanceVectorTables tables = scheme.FillDistanceVectors(subject.weights, {distance, 1});
    finite &= Finite(tables.key) && Finite(tables.query) && Finite(tables.value);
  }
  return finite;
}

// A contextual bias has no table: it is asked for the one score.
bool ContextServes(const Subject& subject, Index head_dim, std::int64_t query, std::int64_t key) {
  if (!subject.scheme.offers(Hook::kContextual)) return true;
  const std::vector<double> vector = SeededQuery(head_dim, 0);
  return Finite(
      ScoresFrom(subject, vector, query, vector, Consecutive(key, 1), std::max(query, key) + 1));
}

bool Serves(const Subject& subject, Index head_dim, std::int64_t position) {
  try {
    return AbsoluteTablesServe(subject, position) && DistanceTablesServe(subject, position) &&
           DistanceTablesServe(subject, -position) &&
           ContextServes(subject, head_dim, position, 0) &&
           ContextServes(subject, head_dim, 0, position);
  } catch (const Error&) {
    return false;
  }
}

Requirement TellsApart(const Subject& subject, const ProbeSettings& settings) {
  const Array<double, 2> fingerprints =
      ScoreFingerprints(subject, settings, settings.offsets, settings.offsets - 1, kContents);
  const auto alike = [&](Index i, Index j) {
    for (Index c = 0; c < fingerprints.extent(1); ++c) {
      if (std::abs(fingerprints(i, c) - fingerprints(j, c)) > kApart) return false;
    }
    return true;
  };
  std::vector<Index> apart;
  for (Index p = 0; p < settings.offsets; ++p) {
    if (std::none_of(apart.begin(), apart.end(), [&](Index q) { return alike(p, q); })) {
      apart.push_back(p);
    }
  }
  const std::string all = std::to_string(settings.offsets);
  return {"tells_apart", static_cast<Index>(apart.size()) == settings.offsets, double(apart.size()),
          "of " + all + " keys, told apart by the query after them"};
}

Requirement AnyLength(std::int64_t served) {
  return {"any_length", served >= kFarthestPosition, double(served),
          served >= kFarthestPosition ? "the largest position tried"
                                      : "the largest position it has a value for"};
}

// The largest |score| over distances 0 .. farthest either way, over what content can reach.
Requirement Bounded(const Subject& subject, const ProbeSettings& settings, std::int64_t served) {
  const std::int64_t farthest = std::clamp<std::int64_t>(served, 0, kFarthestDistance);
  const std::vector<std::int64_t> keys = Consecutive(0, farthest + 1);
  double most = 0;
  for (std::uint64_t c = 0; c < std::uint64_t{kContents}; ++c) {
    const std::vector<double> query = SeededQuery(settings.head_dim, settings.seed, c);
    const std::vector<double> key = SeededKey(settings.head_dim, settings.seed, c);
    const double content = std::sqrt(Dot(query, query) * Dot(key, key) / double(settings.head_dim));
    for (std::int64_t at : {std::int64_t{0}, farthest}) {
      const Array<double, 2> scores = ScoresFrom(subject, query, at, key, keys, farthest + 1);
      for (double score : scores.values()) most = std::max(most, std::abs(score) / content);
    }
  }
  return {"bounded", most <= kMostOfContent, most,
          "times what content alone can reach, up to distance " + std::to_string(farthest)};
}

Requirement Decays(const Subject& subject, const ProbeSettings& settings) {
  std::vector<double> mean(static_cast<std::size_t>(settings.offsets));
  const std::int64_t length =
      *std::max_element(settings.anchors.begin(), settings.anchors.end()) + settings.offsets;
  for (std::uint64_t c = 0; c < std::uint64_t{kUnitContents}; ++c) {
    std::vector<double> unit = SeededQuery(settings.head_dim, settings.seed, c);
    const double norm = std::sqrt(Dot(unit, unit));
    for (double& value : unit) value /= norm;
    for (std::int64_t anchor : settings.anchors) {
      const Array<double, 2> scores =
          ScoresFrom(subject, unit, anchor, unit, Consecutive(anchor, settings.offsets), length);
      for (Index h = 0; h < subject.heads; ++h) {
        for (Index o = 0; o < settings.offsets; ++o) {
          mean[static_cast<std::size_t>(o)] += scores(h, o);
        }
      }
    }
  }
  const double correlation = RankCorrelation(mean);
  return {"decays", correlation <= kWeakestDecay, correlation,
          "rank correlation of offset and score of equal vectors"};
}

}  // namespace

std::int64_t LargestPosition(const Subject& subject, Index head_dim) {
  if (Serves(subject, head_dim, kFarthestPosition)) return kFarthestPosition;
  if (!Serves(subject, head_dim, 0)) return -1;
  std::int64_t served = 0, beyond = kFarthestPosition;
  while (beyond - served > 1) {
    const std::int64_t middle = served + (beyond - served) / 2;
    (Serves(subject, head_dim, middle) ? served : beyond) = middle;
  }
  return served;
}

double RankCorrelation(std::span<const double> values) {
  const std::size_t count = values.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  std::vector<double> ranks(count);
  for (std::size_t first = 0; first < count;) {
    std::size_t last = first;
    while (last + 1 < count && values[order[last + 1]] - values[order[last]] <= kTie * largest) {
      ++last;
    }
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = double(first + last) / 2;
    first = last + 1;
  }
  const double middle = (double(count) - 1) / 2;
  double product = 0, spread = 0, rank_spread = 0;
  for (std::size_t i = 0; i < count; ++i) {
    product += (double(i) - middle) * (ranks[i] - middle);
    spread += (double(i) - middle) * (double(i) - middle);
    rank_spread += (ranks[i] - middle) * (ranks[i] - middle);
  }
  return rank_spread == 0 ? 0 : product / std::sqrt(spread * rank_spread);
}

RequirementReport MeasureRequirements(const Scheme& scheme, const ProbeSettings& settings) {
  CheckSettings(settings);
  const Subject subject = MakeSubject(scheme, settings.seed);
  const std::int64_t served = LargestPosition(subject, settings.head_dim);
  RequirementReport report;
  report.requirements = {TellsApart(subject, settings), AnyLength(served),
                         Bounded(subject, settings, served), Decays(subject, settings)};
  if (!subject.weights.empty()) {
    report.note = "learned weights have their initial values, drawn from seed " +
                  std::to_string(settings.seed);
  }
  return report;
}

}  // namespace sextant
