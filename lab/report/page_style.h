// The style sheet of the report.
#pragma once

#include <string>

namespace sextant::lab {

// For light and dark, by `data-theme` of the root element or else prefers-color-scheme, with the
// rules of the figures.
std::string PageCss();

}  // namespace sextant::lab
