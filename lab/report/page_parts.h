// Parts that several sections of the report are made of: figures, tables that scroll, facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/report/html.h"
#include "lab/report/results.h"
#include "sextant/plot/chart.h"

namespace sextant::lab {

// A figure of plot::RenderSvg with its caption in plain words.
void AddFigure(Html& html, const std::string& svg, std::string_view caption);

// The chart as a figure, and below it its numbers as a table that is folded away.
void AddChart(Html& html, const plot::Chart& chart, std::string_view caption);

// A box that scrolls sideways by itself, for a table; `name` is what screen readers call it.
[[nodiscard]] Html::Inside InScrollBox(Html& html, std::string_view name);

// The caption of a table, in sight however far its box is scrolled.
void AddCaption(Html& html, std::string_view text);

// A table of text with its column heads; the first column names the row, columns from
// `first_number` on are right-aligned.
struct TextTable {
  std::string caption;
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
  std::size_t first_number = 1;
};
void AddTable(Html& html, const TextTable& table);

// Names and values in columns.
void AddFacts(Html& html, const std::vector<NamedText>& facts);

// The name of a scheme, which may break where its parts and settings meet.
void AddName(Html& html, std::string_view name);

// A short piece of line with its marker, as in the legends: how series number `at` looks.
void AddSeriesKey(Html& html, std::size_t at);

}  // namespace sextant::lab
