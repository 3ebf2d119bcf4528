// Writes SVG elements: text is escaped, numbers are short and finite, and tags close as they
// opened.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sextant::plot {

// Bytes of the character that starts at `at` (< text.size()) where it is valid UTF-8 that XML can
// hold and no control character but tab and line ends, else 0.
std::size_t XmlCharacterLength(std::string_view text, std::size_t at);

// `text` for use between tags or inside a quoted attribute: & < > " ' become entities, and what XML
// cannot hold (control characters, broken UTF-8) becomes U+FFFD.
std::string EscapeXml(std::string_view text);

// At most two decimals, no trailing zeros, no minus before zero: 3, 0.5, -12.25. Throws Error where
// `number` is not finite.
std::string SvgNumber(double number);

// A name and a value of an element; the value is escaped text or a number as of SvgNumber.
class Attribute {
 public:
  Attribute(std::string_view name, std::string_view text) : name_(name), value_(text) {}
  template <class T>
  requires std::is_arithmetic_v<T> Attribute(std::string_view name, T number)
      : name_(name), value_(SvgNumber(static_cast<double>(number))) {}

  std::string_view name() const { return name_; }
  const std::string& value() const { return value_; }

 private:
  std::string_view name_;
  std::string value_;
};

using Attributes = std::initializer_list<Attribute>;

// A growing fragment of SVG. Names of elements and attributes are letters, digits, '-', '_' and ':'
// and are otherwise refused, as are a Close without an Open and a fragment taken while an element
// is open: all throw Error.
class Svg {
 public:
  void Open(std::string_view element, Attributes attributes = {});
  void Close();
  void Empty(std::string_view element, Attributes attributes);
  void Element(std::string_view element, Attributes attributes, std::string_view text);
  void Append(const Svg& fragment);

  std::string Take();

 private:
  void Start(std::string_view element, Attributes attributes);

  std::string text_;
  std::vector<std::string> open_;
};

// The `d` of a path, with one decimal a coordinate. Coordinates must be finite, else Error.
class PathData {
 public:
  void MoveTo(double x, double y) { Add('M', x, y); }
  void LineTo(double x, double y) { Add('L', x, y); }
  void Close() { text_ += 'Z'; }

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  void Add(char command, double x, double y);

  std::string text_;
};

}  // namespace sextant::plot
