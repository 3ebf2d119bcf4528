// Heat maps in characters: half blocks in colour, or a ramp of characters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sextant/plot/matrix.h"
#include "sextant/plot/terminal.h"
#include "sextant/plot/terminal_text.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr std::string_view kRamp = " .:-=+*#%@";
constexpr std::string_view kUpperHalf = "▀";
constexpr int kMissingColor = 240;
constexpr int kLongestLabel = 12;

// How cells become characters.
struct Grid {
  int gutter = 0;         // characters of the row labels and the space after them
  int rows_per_line = 1;  // rows of pixels a line shows
  int cell_width = 1;     // characters
  int cell_height = 1;    // rows of pixels
  int lines = 0;
  int width = 0;  // characters
};

class HeatmapText {
 public:
  HeatmapText(const Heatmap& map, const TerminalStyle& style)
      : map_(map),
        style_(style),
        facts_(FactsOf(map.values)),
        range_(ColorRange(map, facts_)),
        colored_(style.color == TerminalColor::k256) {}

  std::string Render() {
    std::string text = Line(map_.title);
    if (map_.values.elements() == 0) return text + "no cells\n";
    MakeGrid();
    text += AxesLine();
    const std::vector<std::string> labels = RowLabels();
    for (int line = 0; line < grid_.lines; ++line) {
      text += PadLeft(labels[static_cast<std::size_t>(line)], grid_.gutter - 1) + " " + Cells(line);
      text += '\n';
    }
    return text + ColumnLine() + Legend();
  }

 private:
  std::string Safe(std::string_view text, int width) const { return SafeText(text, width, style_); }
  std::string Line(std::string_view text) const {
    return text.empty() ? "" : Safe(text, style_.width) + "\n";
  }

  void MakeGrid() {
    const bool two_rows = colored_ && style_.glyphs == TerminalGlyphs::kUnicode;
    grid_.rows_per_line = two_rows ? 2 : 1;
    int label_width = 0;
    for (int wanted = 1; wanted <= kMostRowLabels; ++wanted) {
      for (const Tick& tick : CellTicks(map_.rows, map_.values.extent(0), wanted)) {
        label_width = std::max(label_width, CharacterCount(tick.label));
      }
    }
    grid_.gutter = std::min(label_width, kLongestLabel) + 1;
    constexpr int kOtherLines = 6;
    const int columns = style_.width - grid_.gutter;
    const int rows = (style_.height - kOtherLines) * grid_.rows_per_line;
    reduced_ = Reduce(map_.values, rows, columns);
    const int fit_columns = columns / static_cast<int>(reduced_.values.extent(1));
    const int fit_rows = rows / static_cast<int>(reduced_.values.extent(0));
    if (two_rows) {
      grid_.cell_width = grid_.cell_height = std::clamp(std::min(fit_columns, fit_rows), 1, 4);
    } else {
      grid_.cell_width = std::clamp(fit_columns, 1, 2);
    }
    const int pixels = grid_.cell_height * static_cast<int>(reduced_.values.extent(0));
    grid_.lines = (pixels + grid_.rows_per_line - 1) / grid_.rows_per_line;
    grid_.width = grid_.cell_width * static_cast<int>(reduced_.values.extent(1));
  }

  std::string AxesLine() const {
    if (map_.rows.title.empty() && map_.columns.title.empty()) return "";
    const bool unicode = style_.glyphs == TerminalGlyphs::kUnicode;
    return Line(fmt::format(
        "{} {}, {} {}", map_.rows.title.empty() ? "row" : map_.rows.title, unicode ? "↓" : "down",
        map_.columns.title.empty() ? "column" : map_.columns.title, unicode ? "→" : "across"));
  }

  std::vector<std::string> RowLabels() const {
    std::vector<std::string> labels(static_cast<std::size_t>(grid_.lines));
    const int wanted = std::clamp(grid_.lines / 3, 1, kMostRowLabels);
    for (const Tick& tick : CellTicks(map_.rows, map_.values.extent(0), wanted)) {
      const double row = std::floor(tick.value / static_cast<double>(reduced_.block_rows));
      const auto line = static_cast<std::size_t>((row + 0.5) * grid_.cell_height) /
                        static_cast<std::size_t>(grid_.rows_per_line);
      labels[std::min(line, labels.size() - 1)] = Safe(tick.label, kLongestLabel);
    }
    return labels;
  }

  double Value(int pixel, int character) const {
    return reduced_.values(pixel / grid_.cell_height, character / grid_.cell_width);
  }
  double Part(double value) const {
    const double part = (value / 2 - range_.low / 2) / (range_.high / 2 - range_.low / 2);
    return std::clamp(part, 0., 1.);
  }

  int Color(double part) {
    const int level = static_cast<int>(std::lround(part * 100));
    const auto [found, added] = colors_.try_emplace(level, 0);
    if (added) found->second = NearestTerminalColor(MapColor(map_.colors, level / 100.));
    return found->second;
  }
  int ColorOf(double value) { return std::isfinite(value) ? Color(Part(value)) : kMissingColor; }

  static char Shade(double part) {
    return kRamp[static_cast<std::size_t>(part * (kRamp.size() - 1) + 0.5)];
  }

  std::string Cells(int line) {
    std::string text;
    ColorRun run;
    const int top = line * grid_.rows_per_line;
    const int pixels = grid_.cell_height * static_cast<int>(reduced_.values.extent(0));
    for (int character = 0; character < grid_.width; ++character) {
      const double upper = Value(top, character);
      if (!colored_) {
        text += std::isfinite(upper) ? Shade(Part(upper)) : '?';
      } else if (grid_.rows_per_line == 1) {
        run.Switch(text, -1, ColorOf(upper));
        text += ' ';
      } else {
        run.Switch(text, ColorOf(upper),
                   top + 1 < pixels ? ColorOf(Value(top + 1, character)) : -1);
        text += kUpperHalf;
      }
    }
    run.End(text);
    return text;
  }

  std::string ColumnLine() const {
    LabelLine line(grid_.width);
    int longest = 4;
    for (const std::string& name : map_.columns.names) {
      longest = std::max(longest, std::min(CharacterCount(name), kLongestLabel));
    }
    const int wanted = std::clamp(grid_.width / (longest + 2), 1, 16);
    for (const Tick& tick : CellTicks(map_.columns, map_.values.extent(1), wanted)) {
      const double column = std::floor(tick.value / static_cast<double>(reduced_.block_columns));
      line.Put(static_cast<int>((column + 0.5) * grid_.cell_width),
               Safe(tick.label, kLongestLabel));
    }
    return std::string(static_cast<std::size_t>(grid_.gutter), ' ') + line.text() + "\n";
  }

  std::string Bar(int width) {
    if (!colored_) return fmt::format("[{}]", kRamp);
    std::string bar;
    ColorRun run;
    for (int i = 0; i < width; ++i) {
      run.Switch(bar, -1, Color(i / (width - 1.)));
      bar += ' ';
    }
    run.End(bar);
    return bar;
  }

  std::string Legend() {
    const std::string low = NumberText(range_.low, 3), high = NumberText(range_.high, 3);
    const int numbers = CharacterCount(low) + CharacterCount(high) + 2;
    const int bar = colored_ ? std::clamp(style_.width - numbers, 4, 20) : 12;
    std::string text = low + " " + Bar(bar) + " " + high;
    text += "  " + Safe(map_.value_title, std::max(0, style_.width - numbers - bar - 2));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
    return text + Line(facts_.missing > 0 ? MissingNote() : "") + Line(ReductionNote(reduced_));
  }

  std::string MissingNote() const {
    return std::string(colored_ ? "dark grey" : "?") + " = no number";
  }

  static constexpr int kMostRowLabels = 8;

  const Heatmap& map_;
  TerminalStyle style_;
  MatrixFacts facts_;
  Range range_;
  bool colored_;
  ReducedMatrix reduced_;
  Grid grid_;
  std::map<int, int> colors_;
};

}  // namespace

std::string RenderTerminal(const Heatmap& map, const TerminalStyle& style) {
  CheckHeatmap(map);
  return HeatmapText(map, Usable(style)).Render();
}

}  // namespace sextant::plot
