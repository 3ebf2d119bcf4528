// Filling tables, and recognising slopes and buckets in a bias.
#include "sextant/probe/tables.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "sextant/core/error.h"
#include "sextant/probe/subject.h"

namespace sextant {
namespace {

constexpr double kMaxNumbers = 1 << 27;

// Sizes are estimated in double, where products of large counts cannot wrap.
void RequireSize(const Scheme& scheme, double n, double m) {
  double numbers = 0;
  if (scheme.offers(Hook::kAdditive)) numbers += n * double(scheme.model_dim());
  if (scheme.offers(Hook::kRotary)) numbers += 2 * n * double(scheme.rotary_shape().rotated_dims);
  if (scheme.offers(Hook::kDistanceBias)) numbers += m * double(scheme.bias_heads());
  if (scheme.offers(Hook::kTileBias)) numbers += n * n * double(scheme.bias_heads());
  if (numbers <= kMaxNumbers) return;
  throw Error("table",
              scheme.name() + " would fill " + std::to_string(std::int64_t(numbers)) +
                  " numbers, more than " + std::to_string(std::int64_t(kMaxNumbers)),
              "ask for fewer positions or distances");
}

void FillByPosition(const Scheme& scheme, Weights weights, const Positions& at,
                    SchemeTables& tables) {
  const Index n = at.count();
  if (scheme.offers(Hook::kAdditive)) {
    tables.rows = Array<double, 2>({n, scheme.model_dim()});
    scheme.FillAdditive(weights, at, tables.rows);
  }
  if (scheme.offers(Hook::kRotary)) {
    const Shape<2> shape{n, scheme.rotary_shape().rotated_dims / 2};
    tables.cos = tables.sin = tables.key_cos = tables.key_sin = Array<double, 2>(shape);
    scheme.FillRotary(weights, at, Side::kQuery, tables.cos, tables.sin);
    scheme.FillRotary(weights, at, Side::kKey, tables.key_cos, tables.key_sin);
    if (tables.key_cos.values() == tables.cos.values() &&
        tables.key_sin.values() == tables.sin.values()) {
      tables.key_cos = tables.key_sin = {};
    }
  }
  if (scheme.offers(Hook::kTileBias)) {
    tables.tile = Array<double, 3>({scheme.bias_heads(), n, n});
    scheme.FillTileBias(weights, at, at, tables.tile);
  }
  if (scheme.offers(Hook::kQueryScale)) {
    tables.query_scale = Array<double, 1>({n});
    scheme.FillQueryScale(weights, at, tables.query_scale);
  }
}

std::vector<double> SlopesOf(const Subject& subject) {
  constexpr std::int64_t kReach = 64;
  const Index heads = subject.scheme.bias_heads();
  Array<double, 2> bias({heads, 2 * kReach + 1});
  try {
    subject.scheme.FillDistanceBias(subject.weights, {-kReach, 2 * kReach + 1}, bias);
  } catch (const Error&) {
    return {};  // a bias that ends within the reach has no slope
  }
  std::vector<double> slopes;
  bool any = false;
  for (Index h = 0; h < heads; ++h) {
    const double slope = -bias(h, kReach - 1);
    for (std::int64_t distance = -kReach; distance <= kReach; ++distance) {
      const double linear = -slope * double(std::abs(distance));
      if (std::abs(bias(h, distance + kReach) - linear) > 1e-12 * std::abs(linear)) return {};
    }
    slopes.push_back(slope);
    any |= slope != 0;
  }
  return any ? slopes : std::vector<double>();
}

// The scheme's own part that fills the bias, if there is exactly one.
const Scheme* BiasPart(const Scheme& scheme) {
  if (scheme.parts().empty()) return &scheme;
  const Scheme* only = nullptr;
  for (const SchemePtr& part : scheme.parts()) {
    if (!part->offers(Hook::kDistanceBias)) continue;
    if (only != nullptr) return nullptr;
    only = part.get();
  }
  return only;
}

// A bias that looks numbers up shows which when the numbers are their own indices; a second filling
// with the squares tells looking up from arithmetic.
std::vector<int> BucketsOf(const Scheme& scheme, const Distances& distances) {
  const Scheme* part = BiasPart(scheme);
  if (part == nullptr) return {};
  const std::vector<WeightInfo> weights = part->weights();
  const Index heads = part->bias_heads();
  if (weights.size() != 1 || weights[0].shape.size() != 2 || weights[0].shape[1] != heads) {
    return {};
  }
  std::vector<std::vector<double>> first = ZeroWeights(*part), second = first;
  for (std::size_t i = 0; i < first[0].size(); ++i) {
    const double bucket = double(i / static_cast<std::size_t>(heads));
    first[0][i] = bucket;
    second[0][i] = bucket * bucket;
  }
  Array<double, 2> once({heads, distances.count}), squared({heads, distances.count});
  part->FillDistanceBias(first, distances, once);
  part->FillDistanceBias(second, distances, squared);
  std::vector<int> buckets;
  for (Index n = 0; n < distances.count; ++n) {
    const double bucket = once(0, n);
    for (Index h = 0; h < heads; ++h) {
      if (once(h, n) != bucket || squared(h, n) != bucket * bucket) return {};
    }
    if (!(bucket >= 0 && bucket < double(weights[0].shape[0])) || bucket != std::floor(bucket)) {
      return {};
    }
    buckets.push_back(static_cast<int>(bucket));
  }
  return buckets;
}

}  // namespace

SchemeTables FillTablesAt(const Scheme& scheme, Weights weights, const Positions& positions,
                          Distances distances) {
  RequireSize(scheme, double(positions.count()), double(distances.count));
  SchemeTables tables;
  tables.figures = scheme.Figures(positions.length);
  FillByPosition(scheme, weights, positions, tables);
  if (distances.count > 0 && scheme.offers(Hook::kDistanceBias)) {
    tables.bias = Array<double, 2>({scheme.bias_heads(), distances.count});
    scheme.FillDistanceBias(weights, distances, tables.bias);
  }
  if (distances.count > 0 && scheme.offers(Hook::kDistanceVectors)) {
    tables.vectors = scheme.FillDistanceVectors(weights, distances);
  }
  return tables;
}

SchemeTables FillTables(const Scheme& scheme, const TableRequest& request) {
  const Subject subject = MakeSubject(scheme, request.seed);
  const PositionList at(request.positions, request.length);
  SchemeTables tables = FillTablesAt(scheme, subject.weights, at, request.distances);
  tables.pairs = TurningPairs(scheme, request.seed);
  if (scheme.offers(Hook::kDistanceBias)) {
    tables.slopes = SlopesOf(subject);
    tables.buckets = BucketsOf(scheme, request.distances);
  }
  return tables;
}

}  // namespace sextant
