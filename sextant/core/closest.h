// "Did you mean": the known name closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sextant {

// The name with the fewest insertions, deletions, substitutions and swaps of neighbours, or "" when
// even the best needs more of them than a third of the letters given (one is always allowed). Ties
// go to the earlier name.
std::string Closest(std::string_view given, std::span<const std::string> names);

// `did you mean "rope"?`, or "" when nothing is close.
std::string DidYouMean(std::string_view given, std::span<const std::string> names);

// "a, b, c".
std::string Join(std::span<const std::string> names, std::string_view separator = ", ");

}  // namespace sextant
