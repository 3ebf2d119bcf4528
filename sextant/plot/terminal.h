// Heat maps and line charts as text for a terminal.
#pragma once

#include <string>

#include "sextant/plot/chart.h"
#include "sextant/plot/heatmap.h"

namespace sextant::plot {

enum class TerminalColor { kNone, k256 };
enum class TerminalGlyphs { kAscii, kUnicode };

// What the terminal can show, as its caller knows: these functions ask nothing of the system.
struct TerminalStyle {
  int width = 80;   // characters; below 32 counts as 32
  int height = 24;  // lines, all of the picture's; below 10 counts as 10
  TerminalColor color = TerminalColor::kNone;
  TerminalGlyphs glyphs = TerminalGlyphs::kUnicode;
};

// The heat map in lines of at most `width`: coloured cells, two rows a line with Unicode, or
// without colour the ramp " .:-=+*#%@"; labels, and a legend with the numbers. A matrix too large
// is averaged in blocks, which the legend says. Control characters in names are replaced. Throws as
// RenderSvg does.
std::string RenderTerminal(const Heatmap& map, const TerminalStyle& style = {});

// The chart in lines of at most `width`: curves of braille dots, or of letters without Unicode, and
// a legend. Several series carry letters, so that they differ without colour. Bands are left out,
// which the legend says. A long legend makes the picture higher than `height`. Throws as RenderSvg
// does.
std::string RenderTerminal(const Chart& chart, const TerminalStyle& style = {});

}  // namespace sextant::plot
