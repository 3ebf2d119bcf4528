// Cutting, padding and colouring of terminal text.
#include "sextant/plot/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sextant/plot/svg.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr int kLeastWidth = 32;
constexpr int kLeastHeight = 10;

}  // namespace

TerminalStyle Usable(TerminalStyle style) {
  style.width = std::max(kLeastWidth, style.width);
  style.height = std::max(kLeastHeight, style.height);
  return style;
}

std::string SafeText(std::string_view text, int width, const TerminalStyle& style) {
  std::string safe;
  int used = 0;
  for (std::size_t at = 0; at < text.size() && used < width; ++used) {
    const std::size_t length = XmlCharacterLength(text, at);
    const std::string_view character = text.substr(at, std::max<std::size_t>(1, length));
    const bool shown = length > 0 && static_cast<unsigned char>(character[0]) >= 0x20;
    const bool allowed = length == 1 || style.glyphs == TerminalGlyphs::kUnicode;
    safe += shown && allowed ? character : "?";
    at += character.size();
  }
  return safe;
}

std::string PadLeft(std::string_view text, int width) {
  const int missing = std::max(0, width - CharacterCount(text));
  return std::string(static_cast<std::size_t>(missing), ' ') + std::string(text);
}

void LabelLine::Put(int middle, std::string_view text) {
  const int length = CharacterCount(text);
  const int start = std::clamp(middle - length / 2, 0, std::max(0, width_ - length));
  if (length > width_ || (used_ > 0 && start < used_ + 1)) return;
  text_ += std::string(static_cast<std::size_t>(start - used_), ' ');
  text_ += text;
  used_ = start + length;
}

void ColorRun::Switch(std::string& line, int foreground, int background) {
  const bool reset = (foreground < 0 && foreground_ >= 0) || (background < 0 && background_ >= 0);
  if (reset) End(line);
  if (foreground != foreground_) line += fmt::format("\x1b[38;5;{}m", foreground);
  if (background != background_) line += fmt::format("\x1b[48;5;{}m", background);
  foreground_ = foreground;
  background_ = background;
}

void ColorRun::End(std::string& line) {
  if (foreground_ >= 0 || background_ >= 0) line += "\x1b[0m";
  foreground_ = background_ = -1;
}

}  // namespace sextant::plot
