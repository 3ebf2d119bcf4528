// Pieces of terminal text: safe names, fixed widths, colours.
#pragma once

#include <string>
#include <string_view>

#include "sextant/plot/terminal.h"

namespace sextant::plot {

// The style with its least width and height.
TerminalStyle Usable(TerminalStyle style);

// `text` with '?' for control characters and broken UTF-8 and, with kAscii, for what is not ASCII;
// cut to `width` characters.
std::string SafeText(std::string_view text, int width, const TerminalStyle& style);

// `text` after as many spaces as make it `width` characters.
std::string PadLeft(std::string_view text, int width);

// A line being filled at places; texts that would touch another are left out.
class LabelLine {
 public:
  explicit LabelLine(int width) : width_(width) {}

  // Centred on `middle`, moved to stay inside the line.
  void Put(int middle, std::string_view text);
  const std::string& text() const { return text_; }

 private:
  int width_;
  int used_ = 0;
  std::string text_;
};

// Escape codes of foreground and background (entries of the 256 colours; -1 the default), written
// only where they change.
class ColorRun {
 public:
  void Switch(std::string& line, int foreground, int background);
  void End(std::string& line);

 private:
  int foreground_ = -1;
  int background_ = -1;
};

}  // namespace sextant::plot
