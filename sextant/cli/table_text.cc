// Tables as text for a terminal and as figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sextant/cli/table_layout.h"
#include "sextant/cli/table_output.h"
#include "sextant/core/error.h"
#include "sextant/plot/chart.h"
#include "sextant/plot/heatmap.h"
#include "sextant/plot/terminal.h"

namespace sextant::cli {
namespace {

constexpr std::size_t kWidestNumbers = 100;
constexpr Index kMostNumberRows = 40;
constexpr std::size_t kMostCurves = 12;  // in a figure
constexpr Index kMostTerminalCurves = 4;

// One matrix to show, with what labels its rows.
struct Shown {
  std::string title;      // "cosines, position by pair"
  std::string row_title;  // "position"
  std::string column_title;
  std::vector<std::int64_t> rows;
  Array<double, 2> values;
};

std::vector<std::int64_t> DistancesOf(const ShownTables& shown) {
  std::vector<std::int64_t> distances;
  for (Index n = 0; n < shown.request.distances.count; ++n) {
    distances.push_back(shown.request.distances.first + n);
  }
  return distances;
}

Shown VectorsOf(const ShownTables& shown, const char* name, const Array<double, 3>& table) {
  const std::vector<std::int32_t>& rows = shown.tables.vectors.row;
  Shown vectors{std::string(name) + " vectors, distance by channel", "distance", "channel",
                DistancesOf(shown),
                Array<double, 2>({static_cast<Index>(rows.size()), table.extent(2)})};
  if (table.extent(0) > 1) {
    vectors.title += fmt::format(" (head 0 of {})", table.extent(0));
  }
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (Index c = 0; c < table.extent(2); ++c) {
      vectors.values(Index(n), c) = table(0, rows[n], c);
    }
  }
  return vectors;
}

// The matrices of every table but a bias by distance, which is shown as curves.
std::vector<Shown> MatricesOf(const ShownTables& shown) {
  const SchemeTables& tables = shown.tables;
  const std::vector<std::int64_t>& positions = shown.request.positions;
  std::vector<Shown> all;
  const auto add = [&](const char* title, const char* column, const Array<double, 2>& values) {
    if (!values.empty()) all.push_back({title, "position", column, positions, values});
  };
  add("rows added to embeddings, position by channel", "channel", tables.rows);
  add("cosines, position by pair", "pair", tables.cos);
  add("sines, position by pair", "pair", tables.sin);
  add("cosines of keys, position by pair", "pair", tables.key_cos);
  add("sines of keys, position by pair", "pair", tables.key_sin);
  if (!tables.tile.empty()) {
    Array<double, 2> first({tables.tile.extent(1), tables.tile.extent(2)});
    const auto values = tables.tile.values().begin();
    std::copy(values, values + first.view().elements(), first.values().begin());
    all.push_back({fmt::format("bias, query by key (head 0 of {})", tables.tile.extent(0)), "query",
                   "key", positions, std::move(first)});
  }
  if (!tables.query_scale.empty()) {
    Array<double, 2> column({tables.query_scale.extent(0), 1});
    column.values() = tables.query_scale.values();
    all.push_back(
        {"factor on scores by query position", "position", "", positions, std::move(column)});
  }
  const DistanceVectorTables& vectors = tables.vectors;
  if (!vectors.key.empty()) all.push_back(VectorsOf(shown, "key", vectors.key));
  if (!vectors.query.empty()) all.push_back(VectorsOf(shown, "query", vectors.query));
  if (!vectors.value.empty()) all.push_back(VectorsOf(shown, "value", vectors.value));
  return all;
}

bool Consecutive(const std::vector<std::int64_t>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[i - 1] + 1) return false;
  }
  return true;
}

plot::CellAxis AxisOf(const std::string& title, const std::vector<std::int64_t>& numbers) {
  plot::CellAxis axis{.title = title};
  if (Consecutive(numbers)) {
    if (!numbers.empty()) axis.first = double(numbers[0]);
    return axis;
  }
  for (std::int64_t number : numbers) axis.names.push_back(std::to_string(number));
  return axis;
}

plot::Heatmap HeatmapOf(const std::string& label, const Shown& shown) {
  plot::Heatmap map;
  map.title = label + ": " + shown.title;
  map.rows = AxisOf(shown.row_title, shown.rows);
  map.columns = {.title = shown.column_title};
  map.values = shown.values;
  map.value_title = "value";
  return map;
}

plot::Chart BiasChart(const ShownTables& shown) {
  const Array<double, 2>& bias = shown.tables.bias;
  plot::Chart chart;
  chart.title = shown.label + ": bias by distance";
  chart.x.title = "key position - query position";
  chart.y.title = "added to the score";
  const std::size_t heads =
      std::min<std::size_t>(static_cast<std::size_t>(bias.extent(0)), kMostCurves);
  for (std::size_t h = 0; h < heads; ++h) {
    plot::Series series{.name = fmt::format("head {}", h), .markers = plot::Markers::kNone};
    for (Index n = 0; n < bias.extent(1); ++n) {
      series.x.push_back(double(shown.request.distances.first + n));
      series.y.push_back(bias(Index(h), n));
    }
    chart.series.push_back(std::move(series));
  }
  if (heads < static_cast<std::size_t>(bias.extent(0))) {
    chart.title += fmt::format(" (heads 0..{} of {})", heads - 1, bias.extent(0));
  }
  return chart;
}

std::string NumbersText(const Shown& shown) {
  TextTable table({Align::kRight}, " ");
  for (std::size_t n = 0; n < shown.rows.size(); ++n) {
    std::vector<std::string> row = {std::to_string(shown.rows[n]) + " "};
    for (double value : shown.values.view()[Index(n)].span()) {
      row.push_back(fmt::format("{:.4f}", value));
    }
    table.Add(std::move(row));
  }
  return table.Text();
}

// Numbers if they are few, else a heat map.
std::string MatrixText(const std::string& label, const Shown& shown, TextForm form,
                       const plot::TerminalStyle& style) {
  const bool wide = std::size_t(shown.values.extent(1)) * 7 > kWidestNumbers;
  if (form == TextForm::kNumbers || (!wide && shown.values.extent(0) <= kMostNumberRows)) {
    return label + ": " + shown.title + "\n" + NumbersText(shown);
  }
  return plot::RenderTerminal(HeatmapOf(label, shown), style);
}

std::string SlopesText(const std::vector<double>& slopes) {
  TextTable table({Align::kRight});
  table.Add({"head", "slope"});
  for (std::size_t h = 0; h < slopes.size(); ++h) {
    table.Add({std::to_string(h), fmt::format("{:.8g}", slopes[h])});
  }
  return table.Text();
}

// Runs of distances with one bucket.
std::string BucketsText(const std::vector<int>& buckets, const Distances& distances) {
  TextTable table({Align::kRight});
  table.Add({"distance", "bucket"});
  for (std::size_t first = 0; first < buckets.size();) {
    std::size_t last = first;
    while (last + 1 < buckets.size() && buckets[last + 1] == buckets[first]) ++last;
    std::string range = std::to_string(distances.first + Index(first));
    if (last > first) range += ".." + std::to_string(distances.first + Index(last));
    table.Add({range, std::to_string(buckets[first])});
    first = last + 1;
  }
  return table.Text();
}

std::string BiasText(const ShownTables& shown, TextForm form, const plot::TerminalStyle& style) {
  const SchemeTables& tables = shown.tables;
  std::string text;
  if (!tables.slopes.empty()) {
    text += shown.label + ": bias = -slope x |key position - query position|\n" +
            SlopesText(tables.slopes);
  }
  if (!tables.buckets.empty()) {
    text += shown.label + ": one number a head for each bucket of key position - query position\n" +
            BucketsText(tables.buckets, shown.request.distances);
  }
  if (!text.empty()) text += "\n";
  if (form == TextForm::kNumbers) {
    Shown matrix{"bias, distance by head", "distance", "head", DistancesOf(shown),
                 Array<double, 2>({tables.bias.extent(1), tables.bias.extent(0)})};
    for (Index h = 0; h < tables.bias.extent(0); ++h) {
      for (Index n = 0; n < tables.bias.extent(1); ++n) matrix.values(n, h) = tables.bias(h, n);
    }
    return text + shown.label + ": " + matrix.title + "\n" + NumbersText(matrix);
  }
  if (tables.bias.extent(0) <= kMostTerminalCurves) {
    return text + plot::RenderTerminal(BiasChart(shown), style);
  }
  plot::Heatmap map;
  map.title = shown.label + ": bias by head and distance";
  map.rows = {.title = "head"};
  map.columns = AxisOf("key position - query position", DistancesOf(shown));
  map.values = tables.bias;
  map.value_title = "added to the score";
  const auto [low, high] =
      std::minmax_element(tables.bias.values().begin(), tables.bias.values().end());
  if (*low >= 0 || *high <= 0) map.colors = plot::ColorMap::kSequential;
  return text + plot::RenderTerminal(map, style);
}

std::string PairsText(const std::vector<TurningPair>& pairs) {
  std::string text = "pairs repeat after (positions):";
  const std::size_t step = std::max<std::size_t>(1, (pairs.size() + 3) / 4);
  const auto add = [&](std::size_t pair) {
    text += fmt::format("  {}: {}", pair, ShortNumber(pairs[pair].wavelength));
  };
  for (std::size_t pair = 0; pair + 1 < pairs.size(); pair += step) add(pair);
  add(pairs.size() - 1);
  return text + "\n";
}

}  // namespace

std::string TablesText(const ShownTables& shown, TextForm form, const Session& session) {
  plot::TerminalStyle style;
  style.color = session.color ? plot::TerminalColor::k256 : plot::TerminalColor::kNone;
  std::string text;
  for (const Shown& matrix : MatricesOf(shown)) {
    if (!text.empty()) text += "\n";
    text += MatrixText(shown.label, matrix, form, style);
  }
  if (!shown.tables.pairs.empty()) text += PairsText(shown.tables.pairs);
  if (!shown.tables.bias.empty()) {
    if (!text.empty()) text += "\n";
    text += BiasText(shown, form, style);
  }
  if (text.empty()) {
    return shown.label + ": no tables, it leaves queries, keys and scores as they are\n";
  }
  if (!shown.scheme->weights().empty()) {
    text += fmt::format("(learned numbers have their initial values, drawn from seed {})\n",
                        shown.request.seed);
  }
  return text;
}

std::string TablesSvg(const ShownTables& shown) {
  TablesAsArray(shown);  // exactly one kind of table makes one figure
  if (!shown.tables.bias.empty()) return plot::RenderSvg(BiasChart(shown));
  std::vector<Shown> matrices = MatricesOf(shown);
  Shown& first = matrices[0];
  if (!shown.tables.cos.empty()) {
    const Index positions = first.values.extent(0), pairs = first.values.extent(1);
    Array<double, 2> both({positions, 2 * pairs});
    for (Index n = 0; n < positions; ++n) {
      for (Index i = 0; i < pairs; ++i) {
        both(n, i) = shown.tables.cos(n, i);
        both(n, pairs + i) = shown.tables.sin(n, i);
      }
    }
    first.title = "cosines of the pairs, then their sines, by position";
    first.values = std::move(both);
    plot::Heatmap map = HeatmapOf(shown.label, first);
    for (const char* name : {"cos ", "sin "}) {
      for (Index i = 0; i < pairs; ++i) map.columns.names.push_back(name + std::to_string(i));
    }
    return plot::RenderSvg(map);
  }
  return plot::RenderSvg(HeatmapOf(shown.label, first));
}

}  // namespace sextant::cli
