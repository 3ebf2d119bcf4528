// Estimated widths of text, for layouts made where no font can be asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sextant::plot {

// Characters of UTF-8 text, counted as code points.
int CharacterCount(std::string_view text);

// An upper estimate of the width of `text` in a sans-serif font of `size` units.
double TextWidth(std::string_view text, double size);

// `text` in lines of at most `width`, broken at spaces; a longer word gets a line of its own, cut
// as by Shorten. At least one line.
std::vector<std::string> WrapText(std::string_view text, double width, double size);

// `text`, or as much of its start as fits `width` with "…" after it.
std::string Shorten(std::string_view text, double width, double size);

}  // namespace sextant::plot
