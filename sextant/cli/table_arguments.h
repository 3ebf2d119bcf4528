// Reading arguments the subcommands share: lists of numbers, ranges, and options nobody declared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/schemes/registry.h"

namespace CLI {
class App;
}

namespace sextant::cli {

// "7", "0..31" (both ends included) or "0,8,24"; whole numbers within 2^53 of 0, at most 2^20 of
// them. Throws Error starting with `option`.
std::vector<std::int64_t> ParseIntegers(std::string_view option, std::string_view text);

// "-130..130" or "5" as consecutive distances. Throws Error starting with `option`.
Distances ParseDistances(std::string_view option, std::string_view text);

// The rounding to a number format by its name; nothing for f64.
using Rounding = double (*)(double);
Rounding RoundingTo(const std::string& format);
std::vector<std::string> RoundingNames();

// For a command that allows extras: throws Error at the first argument it did not take, with the
// option it was probably meant to be.
void RefuseExtras(const CLI::App& command);

// The spec as the user wrote it, or for JSON and files its short text; `shape` is what the scheme
// was made with.
std::string LabelOf(const std::string& given, const Scheme& scheme, const ModelShape& shape,
                    const Registry& registry);

// A scheme with the label it is shown by.
struct LabelledScheme {
  std::string label;
  SchemePtr scheme;
};

// The scheme alone or, for a policy by layer, each scheme it uses once: "rope (layers 0-2 of every
// 4)".
std::vector<LabelledScheme> SchemesOf(const std::string& label, const SchemePtr& scheme,
                                      const ModelShape& shape, const Registry& registry);

}  // namespace sextant::cli
