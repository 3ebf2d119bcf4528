// Seeded subjects and the scores of one query.
#include "sextant/probe/subject.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "sextant/attention/reference.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr Index kMaxWeightNumbers = Index{1} << 27;
constexpr std::int64_t kMaxAnchor = std::int64_t{1} << 40;

// Purposes of the streams a seed is split into.
constexpr std::uint64_t kWeights = 1, kQueries = 1000, kKeys = 2000;

std::vector<double> NormalVector(Index size, std::uint64_t seed, std::uint64_t purpose) {
  Random random = Random::For(seed, purpose);
  std::vector<double> vector(static_cast<std::size_t>(size));
  for (double& value : vector) value = random.Normal();
  return vector;
}

void RequireWithin(const char* what, std::int64_t got, std::int64_t minimum, std::int64_t maximum) {
  if (got >= minimum && got <= maximum) return;
  throw Error("probe", std::string(what) + " must be a whole number from " +
                           std::to_string(minimum) + " to " + std::to_string(maximum) + ", got " +
                           std::to_string(got));
}

Index HeadsOf(const Scheme& scheme, Weights weights) {
  if (scheme.offers(Hook::kDistanceBias) || scheme.offers(Hook::kTileBias)) {
    return scheme.bias_heads();
  }
  Index heads = 1;
  if (scheme.offers(Hook::kDistanceVectors)) {
    const DistanceVectorTables tables = scheme.FillDistanceVectors(weights, {0, 1});
    for (const auto* vectors : {&tables.key, &tables.query, &tables.value}) {
      heads = std::max(heads, vectors->extent(0));
    }
    heads = std::max({heads, tables.content_bias.extent(0), tables.position_bias.extent(0)});
  }
  return heads;
}

}  // namespace

void CheckSettings(const ProbeSettings& settings) {
  RequireWithin("head_dim", settings.head_dim, 1, 4096);
  RequireWithin("offsets", settings.offsets, 1, 4096);
  RequireWithin("the number of anchors", static_cast<std::int64_t>(settings.anchors.size()), 1, 64);
  for (std::int64_t anchor : settings.anchors) RequireWithin("an anchor", anchor, 0, kMaxAnchor);
}

ModelShape ProbeShape(Index head_dim) { return {{"model_dim", head_dim}, {"head_dim", head_dim}}; }

Subject MakeSubject(const Scheme& scheme, std::uint64_t seed) {
  Index numbers = 0;
  for (const WeightInfo& weight : scheme.weights()) numbers += weight.elements();
  if (numbers > kMaxWeightNumbers) {
    throw Error(scheme.name(), "must have at most " + std::to_string(kMaxWeightNumbers) +
                                   " trainable numbers to be measured, got " +
                                   std::to_string(numbers));
  }
  Random random = Random::For(seed, kWeights);
  Subject subject{scheme, scheme.InitialWeights(random)};
  subject.heads = HeadsOf(scheme, subject.weights);
  return subject;
}

std::vector<double> SeededQuery(Index head_dim, std::uint64_t seed, std::uint64_t index) {
  return NormalVector(head_dim, seed, kQueries + index);
}

std::vector<double> SeededKey(Index head_dim, std::uint64_t seed, std::uint64_t index) {
  return NormalVector(head_dim, seed, kKeys + index);
}

Array<double, 2> ScoresFrom(const Subject& subject, std::span<const double> query,
                            std::int64_t query_position, std::span<const double> key,
                            std::span<const std::int64_t> key_positions, std::int64_t length) {
  const Index keys = static_cast<Index>(key_positions.size());
  const Array<double, 3> queries = RepeatVector(query, subject.heads, 1);
  const Array<double, 3> repeated = RepeatVector(key, subject.heads, keys);
  const PositionList at_query(std::span<const std::int64_t>(&query_position, 1), length);
  const PositionList at_keys(key_positions, length);
  AttentionInput input;
  input.query = queries;
  input.key = input.value = repeated;
  input.query_positions = at_query;
  input.key_positions = at_keys;
  const AttentionOutput output = ReferenceAttention(subject.scheme, subject.weights, input);
  Array<double, 2> scores({subject.heads, keys});
  scores.values() = output.scores.values();
  return scores;
}

Array<double, 3> RepeatVector(std::span<const double> vector, Index heads, Index count) {
  Array<double, 3> repeated({heads, count, static_cast<Index>(vector.size())});
  auto to = repeated.values().begin();
  for (Index n = 0; n < heads * count; ++n) to = std::copy(vector.begin(), vector.end(), to);
  return repeated;
}

std::vector<std::int64_t> Consecutive(std::int64_t first, Index count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace sextant
