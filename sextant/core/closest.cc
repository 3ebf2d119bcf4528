// Optimal string alignment distance and the hint made from it.
#include "sextant/core/closest.h"

#include <algorithm>
#include <vector>

namespace sextant {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string Closest(std::string_view given, std::span<const std::string> names) {
  constexpr std::size_t kLongestName = 64;
  if (given.size() > kLongestName) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, given.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = EditDistance(given, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view given, std::span<const std::string> names) {
  const std::string name = Closest(given, names);
  return name.empty() ? "" : "did you mean \"" + name + "\"?";
}

std::string Join(std::span<const std::string> names, std::string_view separator) {
  std::string joined;
  for (const std::string& name : names) {
    if (!joined.empty()) joined += separator;
    joined += name;
  }
  return joined;
}

}  // namespace sextant
