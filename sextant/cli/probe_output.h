// What the probe measured, as text, JSON and a figure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sextant/cli/program.h"
#include "sextant/probe/requirements.h"
#include "sextant/probe/score_probe.h"
#include "sextant/probe/uniqueness.h"
#include "sextant/probe/wavelengths.h"

namespace sextant::cli {

// Everything measured on one scheme.
struct ProbedScheme {
  std::string label;  // the scheme as the user wrote it
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

// kFull: with curves where there are few schemes; kNumbers: scores as numbers instead of curves.
enum class ProbeForm { kFull, kNumbers };

std::string ProbeText(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings,
                      ProbeForm form, const Session& session);

// An object a scheme: readouts, requirements, scores [anchor][offset] of head 0, terms.
nlohmann::ordered_json ProbeJson(const std::vector<ProbedScheme>& schemes,
                                 const ProbeSettings& settings);

// Curves of score by offset, one an anchor; anchors that agree to rounding share one.
std::string ProbeSvg(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings);

}  // namespace sextant::cli
