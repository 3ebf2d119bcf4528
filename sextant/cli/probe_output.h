// What the probe measured, as text, JSON and a figure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sextant/cli/program.h"
#include "sextant/probe/report.h"

namespace sextant::cli {

// kFull: with curves where there are few schemes; kNumbers: scores as numbers instead of curves.
enum class ProbeForm { kFull, kNumbers };

std::string ProbeText(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings,
                      ProbeForm form, const Session& session);

// A list with an object a scheme.
nlohmann::ordered_json ProbeJson(const std::vector<ProbedScheme>& schemes,
                                 const ProbeSettings& settings);

// Curves of score by offset, one an anchor; anchors that agree to rounding share one.
std::string ProbeSvg(const std::vector<ProbedScheme>& schemes, const ProbeSettings& settings);

}  // namespace sextant::cli
