// The expectations as rules on intervals.
#include "lab/report/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/report/number_text.h"

namespace sextant::lab {
namespace {

constexpr double kFar = 4;             // multiples of the training length from which it is far
constexpr double kSmallGap = 0.1;      // of the loss without positions
constexpr double kLargeSpread = 0.25;  // of the probe's range
constexpr double kSameNorm = 1e-9;

constexpr const char* kPress = "Press et al. 2022 (ALiBi), table 2";
constexpr const char* kLesson = "the lesson's probe";

// A comparison with its places for finding schemes.
struct Findings {
  const Results& results;
  const Summary& summary;

  std::size_t count() const { return summary.schemes.size(); }

  // Whether a scheme consists of this one alone, with no rule that stretches its frequencies.
  bool Is(std::size_t at, const char* name) const {
    const SchemeResult& scheme = results.schemes[at];
    return scheme.parts.size() == 1 && scheme.parts[0] == name && scheme.plain_frequencies;
  }

  bool Has(std::size_t at, const char* name) const {
    return std::ranges::find(results.schemes[at].parts, name) != results.schemes[at].parts.end();
  }

  std::vector<std::size_t> All(const char* name) const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < count(); ++at) {
      if (Is(at, name)) found.push_back(at);
    }
    return found;
  }
};

Verdict Together(const std::vector<Evidence>& evidence) {
  const auto all = [&](Verdict verdict) {
    return std::ranges::all_of(evidence, [&](const Evidence& e) { return e.verdict == verdict; });
  };
  if (all(Verdict::kNotMeasured)) return Verdict::kNotMeasured;
  if (all(Verdict::kAgrees)) return Verdict::kAgrees;
  const bool contradicted =
      std::ranges::find(evidence, Verdict::kContradicts, &Evidence::verdict) != evidence.end();
  return contradicted ? Verdict::kContradicts : Verdict::kInconclusive;
}

void Add(std::vector<Expectation>& list, Expectation expectation) {
  if (expectation.evidence.empty()) return;
  expectation.verdict = Together(expectation.evidence);
  list.push_back(std::move(expectation));
}

std::string NumberOf(const std::optional<Estimate>& estimate) {
  return estimate ? DifferenceText(*estimate) : "no finished pair of runs";
}

void AddInLength(const Findings& findings, std::vector<Expectation>& list) {
  const std::vector<std::size_t> without = findings.All("none");
  if (without.empty()) return;
  const std::size_t none = without.front();
  Expectation lower{"At the training length the loss is lower with positions than without.",
                    "the paired difference to the scheme without positions lies below 0",
                    "the lecture's experiment; Haviv et al. 2022"};
  Expectation small{"That gap is small.",
                    fmt::format("the difference lies within {:.0f} % of the loss without positions",
                                100 * kSmallGap),
                    "the lecture's experiment"};
  const std::optional<Estimate>& loss = findings.summary.schemes[none].loss;
  for (std::size_t at = 0; at < findings.count(); ++at) {
    if (findings.Is(at, "none")) continue;
    const std::string& name = findings.summary.schemes[at].name;
    const std::optional<Estimate> gap =
        LossDifference(findings.results.schemes[at], findings.results.schemes[none]);
    lower.evidence.push_back({name, NumberOf(gap), Below(gap, 0)});
    if (!gap || !loss) continue;
    const double limit = kSmallGap * loss->mean;
    const Verdict from_below = Above(gap, -limit), from_above = Below(gap, limit);
    const bool outside = from_below == Verdict::kContradicts || from_above == Verdict::kContradicts;
    const bool inside = from_below == Verdict::kAgrees && from_above == Verdict::kAgrees;
    small.evidence.push_back({name,
                              fmt::format("{} of {}", NumberOf(gap), FixedText(loss->mean, 3)),
                              inside    ? Verdict::kAgrees
                              : outside ? Verdict::kContradicts
                                        : Verdict::kInconclusive});
  }
  Add(list, std::move(lower));
  Add(list, std::move(small));
}

void AddTableEnds(const Findings& findings, std::vector<Expectation>& list) {
  Expectation ends{"A table of learned positions has nothing for a position past its end.",
                   "no length beyond the training length has a loss",
                   "the lecture and the course page"};
  for (std::size_t at = 0; at < findings.count(); ++at) {
    const SchemeSummary& scheme = findings.summary.schemes[at];
    if (!findings.Has(at, "learned") || scheme.seeds.empty()) continue;
    Evidence evidence{scheme.name, "no longer length was tried", Verdict::kNotMeasured};
    for (const LengthSummary& length : scheme.lengths) {
      if (length.multiple <= 1 || evidence.verdict == Verdict::kContradicts) continue;
      evidence.verdict = length.loss ? Verdict::kContradicts : Verdict::kAgrees;
      evidence.number = length.loss ? fmt::format("a loss of {} at {} positions",
                                                  EstimateText(*length.loss), length.length)
                                    : fmt::format("cannot run at {} positions", length.length);
    }
    ends.evidence.push_back(std::move(evidence));
  }
  Add(list, std::move(ends));
}

// Evidence about the growth of the loss at the longest length, a protocol each.
void JudgeGrowth(const Findings& findings, const char* name,
                 Verdict (*side)(const std::optional<Estimate>&, double), double limit,
                 Expectation& expectation) {
  const double multiple = LongestMultiple(findings.summary);
  for (std::size_t at : findings.All(name)) {
    const SchemeSummary& scheme = findings.summary.schemes[at];
    if (scheme.seeds.empty()) continue;
    for (const std::string& protocol : Protocols(findings.summary)) {
      const std::string about =
          fmt::format("{}, {} at {}", scheme.name, protocol, MultipleText(multiple));
      const LengthSummary* length = FindLength(scheme, protocol, multiple);
      if (multiple < kFar) {
        expectation.evidence.push_back(
            {about, "the longest length is too short to tell", Verdict::kNotMeasured});
      } else if (!length || !length->growth) {
        expectation.evidence.push_back({about, "not measured", Verdict::kNotMeasured});
      } else {
        expectation.evidence.push_back(
            {about, DifferenceText(*length->growth), side(length->growth, limit)});
      }
    }
  }
}

void AddGrowth(const Findings& findings, std::vector<Expectation>& list) {
  Expectation collapse{
      "Sinusoidal rows collapse far beyond the training length.",
      fmt::format("the loss grows by more than {} from 1\u00d7 to the longest length", kCollapse),
      kPress};
  JudgeGrowth(findings, "sinusoidal", Above, kCollapse, collapse);
  Add(list, std::move(collapse));
  Expectation degrade{
      "RoPE without a rule for longer contexts degrades there.",
      fmt::format("the loss grows by more than {} from 1\u00d7 to the longest length", kFlat),
      kPress};
  JudgeGrowth(findings, "rope", Above, kFlat, degrade);
  Add(list, std::move(degrade));
  Expectation flat{
      "ALiBi's and T5's biases stay flat.",
      fmt::format("the loss grows by less than {} from 1\u00d7 to the longest length, or falls",
                  kFlat),
      kPress};
  JudgeGrowth(findings, "alibi", Below, kFlat, flat);
  JudgeGrowth(findings, "t5", Below, kFlat, flat);
  Add(list, std::move(flat));
}

void JudgeOrder(const Findings& findings, const char* worse, const char* better,
                Expectation& order) {
  const double multiple = LongestMultiple(findings.summary);
  if (multiple < kFar) return;
  for (std::size_t high : findings.All(worse)) {
    for (std::size_t low : findings.All(better)) {
      const SchemeResult &above = findings.results.schemes[high],
                         &below = findings.results.schemes[low];
      for (const std::string& protocol : Protocols(findings.summary)) {
        const std::optional<Estimate> gap = LossDifference(above, below, protocol, multiple);
        if (!gap) continue;
        order.evidence.push_back({fmt::format("{} \u2212 {}, {} at {}", above.name, below.name,
                                              protocol, MultipleText(multiple)),
                                  DifferenceText(*gap), Above(gap, 0)});
      }
    }
  }
}

void AddOrder(const Findings& findings, std::vector<Expectation>& list) {
  Expectation order{
      "Far beyond the training length sinusoidal is worse than RoPE, and RoPE "
      "than T5 and ALiBi.",
      "the paired difference at the longest length lies above 0", kPress};
  JudgeOrder(findings, "sinusoidal", "rope", order);
  JudgeOrder(findings, "rope", "t5", order);
  JudgeOrder(findings, "rope", "alibi", order);
  Add(list, std::move(order));
}

// The probe is computed, not sampled, so its numbers need no interval.
template <class Judge>
void JudgeProbe(const Findings& findings, const char* name, Judge judge, Expectation& expectation) {
  for (std::size_t at : findings.All(name)) {
    const SchemeResult& scheme = findings.results.schemes[at];
    if (!scheme.probe) continue;
    const ProbeResult& probe = *scheme.probe;
    if (!probe.range || !probe.anchor_spread || !probe.norm_ratio) continue;
    expectation.evidence.push_back(
        {scheme.name,
         fmt::format("range {}, anchor spread {}, norm ratio {}", RoundText(*probe.range),
                     RoundText(*probe.anchor_spread), RoundText(*probe.norm_ratio, 6)),
         judge(probe) ? Verdict::kAgrees : Verdict::kContradicts});
  }
}

void AddProbe(const Findings& findings, std::vector<Expectation>& list) {
  Expectation blind{"Without positions the score of two vectors does not depend on where they are.",
                    "range and anchor spread are exactly 0 and the norm is kept", kLesson};
  JudgeProbe(
      findings, "none",
      [](const ProbeResult& probe) {
        return *probe.range == 0 && *probe.anchor_spread == 0 && *probe.norm_ratio == 1;
      },
      blind);
  Add(list, std::move(blind));
  Expectation relative{"RoPE's score depends on the offset alone, and a query keeps its length.",
                       "the anchor spread is at rounding level and the norm ratio is 1", kLesson};
  JudgeProbe(
      findings, "rope",
      [](const ProbeResult& probe) {
        return probe.relative.value_or(false) && std::abs(*probe.norm_ratio - 1) <= kSameNorm;
      },
      relative);
  Add(list, std::move(relative));
  Expectation cross{"Sinusoidal scores depend on where the pair stands, through the cross terms.",
                    fmt::format("the anchor spread is more than {:.0f} % of the range (two thirds "
                                "in the lesson)",
                                100 * kLargeSpread),
                    kLesson};
  JudgeProbe(
      findings, "sinusoidal",
      [](const ProbeResult& probe) {
        return !probe.relative.value_or(false) &&
               *probe.anchor_spread > kLargeSpread * *probe.range;
      },
      cross);
  Add(list, std::move(cross));
}

}  // namespace

const char* VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
      return "agrees";
    case Verdict::kContradicts:
      return "contradicts";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kNotMeasured:
      break;
  }
  return "not measured";
}

std::vector<Expectation> CheckExpectations(const Results& results, const Summary& summary) {
  const Findings findings{results, summary};
  std::vector<Expectation> list;
  AddInLength(findings, list);
  AddTableEnds(findings, list);
  AddGrowth(findings, list);
  AddOrder(findings, list);
  AddProbe(findings, list);
  return list;
}

Verdict Below(const std::optional<Estimate>& estimate, double limit) {
  if (!estimate) return Verdict::kNotMeasured;
  if (!estimate->HasInterval()) return Verdict::kInconclusive;
  if (estimate->high < limit) return Verdict::kAgrees;
  return estimate->low > limit ? Verdict::kContradicts : Verdict::kInconclusive;
}

Verdict Above(const std::optional<Estimate>& estimate, double limit) {
  const Verdict below = Below(estimate, limit);
  if (below == Verdict::kAgrees) return Verdict::kContradicts;
  return below == Verdict::kContradicts ? Verdict::kAgrees : below;
}

}  // namespace sextant::lab
