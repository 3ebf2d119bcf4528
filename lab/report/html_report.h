// The report of `sextant compare` as one HTML file that needs nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sextant::lab {

// The page for a results document of format "sextant-compare/1". It loads nothing, runs no script,
// and treats every text of the document as text. What the document lacks is said in words. The same
// document gives the same page. Throws Error where `results` is no such document.
std::string RenderReport(const nlohmann::ordered_json& results);

}  // namespace sextant::lab
