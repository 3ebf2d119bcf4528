// What the literature lets one expect of a comparison, and whether this one agrees.
#pragma once

#include <string>
#include <vector>

#include "lab/report/summary.h"

namespace sextant::lab {

// Losses in nats a token. A loss that grows by less than kFlat beyond the training length is flat;
// one that grows by more than kCollapse (perplexity times 1.65) has collapsed.
inline constexpr double kFlat = 0.1;
inline constexpr double kCollapse = 0.5;

// An estimate agrees or contradicts only where its whole interval lies on one side of the limit.
enum class Verdict { kAgrees, kContradicts, kInconclusive, kNotMeasured };

const char* VerdictText(Verdict verdict);

// One number behind a verdict, about one scheme or a pair of them.
struct Evidence {
  std::string about;
  std::string number;
  Verdict verdict = Verdict::kNotMeasured;
};

// kAgrees where all evidence does, kContradicts where some does.
struct Expectation {
  std::string statement;
  std::string rule;  // when it agrees
  std::string source;
  std::vector<Evidence> evidence = {};
  Verdict verdict = Verdict::kNotMeasured;
};

// Those about schemes that are present.
std::vector<Expectation> CheckExpectations(const Results& results, const Summary& summary);

// agrees where the estimate lies below (above) the limit, contradicts where beyond it.
Verdict Below(const std::optional<Estimate>& estimate, double limit);
Verdict Above(const std::optional<Estimate>& estimate, double limit);

}  // namespace sextant::lab
