// Scores by offset and their readouts.
#include "sextant/probe/score_probe.h"

#include <algorithm>
#include <cmath>

#include "sextant/attention/encode.h"
#include "sextant/attention/reference.h"

namespace sextant {
namespace {

constexpr double kRounding = 1e-12;

std::int64_t LengthOf(const ProbeSettings& settings) {
  return *std::max_element(settings.anchors.begin(), settings.anchors.end()) + settings.offsets;
}

double Norm(std::span<const double> vector) {
  double sum = 0;
  for (double value : vector) sum += value * value;
  return std::sqrt(sum);
}

struct Readout {
  double range = 0, anchor_spread = 0;
  bool relative = false;
};

// Of scores [heads, anchors, offsets].
Readout ReadOut(View<const double, 3> scores) {
  Readout readout;
  double largest = 0;
  for (Index h = 0; h < scores.extent(0); ++h) {
    double lowest = scores(h, 0, 0), highest = lowest;
    for (Index o = 0; o < scores.extent(2); ++o) {
      double low = scores(h, 0, o), high = low;
      for (Index a = 1; a < scores.extent(1); ++a) {
        low = std::min(low, scores(h, a, o));
        high = std::max(high, scores(h, a, o));
      }
      readout.anchor_spread = std::max(readout.anchor_spread, high - low);
      lowest = std::min(lowest, low);
      highest = std::max(highest, high);
    }
    readout.range = std::max(readout.range, highest - lowest);
    largest = std::max({largest, std::abs(lowest), std::abs(highest)});
  }
  readout.relative = readout.anchor_spread <= kRounding * std::max(readout.range, largest);
  return readout;
}

// |encoded| / |query| farthest from 1, over anchors and heads.
double NormRatio(const Subject& subject, const ProbeSettings& settings,
                 const std::vector<double>& query) {
  const Index anchors = static_cast<Index>(settings.anchors.size());
  const Array<double, 3> queries = RepeatVector(query, subject.heads, anchors);
  const PositionList positions(settings.anchors, LengthOf(settings));
  const Array<double, 3> encoded =
      Encode(subject.scheme, subject.weights, positions, Side::kQuery, queries);
  const double before = Norm(query);
  double farthest = 1;
  for (Index h = 0; h < subject.heads; ++h) {
    for (Index a = 0; a < anchors; ++a) {
      const double ratio = Norm(encoded.view()[h][a].span()) / before;
      if (std::abs(ratio - 1) > std::abs(farthest - 1)) farthest = ratio;
    }
  }
  return farthest;
}

}  // namespace

ScoreProbe ProbeScores(const Scheme& scheme, const ProbeSettings& settings) {
  CheckSettings(settings);
  const Subject subject = MakeSubject(scheme, settings.seed);
  const std::vector<double> query = SeededQuery(settings.head_dim, settings.seed);
  const std::vector<double> key = SeededKey(settings.head_dim, settings.seed);
  const Index anchors = static_cast<Index>(settings.anchors.size());
  ScoreProbe probe;
  probe.scores = Array<double, 3>({subject.heads, anchors, settings.offsets});
  for (Index a = 0; a < anchors; ++a) {
    const std::int64_t anchor = settings.anchors[static_cast<std::size_t>(a)];
    const Array<double, 2> scores = ScoresFrom(
        subject, query, anchor, key, Consecutive(anchor, settings.offsets), LengthOf(settings));
    for (Index h = 0; h < subject.heads; ++h) {
      for (Index o = 0; o < settings.offsets; ++o) probe.scores(h, a, o) = scores(h, o);
    }
  }
  const Readout readout = ReadOut(probe.scores);
  probe.range = readout.range;
  probe.anchor_spread = readout.anchor_spread;
  probe.relative = readout.relative;
  probe.norm_ratio = NormRatio(subject, settings, query);
  return probe;
}

std::vector<TermProbe> ProbeTerms(const Scheme& scheme, const ProbeSettings& settings) {
  CheckSettings(settings);
  if (!scheme.offers(Hook::kAdditive) || scheme.offers(Hook::kRotary)) return {};
  const Subject subject = MakeSubject(scheme, settings.seed);
  const Array<double, 3> query =
      RepeatVector(SeededQuery(settings.head_dim, settings.seed), subject.heads, 1);
  const Array<double, 3> keys =
      RepeatVector(SeededKey(settings.head_dim, settings.seed), subject.heads, settings.offsets);
  const Index anchors = static_cast<Index>(settings.anchors.size());
  std::vector<TermProbe> terms;
  for (const char* name :
       {"content_content", "content_position", "position_content", "position_position"}) {
    terms.push_back({name, Array<double, 2>({anchors, settings.offsets})});
  }
  for (Index a = 0; a < anchors; ++a) {
    const std::int64_t anchor = settings.anchors[static_cast<std::size_t>(a)];
    const PositionList at_query(std::span<const std::int64_t>(&anchor, 1), LengthOf(settings));
    const PositionList at_keys(Consecutive(anchor, settings.offsets), LengthOf(settings));
    AttentionInput input;
    input.query = query;
    input.key = input.value = keys;
    input.query_positions = at_query;
    input.key_positions = at_keys;
    const ScoreTerms parts = AdditiveScoreTerms(scheme, subject.weights, input);
    for (Index o = 0; o < settings.offsets; ++o) {
      terms[0].scores(a, o) = parts.content_content(0, 0, o);
      terms[1].scores(a, o) = parts.content_position(0, 0, o);
      terms[2].scores(a, o) = parts.position_content(0, 0, o);
      terms[3].scores(a, o) = parts.position_position(0, 0, o);
    }
  }
  for (TermProbe& term : terms) {
    const Readout readout =
        ReadOut(View<const double, 3>(term.scores.values().data(), {1, anchors, settings.offsets}));
    term.anchor_spread = readout.anchor_spread;
    term.relative = readout.relative;
  }
  return terms;
}

}  // namespace sextant
