// Reading and listing declared parameters.
#include "sextant/core/parameter.h"

#include <charconv>
#include <cmath>

#include "sextant/core/closest.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

std::string NumberText(double value) {
  char buffer[64];
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e15);
  const auto end =
      plain ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr
            : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string RangeText(const std::string& kind, double minimum, double maximum) {
  return kind + " from " + NumberText(minimum) + " to " + NumberText(maximum);
}

// Text in a message is quoted and cut, so that what a file holds cannot flood or steer a terminal.
std::string Shown(const ParameterValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return ToText(value);
  std::string shown = "\"";
  for (char c : text->substr(0, 60)) shown += (c >= ' ' && c != 127) ? c : '?';
  return shown + (text->size() > 60 ? "...\"" : "\"");
}

std::optional<double> AsNumber(const ParameterValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

}  // namespace

std::string ShortName(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return path;
  return path.substr(dot) == ".rule" ? path.substr(0, dot) : path.substr(dot + 1);
}

std::string ToText(const ParameterValue& value) {
  struct {
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(std::int64_t whole) const { return std::to_string(whole); }
    std::string operator()(double number) const { return NumberText(number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<double>& numbers) const {
      std::string text = "[";
      for (double number : numbers) text += (text.size() > 1 ? "," : "") + NumberText(number);
      return text + "]";
    }
  } to_text;
  return std::visit(to_text, value);
}

ParameterValue ParseParameterValue(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && at == end)
    return whole;
  double number = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && at == end)
    return number;
  return std::string(text);
}

void FieldLister::operator()(const char* name, int& value, int minimum, int maximum,
                             const char* help, const char* follows) {
  listed_.push_back({prefix_ + name,
                     "integer",
                     std::int64_t{value},
                     double(minimum),
                     double(maximum),
                     {},
                     help,
                     follows});
}

void FieldLister::operator()(const char* name, double& value, double minimum, double maximum,
                             const char* help) {
  listed_.push_back({prefix_ + name, "number", value, minimum, maximum, {}, help, ""});
}

void FieldLister::operator()(const char* name, std::vector<double>& value, double minimum,
                             double maximum, const char* help) {
  listed_.push_back({prefix_ + name, "numbers", value, minimum, maximum, {}, help, ""});
}

void FieldLister::text(const char* name, std::string& value, const char* help) {
  listed_.push_back({prefix_ + name, "text", value, 0, 0, {}, help, ""});
}

void FieldLister::AddChoice(const char* name, std::string value, std::vector<std::string> choices,
                            const char* help) {
  listed_.push_back(
      {prefix_ + name, "choice", std::move(value), 0, 0, std::move(choices), help, ""});
}

FieldSetter::FieldSetter(std::string where, ParameterValues given,
                         const std::map<std::string, std::int64_t>& dimensions)
    : where_(std::move(where)),
      given_(std::move(given)),
      taken_(given_.size()),
      dimensions_(dimensions) {}

std::optional<ParameterValue> FieldSetter::Take(const std::string& path) {
  known_.push_back(path);
  std::optional<ParameterValue> found;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const std::string& name = given_[i].first;
    if (taken_[i] || (name != path && name != LastPart(path) && name != ShortName(path))) continue;
    if (found) throw Error(where_, path + " is given twice");
    found = given_[i].second;
    taken_[i] = true;
  }
  return found;
}

void FieldSetter::FailType(const std::string& path, const std::string& allowed,
                           const ParameterValue& got) const {
  throw Error(where_, path + " must be " + allowed + ", got " + Shown(got));
}

void FieldSetter::operator()(const char* name, int& value, int minimum, int maximum, const char*,
                             const char* follows) {
  const std::string path = prefix_ + name;
  std::optional<ParameterValue> given = Take(path);
  if (!given) {
    const auto dimension = dimensions_.find(follows);
    if (dimension == dimensions_.end()) return;
    given = dimension->second;
  }
  const std::optional<double> number = AsNumber(*given);
  if (!number || *number != std::floor(*number) || !(*number >= minimum && *number <= maximum)) {
    FailType(path, RangeText("a whole number", minimum, maximum), *given);
  }
  value = static_cast<int>(*number);
}

void FieldSetter::operator()(const char* name, double& value, double minimum, double maximum,
                             const char*) {
  const std::string path = prefix_ + name;
  const std::optional<ParameterValue> given = Take(path);
  if (!given) return;
  const std::optional<double> number = AsNumber(*given);
  if (!number || !(*number >= minimum && *number <= maximum)) {
    FailType(path, RangeText("a number", minimum, maximum), *given);
  }
  value = *number;
}

void FieldSetter::operator()(const char* name, std::vector<double>& value, double minimum,
                             double maximum, const char*) {
  const std::string path = prefix_ + name;
  const std::optional<ParameterValue> given = Take(path);
  if (!given) return;
  const auto* numbers = std::get_if<std::vector<double>>(&*given);
  const std::string allowed = RangeText("a list of numbers", minimum, maximum);
  if (numbers == nullptr) FailType(path, allowed, *given);
  for (double number : *numbers) {
    if (!(number >= minimum && number <= maximum)) FailType(path, allowed, number);
  }
  value = *numbers;
}

void FieldSetter::text(const char* name, std::string& value, const char*) {
  const std::string path = prefix_ + name;
  const std::optional<ParameterValue> given = Take(path);
  if (!given) return;
  const auto* text = std::get_if<std::string>(&*given);
  if (text == nullptr) FailType(path, "text", *given);
  value = *text;
}

std::optional<std::size_t> FieldSetter::TakeChoice(const char* name,
                                                   const std::vector<std::string>& names) {
  const std::string path = prefix_ + name;
  const std::optional<ParameterValue> given = Take(path);
  if (!given) return std::nullopt;
  const auto* text = std::get_if<std::string>(&*given);
  for (std::size_t i = 0; text != nullptr && i < names.size(); ++i) {
    if (*text == names[i]) return i;
  }
  throw Error(where_, path + " must be one of " + Join(names) + ", got " + Shown(*given),
              text == nullptr ? "" : DidYouMean(*text, names));
}

void FieldSetter::finish() const {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (taken_[i]) continue;
    std::vector<std::string> names = known_;
    for (const std::string& path : known_) names.push_back(ShortName(path));
    std::string hint = DidYouMean(given_[i].first, names);
    if (hint.empty()) {
      hint = known_.empty() ? "it has no settings" : "its settings are " + Join(known_);
    }
    throw Error(where_, "unknown setting " + Shown(given_[i].first), hint);
  }
}

}  // namespace sextant
