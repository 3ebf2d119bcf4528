// Widths by classes of characters, measured on DejaVu Sans, one of the widest common fonts.
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

std::size_t CharacterBytes(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

double RelativeWidth(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first >= 0xE3) return 1;
  if (first >= 0x80) return 0.7;
  constexpr std::string_view kNarrow = "ijl|!.,:;'`";
  constexpr std::string_view kSmall = " frt()[]-/\\";
  constexpr std::string_view kWide = "mwMWGOQ%@+=<>~#";
  if (kNarrow.find(character[0]) != std::string_view::npos) return 0.34;
  if (kSmall.find(character[0]) != std::string_view::npos) return 0.4;
  if (kWide.find(character[0]) != std::string_view::npos) return 0.87;
  return first >= 'A' && first <= 'Z' ? 0.7 : 0.62;
}

}  // namespace

int CharacterCount(std::string_view text) {
  int count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

double TextWidth(std::string_view text, double size) {
  double width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = CharacterBytes(text, at);
    width += RelativeWidth(text.substr(at, bytes));
    at += bytes;
  }
  return width * size;
}

std::vector<std::string> WrapText(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string word = Shorten(text.substr(0, space), width, size);
    text = space == std::string_view::npos ? "" : text.substr(space + 1);
    if (word.empty()) continue;
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && TextWidth(longer, size) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string Shorten(std::string_view text, double width, double size) {
  if (TextWidth(text, size) <= width) return std::string(text);
  constexpr std::string_view kMore = "…";
  double used = TextWidth(kMore, size);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = CharacterBytes(text, at);
    used += TextWidth(text.substr(at, bytes), size);
    if (used > width) break;
    at += bytes;
  }
  return std::string(text.substr(0, at)) + std::string(kMore);
}

}  // namespace sextant::plot
