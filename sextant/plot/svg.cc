// Escaping, numbers and the stack of open elements.
#include "sextant/plot/svg.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsName(std::string_view name) {
  if (name.empty()) return false;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ':';
    if (!letter && !other) return false;
  }
  return true;
}

void CheckName(std::string_view name) {
  if (!IsName(name)) {
    throw Error("svg",
                fmt::format("names are letters, digits, '-', '_' and ':', got \"{}\"", name));
  }
}

unsigned char ByteAt(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

std::string Shortened(double number, int decimals) {
  if (!std::isfinite(number)) {
    throw Error("svg", fmt::format("a number must be finite, got {}", number));
  }
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

}  // namespace

std::size_t XmlCharacterLength(std::string_view text, std::size_t at) {
  const unsigned char first = ByteAt(text, at);
  if (first < 0x80) {
    const bool allowed = first >= 0x20 || first == '\t' || first == '\n' || first == '\r';
    return allowed && first != 0x7F ? 1 : 0;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
  if (length == 0 || first > 0xF4) return 0;
  std::uint32_t code = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char next = ByteAt(text, at + i);
    if ((next & 0xC0) != 0x80) return 0;
    code = code << 6 | (next & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0xA0, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool unassigned = code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
  return code < kLeast[length] || surrogate || unassigned ? 0 : length;
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = XmlCharacterLength(text, at);
    if (length == 0) {
      escaped += kReplacement;
    } else if (text[at] == '&') {
      escaped += "&amp;";
    } else if (text[at] == '<') {
      escaped += "&lt;";
    } else if (text[at] == '>') {
      escaped += "&gt;";
    } else if (text[at] == '"') {
      escaped += "&quot;";
    } else if (text[at] == '\'') {
      escaped += "&#39;";
    } else {
      escaped += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return escaped;
}

std::string SvgNumber(double number) { return Shortened(number, 2); }

void Svg::Start(std::string_view element, Attributes attributes) {
  CheckName(element);
  text_ += '<';
  text_ += element;
  for (const Attribute& attribute : attributes) {
    CheckName(attribute.name());
    fmt::format_to(std::back_inserter(text_), " {}=\"{}\"", attribute.name(),
                   EscapeXml(attribute.value()));
  }
}

void Svg::Open(std::string_view element, Attributes attributes) {
  Start(element, attributes);
  text_ += '>';
  open_.emplace_back(element);
}

void Svg::Close() {
  if (open_.empty()) throw Error("svg", "Close needs an open element, got none");
  fmt::format_to(std::back_inserter(text_), "</{}>", open_.back());
  open_.pop_back();
}

void Svg::Empty(std::string_view element, Attributes attributes) {
  Start(element, attributes);
  text_ += "/>";
}

void Svg::Element(std::string_view element, Attributes attributes, std::string_view text) {
  Open(element, attributes);
  text_ += EscapeXml(text);
  Close();
}

void Svg::Append(const Svg& fragment) {
  if (!fragment.open_.empty()) {
    throw Error("svg", fmt::format("an appended fragment must be closed, got an open {}",
                                   fragment.open_.back()));
  }
  text_ += fragment.text_;
}

std::string Svg::Take() {
  if (!open_.empty()) {
    throw Error("svg", fmt::format("every element must be closed, got an open {}", open_.back()));
  }
  return std::move(text_);
}

void PathData::Add(char command, double x, double y) {
  text_ += command;
  text_ += Shortened(x, 1);
  const std::string second = Shortened(y, 1);
  if (second.front() != '-') text_ += ' ';
  text_ += second;
}

}  // namespace sextant::plot
