// Rounding and joining.
#include "lab/report/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sextant/plot/axis.h"

namespace sextant::lab {
namespace {

constexpr std::string_view kMinus = "\u2212";
constexpr double kHuge = 1e6;

std::string WithTrueMinus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, kMinus);
  return text;
}

// Two digits of the interval show; a number without one gets three decimals.
int DecimalsFor(const Estimate& estimate) {
  constexpr int kMost = 3;
  const double half = estimate.HasInterval() ? estimate.HalfWidth() : 0;
  if (half >= 10) return 0;
  return half >= 1 ? 1 : half >= 0.1 ? 2 : kMost;
}

}  // namespace

std::string FixedText(double number, int decimals) {
  if (!(std::abs(number) < kHuge)) return WithTrueMinus(fmt::format("{:.2e}", number));
  std::string text = fmt::format("{:.{}f}", number, decimals);
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  if (zero && text.starts_with('-')) text.erase(0, 1);
  return WithTrueMinus(std::move(text));
}

std::string SignedText(double number, int decimals) {
  const std::string text = FixedText(number, decimals);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return text.starts_with(kMinus) || zero ? text : "+" + text;
}

std::string RoundText(double number, int digits) {
  return WithTrueMinus(plot::NumberText(number, digits));
}

std::string CountText(double count) {
  if (!(std::abs(count) < 1e15)) return RoundText(count);
  std::string text = fmt::format("{:.0f}", count);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return WithTrueMinus(std::move(text));
}

std::string MultipleText(double multiple) { return RoundText(multiple) + "\u00d7"; }

std::string EstimateText(const Estimate& estimate) {
  const int decimals = DecimalsFor(estimate);
  const std::string mean = FixedText(estimate.mean, decimals);
  if (!estimate.HasInterval()) return mean;
  return fmt::format("{} \u00b1 {}", mean, FixedText(estimate.HalfWidth(), decimals));
}

std::string DifferenceText(const Estimate& difference) {
  const int decimals = DecimalsFor(difference);
  const std::string mean = SignedText(difference.mean, decimals);
  if (!difference.HasInterval()) return mean + " (one seed)";
  return fmt::format("{} [{}, {}]", mean, SignedText(difference.low, decimals),
                     SignedText(difference.high, decimals));
}

std::string Counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Quoted(std::string_view name) { return fmt::format("\u201c{}\u201d", name); }

std::string JoinNames(std::span<const std::string> names, std::size_t most) {
  const std::size_t shown = names.size() > most ? most : names.size();
  std::string text;
  for (std::size_t at = 0; at < shown; ++at) {
    const bool last = at + 1 == names.size();
    if (at > 0) text += last ? " and " : ", ";
    text += names[at];
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace sextant::lab
