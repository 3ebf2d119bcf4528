// Layout of text tables and JSON.
#include "sextant/cli/table_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsPlainList(const Json& json) {
  return json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& item) {
           return item.is_structured() && !item.empty();
         });
}

void Append(const Json& json, std::size_t depth, std::string& text) {
  if (!json.is_structured() || json.empty()) {
    text += Compact(json);
    return;
  }
  if (IsPlainList(json)) {
    std::string separator = "[";
    for (const Json& item : json) {
      text += separator + Compact(item);
      separator = ", ";
    }
    text += "]";
    return;
  }
  const std::string indent(2 * (depth + 1), ' ');
  std::string separator = json.is_object() ? "{\n" : "[\n";
  for (const auto& [key, value] : json.items()) {
    text += separator + indent;
    if (json.is_object()) text += Compact(Json(key)) + ": ";
    Append(value, depth + 1, text);
    separator = ",\n";
  }
  text += "\n" + std::string(2 * depth, ' ') + (json.is_object() ? "}" : "]");
}

}  // namespace

std::size_t CharacterCount(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<std::size_t> TextTable::Widths() const {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], CharacterCount(row[c]));
    }
  }
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t all = 0;
  for (std::size_t width : Widths()) all += (all > 0 ? separator_.size() : 0) + width;
  return all;
}

std::string TextTable::Text() const {
  const std::vector<std::size_t> widths = Widths();
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += separator_;
      const std::string padding(widths[c] - CharacterCount(row[c]), ' ');
      const bool left = columns_[std::min(c, columns_.size() - 1)] == Align::kLeft;
      line += left ? row[c] + padding : padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string wrapped, line;
  const std::string margin(indent, ' ');
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!line.empty() && indent + CharacterCount(line) + 1 + CharacterCount(word) > width) {
      wrapped += margin + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) wrapped += margin + line + "\n";
  return wrapped;
}

std::string ShortNumber(double value, int digits) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (!std::isfinite(value) || size < 1e-4 || size >= 1e7) {
    return fmt::format("{:.{}g}", value, digits);
  }
  const int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, digits - std::max(whole, 0)));
}

std::string JsonText(const Json& json) {
  std::string text;
  Append(json, 0, text);
  return text + "\n";
}

}  // namespace sextant::cli
