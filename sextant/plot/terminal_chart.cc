// Line charts in characters: braille dots or letters on a grid.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sextant/core/error.h"
#include "sextant/plot/palette.h"
#include "sextant/plot/terminal.h"
#include "sextant/plot/terminal_text.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr int kYTicks = 5;
constexpr int kLettersPerSeries = 3;
constexpr int kEmpty = -1;
constexpr int kGuide = -2;

char SeriesLetter(std::size_t series) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return kLetters[series % kLetters.size()];
}

// One character of the plot.
struct Cell {
  int series = kEmpty;
  std::uint8_t dots = 0;  // bits of U+2800
  char letter = 0;
};

// The plot's characters and the dots in them.
class Canvas {
 public:
  Canvas(int width, int height, TerminalGlyphs glyphs)
      : width_(width),
        height_(height),
        dots_across_(glyphs == TerminalGlyphs::kUnicode ? 2 : 1),
        dots_down_(glyphs == TerminalGlyphs::kUnicode ? 4 : 1),
        cells_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

  int dots_across() const { return width_ * dots_across_; }
  int dots_down() const { return height_ * dots_down_; }
  const Cell& At(int column, int row) const { return cells_[Place(column, row)]; }

  void Dot(int x, int y, int series) {
    constexpr std::uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= dots_across() || y >= dots_down()) return;
    Cell& cell = cells_[Place(x / dots_across_, y / dots_down_)];
    if (cell.letter == 0) cell.series = series;
    cell.dots |= kBits[y % dots_down_][x % dots_across_];
  }

  void Line(int x0, int y0, int x1, int y1, int series) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      const double part = i / static_cast<double>(steps);
      Dot(static_cast<int>(std::lround(x0 + part * (x1 - x0))),
          static_cast<int>(std::lround(y0 + part * (y1 - y0))), series);
    }
  }

  void Guide(int x) {
    for (int row = 0; row < height_; ++row) {
      const int column = x / dots_across_;
      if (column >= 0 && column < width_) cells_[Place(column, row)].series = kGuide;
    }
  }

  // Puts the letter on the series' line in the first free column from `from` on.
  void Letter(int from, int series) {
    for (int column = std::max(0, from); column < width_; ++column) {
      for (int row = 0; row < height_; ++row) {
        Cell& cell = cells_[Place(column, row)];
        if (cell.series != series || cell.dots == 0 || cell.letter != 0) continue;
        cell.letter = SeriesLetter(static_cast<std::size_t>(series));
        return;
      }
    }
  }

 private:
  std::size_t Place(int column, int row) const {
    return static_cast<std::size_t>(row * width_ + column);
  }

  int width_;
  int height_;
  int dots_across_;
  int dots_down_;
  std::vector<Cell> cells_;
};

std::string Braille(std::uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 | dots >> 6), static_cast<char>(0x80 | (dots & 0x3F))};
}

std::vector<double> Values(const Chart& chart, std::vector<double> Series::*part) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    values.insert(values.end(), (series.*part).begin(), (series.*part).end());
  }
  return values;
}

class ChartText {
 public:
  ChartText(const Chart& chart, const TerminalStyle& style) : chart_(chart), style_(style) {
    legend_ = Legend();
    const Range y = ShownRange(chart.y, Values(chart, &Series::y), 0.02, "chart y");
    std::vector<double> all_x = Values(chart, &Series::x);
    for (const Guide& guide : chart.guides) all_x.push_back(guide.x);
    const Range x = ShownRange(chart.x, all_x, 0, "chart x");
    const int titles = 1 + !AxisTitle(chart.y).empty() + !AxisTitle(chart.x).empty();
    const int legend = static_cast<int>(std::ranges::count(legend_, '\n'));
    height_ = std::max(4, style.height - titles - 2 - legend);
    y_ticks_ = Ticks(chart.y.scale, y, std::min(kYTicks, std::max(2, height_ / 2)));
    for (const Tick& tick : y_ticks_) gutter_ = std::max(gutter_, CharacterCount(Label(tick)));
    width_ = style.width - gutter_ - 1;
    canvas_ = Canvas(width_, height_, style.glyphs);
    x_ = AxisMap(chart.x.scale, x, 0, canvas_.dots_across() - 1);
    y_ = AxisMap(chart.y.scale, y, canvas_.dots_down() - 1, 0);
  }

  std::string Render() {
    Draw();
    std::string text = Line(chart_.title) + Line(AxisTitle(chart_.y));
    std::vector<std::string> labels(static_cast<std::size_t>(height_));
    for (const Tick& tick : y_ticks_) {
      const long dot = std::max(0L, std::lround(y_(tick.value)));
      const auto row = static_cast<std::size_t>(dot / (canvas_.dots_down() / height_));
      labels[std::min(row, labels.size() - 1)] = Label(tick);
    }
    for (int row = 0; row < height_; ++row) {
      const std::string& label = labels[static_cast<std::size_t>(row)];
      text += PadLeft(label, gutter_);
      text += Unicode() ? (label.empty() ? "│" : "┤") : (label.empty() ? "|" : "+");
      text += Row(row) + "\n";
    }
    return text + XAxis() + legend_;
  }

 private:
  bool Unicode() const { return style_.glyphs == TerminalGlyphs::kUnicode; }
  bool Colored() const { return style_.color == TerminalColor::k256; }
  bool Lettered() const { return chart_.series.size() > 1; }
  std::string Label(const Tick& tick) const { return SafeText(tick.label, 12, style_); }
  std::string Line(std::string_view text) const {
    return text.empty() ? "" : SafeText(text, style_.width, style_) + "\n";
  }

  bool HasPoint(const Series& series, std::size_t i) const {
    return HasPlace(chart_.x.scale, series.x[i]) && HasPlace(chart_.y.scale, series.y[i]);
  }

  void DrawSeries(std::size_t at) {
    const Series& series = chart_.series[at];
    const int name = static_cast<int>(at);
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (!HasPoint(series, i)) continue;
      const int x = static_cast<int>(std::lround(x_(series.x[i])));
      const int y = static_cast<int>(std::lround(y_(series.y[i])));
      if (i == 0 || !HasPoint(series, i - 1)) {
        canvas_.Dot(x, y, name);
        continue;
      }
      canvas_.Line(static_cast<int>(std::lround(x_(series.x[i - 1]))),
                   static_cast<int>(std::lround(y_(series.y[i - 1]))), x, y, name);
    }
  }

  void Draw() {
    for (const Guide& guide : chart_.guides) {
      if (!x_.InRange(guide.x)) continue;
      canvas_.Guide(static_cast<int>(std::lround(x_(guide.x))));
    }
    for (std::size_t at = 0; at < chart_.series.size(); ++at) DrawSeries(at);
    if (!Lettered()) return;
    const auto count = static_cast<double>(chart_.series.size());
    for (int turn = 0; turn < kLettersPerSeries; ++turn) {
      for (std::size_t at = 0; at < chart_.series.size(); ++at) {
        const double part = (turn + (static_cast<double>(at) + 0.5) / count) / kLettersPerSeries;
        canvas_.Letter(static_cast<int>(part * width_), static_cast<int>(at));
      }
    }
  }

  std::string Glyph(const Cell& cell) const {
    if (cell.letter != 0) return {cell.letter};
    if (cell.dots == 0) return cell.series == kGuide ? (Unicode() ? "┊" : ":") : " ";
    if (Unicode()) return Braille(cell.dots);
    return {Lettered() ? SeriesLetter(static_cast<std::size_t>(cell.series)) : '*'};
  }

  std::string Row(int row) const {
    std::string text;
    ColorRun run;
    int last = width_ - 1;
    while (last >= 0 && canvas_.At(last, row).series == kEmpty) --last;
    for (int column = 0; column <= last; ++column) {
      const Cell& cell = canvas_.At(column, row);
      const bool drawn = cell.series >= 0;
      const auto series = static_cast<std::size_t>(std::max(0, cell.series));
      run.Switch(text, Colored() && drawn ? TerminalSeriesColor(series) : -1, -1);
      text += Glyph(cell);
    }
    run.End(text);
    return text;
  }

  std::string XAxis() const {
    std::string text =
        std::string(static_cast<std::size_t>(gutter_), ' ') + (Unicode() ? "└" : "+");
    for (int i = 0; i < width_; ++i) text += Unicode() ? "─" : "-";
    LabelLine line(width_);
    const double dots = canvas_.dots_across();
    const AxisMap characters(chart_.x.scale, x_.range(), 0, (dots - 1) / dots * width_);
    for (const Tick& tick : FittingTicks(characters, std::max(2, width_ / 8), kCharacter)) {
      line.Put(static_cast<int>(characters(tick.value)), Label(tick));
    }
    const std::string indent(static_cast<std::size_t>(gutter_) + 1, ' ');
    text += "\n" + indent + line.text() + "\n";
    const std::string title = AxisTitle(chart_.x);
    return title.empty() ? text : text + indent + SafeText(title, width_, style_) + "\n";
  }

  std::string Legend() const {
    std::vector<std::string> entries;
    if (Lettered()) {
      for (std::size_t at = 0; at < chart_.series.size(); ++at) {
        entries.push_back(fmt::format("{} {}", SeriesLetter(at), chart_.series[at].name));
      }
    } else if (!chart_.series.empty()) {
      entries.push_back(chart_.series[0].name);
    }
    for (const Guide& guide : chart_.guides) {
      entries.push_back(
          fmt::format("{} {} {}", Unicode() ? "┊" : ":", guide.label, NumberText(guide.x)));
    }
    const auto has_band = [](const Series& series) { return !series.low.empty(); };
    if (std::ranges::any_of(chart_.series, has_band)) entries.push_back("(bands left out)");
    if (!AnyPoint()) entries.push_back("no data");
    return Flow(entries);
  }

  bool AnyPoint() const {
    for (const Series& series : chart_.series) {
      for (std::size_t i = 0; i < series.y.size(); ++i) {
        if (HasPoint(series, i)) return true;
      }
    }
    return false;
  }

  std::string Flow(const std::vector<std::string>& entries) const {
    std::string text;
    int used = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string entry = SafeText(entries[i], style_.width, style_);
      const int length = CharacterCount(entry);
      if (used > 0 && used + 3 + length > style_.width) {
        text += '\n';
        used = 0;
      }
      if (used > 0) text += "   ";
      used += length + (used > 0 ? 3 : 0);
      const bool series = Colored() && i < chart_.series.size();
      ColorRun run;
      run.Switch(text, series ? TerminalSeriesColor(i) : -1, -1);
      text += entry;
      run.End(text);
    }
    return text.empty() ? text : text + "\n";
  }

  // The size of text whose characters are 1 wide, by TextWidth's widest digit.
  static constexpr double kCharacter = 1.6;

  const Chart& chart_;
  TerminalStyle style_;
  std::string legend_;
  int height_ = 0;
  int gutter_ = 0;
  int width_ = 0;
  std::vector<Tick> y_ticks_;
  Canvas canvas_{1, 1, TerminalGlyphs::kAscii};
  AxisMap x_{Scale::kLinear, {}, 0, 1};
  AxisMap y_{Scale::kLinear, {}, 0, 1};
};

}  // namespace

std::string RenderTerminal(const Chart& chart, const TerminalStyle& style) {
  CheckSeries(chart);
  if (chart.title.empty()) throw Error("chart", "title must not be empty");
  return ChartText(chart, Usable(style)).Render();
}

}  // namespace sextant::plot
