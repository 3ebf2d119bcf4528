// Arguments of the subcommands.
#include "sextant/cli/table_arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "sextant/core/closest.h"
#include "sextant/core/error.h"
#include "sextant/core/half.h"
#include "sextant/schemes/layers.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 53;
constexpr std::int64_t kMostNumbers = 1 << 20;
constexpr const char* kForms = "write one number, a range 0..31 or a list 0,8,24";

// Arguments in messages are cut and free of control characters.
std::string Shown(std::string_view text) {
  std::string shown;
  for (char c : text.substr(0, 60)) shown += (c >= ' ' && c != 127) ? c : '?';
  return "\"" + shown + (text.size() > 60 ? "...\"" : "\"");
}

std::int64_t ParseInteger(std::string_view option, std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < -kLargest || number > kLargest) {
    throw Error(option, "needs whole numbers, got " + Shown(text), kForms);
  }
  return number;
}

Distances ParseRange(std::string_view option, std::string_view text, std::size_t dots) {
  const std::int64_t first = ParseInteger(option, text.substr(0, dots));
  const std::int64_t last = ParseInteger(option, text.substr(dots + 2));
  if (last < first)
    throw Error(option, "a range must not end before it starts, got " + Shown(text));
  if (last - first >= kMostNumbers) {
    throw Error(option, "takes at most " + std::to_string(kMostNumbers) + " numbers, got " +
                            std::to_string(last - first + 1));
  }
  return {first, last - first + 1};
}

}  // namespace

std::vector<std::int64_t> ParseIntegers(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> numbers;
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    const Distances range = ParseRange(option, text, dots);
    for (Index n = 0; n < range.count; ++n) numbers.push_back(range.first + n);
    return numbers;
  }
  for (;;) {
    const std::size_t comma = text.find(',');
    numbers.push_back(ParseInteger(option, text.substr(0, comma)));
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

Distances ParseDistances(std::string_view option, std::string_view text) {
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    return ParseRange(option, text, dots);
  }
  return {ParseInteger(option, text), 1};
}

Rounding RoundingTo(const std::string& format) {
  if (format == "bf16") return RoundToBf16;
  if (format == "f16") return RoundToF16;
  if (format == "f32") return RoundToF32;
  return nullptr;
}

std::vector<std::string> RoundingNames() { return {"f64", "f32", "f16", "bf16"}; }

void RefuseExtras(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return;
  std::string extra = extras[0];
  for (const std::string& candidate : extras) {
    if (candidate.starts_with("-")) {
      extra = candidate;
      break;
    }
  }
  extra = extra.substr(0, extra.find('='));
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  std::string hint = extra.starts_with("-") ? DidYouMean(extra, options) : "";
  if (hint.empty()) hint = "see sextant " + command.get_name() + " --help";
  throw Error(command.get_name(), "unexpected argument " + Shown(extra), hint);
}

std::string LabelOf(const std::string& given, const Scheme& scheme, const ModelShape& shape,
                    const Registry& registry) {
  if (given.starts_with("{") || given.starts_with("@")) return ShortText(scheme, shape, registry);
  return given;
}

std::vector<LabelledScheme> SchemesOf(const std::string& label, const SchemePtr& scheme,
                                      const ModelShape& shape, const Registry& registry) {
  if (scheme->layer_pattern().empty()) return {{label, scheme}};
  std::vector<LabelledScheme> schemes;
  const std::vector<SchemePtr> parts = scheme->parts();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    schemes.push_back(
        {ShortText(*parts[part], shape, registry) + " (" + LayersOfPart(*scheme, part) + ")",
         parts[part]});
  }
  return schemes;
}

}  // namespace sextant::cli
