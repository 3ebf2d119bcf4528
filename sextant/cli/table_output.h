// The tables of a scheme as text, JSON, CSV, SVG and arrays.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sextant/cli/program.h"
#include "sextant/probe/tables.h"

namespace sextant::cli {

// A scheme's tables with what they were asked for.
struct ShownTables {
  std::string label;  // the scheme as the user wrote it
  SchemePtr scheme;
  TableRequest request;
  SchemeTables tables;

  bool by_position() const;  // it has a table by position
  bool by_distance() const;  // it has a table by distance
};

// kAuto: numbers where they fit 100 characters and 40 rows, else a heat map.
enum class TextForm { kAuto, kNumbers };

std::string TablesText(const ShownTables& shown, TextForm form, const Session& session);

// {scheme, positions, rows} and so on: the fields of the tables offered, by their names.
nlohmann::ordered_json TablesJson(const ShownTables& shown);

// One line a position or distance after a header. Throws Error for a scheme without tables and for
// one with tables by position and by distance.
std::string TablesCsv(const ShownTables& shown);

// A heat map of rows, of cosines beside sines or of vectors; curves of a bias by distance. Throws
// as TablesCsv.
std::string TablesSvg(const ShownTables& shown);

// The numbers as one array: rows [n, model_dim]; rotary [2, n, r/2], cosines first; bias [heads,
// m]; tile bias [heads, n, n]; vectors [terms, heads, m, head_dim] by the terms offered of key,
// query, value; query scale [n]. Throws Error unless the scheme fills exactly one of these.
struct TablesArray {
  std::vector<Index> shape;
  std::vector<double> values;
  std::string axes;  // "cos and sin, position, pair"
};
TablesArray TablesAsArray(const ShownTables& shown);

}  // namespace sextant::cli
