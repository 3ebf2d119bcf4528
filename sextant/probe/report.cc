// Measuring a scheme and writing it down.
#include "sextant/probe/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;
constexpr Index kPositionsCompared = 100;

Json ByAnchor(View<const double, 2> scores) {
  Json json = Json::array();
  for (Index a = 0; a < scores.extent(0); ++a) {
    const auto row = scores[a].span();
    json.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return json;
}

Json RequirementsJson(const RequirementReport& report) {
  Json json;
  for (const Requirement& requirement : report.requirements) {
    json[requirement.name] = {{"holds", requirement.holds},
                              {"number", requirement.number},
                              {"meaning", requirement.meaning}};
  }
  return json;
}

Json UniquenessJson(const ProbedScheme& probed) {
  return {{"positions", probed.compared},
          {"smallest_distance", probed.closest.smallest_distance},
          {"pair", {probed.closest.first, probed.closest.second}},
          {"measured_on",
           probed.closest.measured_on == Fingerprint::kEncodedKey ? "encoded_key" : "scores"}};
}

}  // namespace

ProbedScheme Measure(std::string label, SchemePtr scheme, const ProbeSettings& settings) {
  ProbedScheme probed;
  probed.label = std::move(label);
  probed.probe = ProbeScores(*scheme, settings);
  probed.terms = ProbeTerms(*scheme, settings);
  probed.report = MeasureRequirements(*scheme, settings);
  probed.pairs = TurningPairs(*scheme, settings.seed);
  const double served = probed.report.requirements[1].number;
  probed.compared = static_cast<Index>(std::min(served + 1, double(kPositionsCompared)));
  if (probed.compared >= 2) probed.closest = ClosestPositions(*scheme, settings, probed.compared);
  probed.scheme = std::move(scheme);
  return probed;
}

Json ToJson(const ProbedScheme& probed, const ProbeSettings& settings) {
  std::vector<Index> offsets;
  for (Index o = 0; o < settings.offsets; ++o) offsets.push_back(o);
  const ScoreProbe& probe = probed.probe;
  Json json = {{"scheme", probed.label},
               {"spec", ToJson(SpecOf(*probed.scheme))},
               {"range", probe.range},
               {"anchor_spread", probe.anchor_spread},
               {"norm_ratio", probe.norm_ratio},
               {"relative", probe.relative},
               {"requirements", RequirementsJson(probed.report)},
               {"note", probed.report.note},
               {"head_dim", settings.head_dim},
               {"heads", probe.scores.extent(0)},
               {"seed", settings.seed},
               {"offsets", offsets},
               {"anchors", settings.anchors},
               {"scores", ByAnchor(probe.scores.view()[0])}};
  for (const TermProbe& term : probed.terms) {
    json["terms"][term.name] = {{"anchor_spread", term.anchor_spread},
                                {"relative", term.relative},
                                {"scores", ByAnchor(term.scores.view())}};
  }
  for (const TurningPair& pair : probed.pairs) json["wavelengths"].push_back(pair.wavelength);
  if (probed.compared >= 2) json["uniqueness"] = UniquenessJson(probed);
  return json;
}

}  // namespace sextant
