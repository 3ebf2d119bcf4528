// Columns of text and JSON laid out for reading; what the subcommands print with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

enum class Align { kLeft, kRight };

// Rows of cells in columns as wide as their widest cell (counted in characters of UTF-8).
class TextTable {
 public:
  // Columns beyond those named align as the last one. `separator` stands between columns.
  explicit TextTable(std::vector<Align> columns, std::string separator = "  ")
      : columns_(std::move(columns)), separator_(std::move(separator)) {}

  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // One line a row, without spaces at the end of lines.
  std::string Text() const;
  // Characters of the longest line.
  std::size_t width() const;

 private:
  std::vector<std::size_t> Widths() const;

  std::vector<Align> columns_;
  std::string separator_;
  std::vector<std::vector<std::string>> rows_;
};

// Characters of UTF-8.
std::size_t CharacterCount(std::string_view text);

// Words wrapped to lines of at most `width` characters, each after `indent` spaces.
std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width = 100);

// A number to `digits` significant digits, without an exponent from 1e-4 to 1e7.
std::string ShortNumber(double value, int digits = 4);

// JSON indented by 2, with lists of plain values on one line, and a newline at its end. Numbers
// that are not finite become null, as JSON has none.
std::string JsonText(const nlohmann::ordered_json& json);

}  // namespace sextant::cli
