// The tables that the schemes fill, as heat maps.
#include <algorithm>
#include <limits>

#include "lab/report/number_text.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"
#include "sextant/plot/heatmap.h"

namespace sextant::lab {
namespace {

constexpr std::size_t kMost = 2048;  // rows and columns drawn

// Rows of unequal length are filled up with missing values.
Array<double, 2> MatrixOf(const std::vector<std::vector<double>>& rows) {
  std::size_t columns = 0;
  for (const std::vector<double>& row : rows) columns = std::max(columns, row.size());
  Array<double, 2> matrix({static_cast<Index>(std::min(rows.size(), kMost)),
                           static_cast<Index>(std::min(columns, kMost))});
  for (Index r = 0; r < matrix.extent(0); ++r) {
    const std::vector<double>& row = rows[static_cast<std::size_t>(r)];
    for (Index c = 0; c < matrix.extent(1); ++c) {
      const auto at = static_cast<std::size_t>(c);
      matrix(r, c) = at < row.size() ? row[at] : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return matrix;
}

struct KindText {
  const char* kind;
  const char* value;
  const char* caption;
};

constexpr KindText kKinds[] = {
    {"rows", "number added to the embedding",
     "A row is what is added to the token at that position. Look for stripes that are short on one "
     "side and long on the other: fast and slow waves. A learned table is noise before training."},
    {"cos", "cosine of the angle",
     "How far each pair of channels has turned at each position. Fast pairs flicker, slow ones "
     "hardly turn within the window."},
    {"bias", "number added to the score",
     "What is added to the score by distance. Look at how heads differ, and whether far keys are "
     "pushed down."},
    {"key vectors", "component of the vector",
     "The vector that meets the query, a row for each distance. Distances beyond the last row "
     "share it."},
};

const KindText* FindKind(const std::string& kind) {
  const auto* found = std::ranges::find(kKinds, kind, &KindText::kind);
  return found == std::end(kKinds) ? nullptr : found;
}

bool HasTable(const SchemeResult& scheme) { return scheme.table && !scheme.table->rows.empty(); }

void AddHeatmap(Html& html, const SchemeResult& scheme) {
  const TableResult& table = *scheme.table;
  const Array<double, 2> matrix = MatrixOf(table.rows);
  const KindText* kind = FindKind(table.kind);
  plot::Heatmap map;
  map.title = table.kind.empty() ? scheme.name : scheme.name + ": " + table.kind;
  map.rows = {table.row_label, table.first_row, table.row_step};
  map.columns = {table.column_label, table.first_column, table.column_step};
  map.values = matrix.view();
  map.value_title = kind ? kind->value : table.kind;
  AddFigure(html, plot::RenderSvg(map, plot::Embedding::kInPage),
            kind ? kind->caption : "The numbers of the table by row and column.");
}

void AddHeatmaps(Html& html, const Results& results) {
  const Html::Inside figures = html.In("div", {{"class", "small-figures"}});
  for (const SchemeResult& scheme : results.schemes) {
    if (HasTable(scheme)) AddHeatmap(html, scheme);
  }
}

}  // namespace

void AddTableSection(Html& html, const Report& report) {
  std::vector<std::string> without;
  for (const SchemeResult& scheme : report.results.schemes) {
    if (!HasTable(scheme)) without.push_back(Quoted(scheme.name));
  }
  if (without.size() < report.results.schemes.size()) AddHeatmaps(html, report.results);
  if (without.empty()) return;
  html.Element("p", {{"class", "muted"}},
               "No table to show: " + JoinNames(without, without.size()) + ".");
}

}  // namespace sextant::lab
