// Pictures in characters: exact small ones, limits, and safe text.
#include "sextant/plot/terminal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "sextant/core/error.h"
#include "sextant/plot/terminal_text.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr TerminalStyle kPlain{
    .width = 40, .height = 14, .color = TerminalColor::kNone, .glyphs = TerminalGlyphs::kAscii};

std::string WithoutEscapes(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b')
      at = text.find('m', at);
    else
      plain += text[at];
  }
  return plain;
}

void ExpectFits(const std::string& text, const TerminalStyle& style) {
  std::istringstream lines(WithoutEscapes(text));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(CharacterCount(line), style.width) << line;
  }
  EXPECT_LE(count, style.height) << text;
}

Array<double, 2> Ramp(Index rows, Index columns) {
  Array<double, 2> matrix({rows, columns});
  for (Index i = 0; i < rows * columns; ++i) {
    matrix.values()[static_cast<std::size_t>(i)] = static_cast<double>(i);
  }
  return matrix;
}

TEST(TerminalHeatmap, ShadesCells) {
  Array<double, 2> matrix({2, 3});
  matrix.values() = {-1, 0, 1, 0.5, NAN, -0.5};
  const Heatmap map{.title = "Bias",
                    .rows = {.title = "head"},
                    .columns = {.title = "offset"},
                    .values = matrix.view(),
                    .value_title = "bias"};
  EXPECT_EQ(RenderTerminal(map, kPlain),
            "Bias\n"
            "head down, offset across\n"
            "0   ++@@\n"
            "1 ##?"
            "?::\n"
            "   0   2\n"
            "-1 [ .:-=+*#%@] 1  bias\n"
            "? = no number\n");
}

TEST(TerminalHeatmap, ColoursTwoRowsALine) {
  Array<double, 2> matrix({2, 1});
  matrix.values() = {0, 1};
  const Heatmap map{.title = "t", .values = matrix.view(), .colors = ColorMap::kSequential};
  TerminalStyle style;
  style.color = TerminalColor::k256;
  style.width = 32;
  const std::string text = RenderTerminal(map, style);
  EXPECT_NE(text.find("▀"), text.npos);
  EXPECT_NE(text.find("\x1b[38;5;"), text.npos);
  EXPECT_NE(text.find("\x1b[0m"), text.npos);
}

TEST(TerminalHeatmap, StaysInItsLimitsAndSaysWhatItAveraged) {
  for (Index rows : {1, 7, 64, 500}) {
    for (Index columns : {1, 9, 77, 1000}) {
      const Array<double, 2> matrix = Ramp(rows, columns);
      const Heatmap map{.title = "a title that is longer than a narrow terminal is wide, by far",
                        .rows = {.title = "position"},
                        .columns = {.title = "dimension"},
                        .values = matrix.view(),
                        .value_title = "value"};
      for (TerminalStyle style : {TerminalStyle{}, kPlain, TerminalStyle{32, 10}}) {
        for (TerminalColor color : {TerminalColor::kNone, TerminalColor::k256}) {
          style.color = color;
          const std::string text = RenderTerminal(map, style);
          ExpectFits(text, style);
          const bool averaged = text.find("each cell is the") != text.npos;
          EXPECT_TRUE(averaged || (rows < 100 && columns < 100));
          EXPECT_FALSE(averaged && rows <= 4 && columns <= 9);
        }
      }
    }
  }
}

TEST(TerminalHeatmap, NoCellsIsSaid) {
  const Heatmap map{.title = "t"};
  EXPECT_EQ(RenderTerminal(map), "t\nno cells\n");
}

Chart Lines(std::size_t count) {
  Chart chart{.title = "Loss", .x = {.title = "step"}, .y = {.title = "loss", .unit = "nats"}};
  for (std::size_t at = 0; at < count; ++at) {
    chart.series.push_back({"s" + std::to_string(at), {}, {}});
    for (int i = 0; i <= 50; ++i) {
      chart.series[at].x.push_back(i);
      chart.series[at].y.push_back(static_cast<double>(at) + std::exp(-i / 10.));
    }
  }
  return chart;
}

TEST(TerminalChart, DrawsALine) {
  Chart chart{.title = "Line", .x = {.title = "x"}, .y = {.title = "y"}};
  chart.series.push_back({"s", {0, 1}, {0, 1}});
  TerminalStyle style = kPlain;
  style.width = 32;
  style.height = 10;
  EXPECT_EQ(RenderTerminal(chart, style),
            "Line\n"
            "y\n"
            "1.0+                       *****\n"
            "   |              *********\n"
            "0.5+     *********\n"
            "  0+*****\n"
            "   +----------------------------\n"
            "    0           0.5          1.0\n"
            "    x\n"
            "s\n");
}

TEST(TerminalChart, StaysInItsLimits) {
  for (TerminalStyle style : {TerminalStyle{}, kPlain, TerminalStyle{32, 10}}) {
    ExpectFits(RenderTerminal(Lines(3), style), style);
    style.color = TerminalColor::k256;
    ExpectFits(RenderTerminal(Lines(1), style), style);
  }
}

TEST(TerminalChart, SeveralSeriesCarryLetters) {
  const std::string text = RenderTerminal(Lines(3));
  for (const char* entry : {"a s0", "b s1", "c s2"}) EXPECT_NE(text.find(entry), text.npos);
  const std::string plot = text.substr(0, text.find("└"));
  for (char letter : {'a', 'b', 'c'}) EXPECT_NE(plot.find(letter), plot.npos);
}

TEST(TerminalChart, SaysWhatIsMissing) {
  Chart chart = Lines(1);
  chart.series[0].low = chart.series[0].high = chart.series[0].y;
  EXPECT_NE(RenderTerminal(chart).find("(bands left out)"), std::string::npos);
  chart.series[0].y.assign(51, NAN);
  EXPECT_NE(RenderTerminal(chart).find("no data"), std::string::npos);
  chart.title.clear();
  EXPECT_THROW(RenderTerminal(chart), Error);
}

TEST(SafeText, ReplacesControlCharactersAndCuts) {
  EXPECT_EQ(SafeText("a\x1b[31mb\n\x07", 40, {}), "a?[31mb??");
  EXPECT_EQ(SafeText("λ\xff", 40, {}), "λ?");
  EXPECT_EQ(SafeText("λx", 40, kPlain), "?x");
  EXPECT_EQ(SafeText("λλλ", 2, {}), "λλ");
}

}  // namespace
}  // namespace sextant::plot
