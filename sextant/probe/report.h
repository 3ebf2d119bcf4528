// Everything the probe measures on one scheme, together, and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sextant/probe/requirements.h"
#include "sextant/probe/score_probe.h"
#include "sextant/probe/uniqueness.h"
#include "sextant/probe/wavelengths.h"

namespace sextant {

struct ProbedScheme {
  std::string label;  // what the scheme is called
  SchemePtr scheme;
  ScoreProbe probe;
  std::vector<TermProbe> terms;
  RequirementReport report;
  std::vector<TurningPair> pairs;
  Uniqueness closest;
  Index compared = 0;  // positions that `closest` was found among
};

// Throws Error as ProbeScores and MeasureRequirements.
ProbedScheme Measure(std::string label, SchemePtr scheme, const ProbeSettings& settings);

// Readouts, requirements, scores [anchor][offset] of head 0, terms: an entry of `probe --json`.
nlohmann::ordered_json ToJson(const ProbedScheme& probed, const ProbeSettings& settings);

}  // namespace sextant
