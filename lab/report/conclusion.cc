// Clauses about the training length and about the longest one.
#include "lab/report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/report/expectations.h"
#include "lab/report/number_text.h"

namespace sextant::lab {
namespace {

constexpr std::size_t kMostNames = 4;

std::string NothingFinished(const Summary& summary) {
  if (summary.unfinished + summary.failed == 0) return "There are no runs to compare.";
  return fmt::format(
      "No run has finished yet ({} unfinished, {} failed), so there is nothing to "
      "compare.",
      summary.unfinished, summary.failed);
}

// Whom the best scheme is told apart from.
std::string RankClause(const Summary& summary) {
  const Estimate& best = *summary.schemes[*summary.best].loss;
  const auto compared = std::ranges::count_if(
      summary.schemes, [](const SchemeSummary& scheme) { return scheme.loss.has_value(); });
  if (compared == 1) return "";
  if (best.count == 1) return " in a single seed, which has no interval and so gives no ranking";
  if (summary.level_with_best.empty()) {
    return ", lower than every other scheme in pairs of the same seed";
  }
  std::vector<std::string> names;
  for (std::size_t at : summary.level_with_best) names.push_back(summary.schemes[at].name);
  return fmt::format(", not told apart from {} by {}", JoinNames(names, kMostNames),
                     Counted(best.count, "seed"));
}

std::string LengthClause(const Summary& summary) {
  const double multiple = LongestMultiple(summary);
  if (multiple <= 1) return "";
  std::vector<std::string> flat, worse, unclear, cannot;
  for (const SchemeSummary& scheme : summary.schemes) {
    const LengthSummary* length = FindLength(scheme, kNonOverlapping, multiple);
    if (!length) continue;
    const Verdict stays = Below(length->growth, kFlat);
    if (!length->loss) {
      if (!length->cannot.empty()) cannot.push_back(scheme.name);
    } else if (stays == Verdict::kAgrees) {
      flat.push_back(scheme.name);
    } else if (stays == Verdict::kContradicts) {
      worse.push_back(fmt::format("{} ({})", scheme.name, SignedText(length->growth->mean, 2)));
    } else {
      unclear.push_back(scheme.name);
    }
  }
  std::vector<std::string> clauses;
  const auto add = [&](const char* verb, const std::vector<std::string>& names) {
    if (!names.empty()) clauses.push_back(fmt::format("{} {}", verb, JoinNames(names, kMostNames)));
  };
  if (flat.empty() && worse.empty() && !unclear.empty()) {
    clauses.push_back("is undecided throughout");
    unclear.clear();
  }
  const std::string limit = FixedText(kFlat, 1);
  add(("grows by less than " + limit + " for").c_str(), flat);
  add(("grows by more than " + limit + " for").c_str(), worse);
  add("is undecided for", unclear);
  std::string text;
  if (!clauses.empty()) {
    text = fmt::format("; at {} that length, in windows that do not overlap, the loss {}",
                       MultipleText(multiple), fmt::join(clauses, ", "));
  }
  if (!cannot.empty()) {
    text +=
        fmt::format("; {} cannot run at {}", JoinNames(cannot, kMostNames), MultipleText(multiple));
  }
  return text;
}

}  // namespace

std::string Conclude(const Summary& summary) {
  if (summary.finished == 0) return NothingFinished(summary);
  if (!summary.best) return "The finished runs hold no held-out loss at the training length.";
  const SchemeSummary& best = summary.schemes[*summary.best];
  return fmt::format("Lowest held-out loss at the training length: {} {}{}{}.", best.name,
                     EstimateText(*best.loss), RankClause(summary), LengthClause(summary));
}

}  // namespace sextant::lab
