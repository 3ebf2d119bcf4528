// Tables as JSON, CSV and arrays.
#include "sextant/cli/table_output.h"

#include <fmt/format.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

template <std::size_t rank>
Json Nested(View<const double, rank> values) {
  Json json = Json::array();
  for (Index i = 0; i < values.extent(0); ++i) {
    if constexpr (rank == 1)
      json.push_back(values(i));
    else
      json.push_back(Nested(values[i]));
  }
  return json;
}

// Columns of a CSV: a header and, for each line, its numbers.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::vector<double>> lines;

  void Add(const std::string& name, Index count) {
    for (Index i = 0; i < count; ++i) names.push_back(name + std::to_string(i));
  }
};

void AddRows(const std::string& name, const Array<double, 2>& table, Columns& columns) {
  if (table.empty()) return;
  columns.Add(name, table.extent(1));
  for (Index n = 0; n < table.extent(0); ++n) {
    for (double value : table.view()[n].span()) {
      columns.lines[static_cast<std::size_t>(n)].push_back(value);
    }
  }
}

void AddVectors(const std::string& name, const Array<double, 3>& table,
                const std::vector<std::int32_t>& rows, Columns& columns) {
  for (Index h = 0; h < table.extent(0) && !table.empty(); ++h) {
    const std::string of_head = table.extent(0) == 1 ? "" : "_head" + std::to_string(h) + "_";
    columns.Add(name + of_head, table.extent(2));
    for (std::size_t n = 0; n < rows.size(); ++n) {
      for (double value : table.view()[h][rows[n]].span()) columns.lines[n].push_back(value);
    }
  }
}

Columns ByPosition(const ShownTables& shown) {
  const SchemeTables& tables = shown.tables;
  Columns columns;
  columns.lines.resize(shown.request.positions.size());
  AddRows("c", tables.rows, columns);
  AddRows("cos", tables.cos, columns);
  AddRows("sin", tables.sin, columns);
  AddRows("key_cos", tables.key_cos, columns);
  AddRows("key_sin", tables.key_sin, columns);
  if (!tables.query_scale.empty()) {
    columns.names.emplace_back("query_scale");
    for (std::size_t n = 0; n < columns.lines.size(); ++n) {
      columns.lines[n].push_back(tables.query_scale.values()[n]);
    }
  }
  for (Index h = 0; h < tables.tile.extent(0) && !tables.tile.empty(); ++h) {
    for (std::size_t key = 0; key < columns.lines.size(); ++key) {
      columns.names.push_back(fmt::format("head{}_key{}", h, shown.request.positions[key]));
      for (std::size_t n = 0; n < columns.lines.size(); ++n) {
        columns.lines[n].push_back(tables.tile(h, Index(n), Index(key)));
      }
    }
  }
  return columns;
}

Columns ByDistance(const ShownTables& shown) {
  const SchemeTables& tables = shown.tables;
  Columns columns;
  columns.lines.resize(static_cast<std::size_t>(shown.request.distances.count));
  if (!tables.buckets.empty()) {
    columns.names.emplace_back("bucket");
    for (std::size_t n = 0; n < columns.lines.size(); ++n) {
      columns.lines[n].push_back(tables.buckets[n]);
    }
  }
  if (!tables.bias.empty()) {
    columns.Add("head", tables.bias.extent(0));
    for (Index h = 0; h < tables.bias.extent(0); ++h) {
      for (std::size_t n = 0; n < columns.lines.size(); ++n) {
        columns.lines[n].push_back(tables.bias(h, Index(n)));
      }
    }
  }
  AddVectors("key", tables.vectors.key, tables.vectors.row, columns);
  AddVectors("query", tables.vectors.query, tables.vectors.row, columns);
  AddVectors("value", tables.vectors.value, tables.vectors.row, columns);
  return columns;
}

TablesArray VectorsAsArray(const DistanceVectorTables& vectors) {
  TablesArray array;
  std::string terms;
  Index count = 0, heads = 0, head_dim = 0;
  const std::pair<const char*, const Array<double, 3>*> tables[] = {
      {"key", &vectors.key}, {"query", &vectors.query}, {"value", &vectors.value}};
  for (const auto& [name, table] : tables) {
    if (table->empty()) continue;
    if (count > 0 && (table->extent(0) != heads || table->extent(2) != head_dim)) {
      throw Error("table", "vectors of different shapes do not fit one array", "use --json");
    }
    ++count;
    heads = table->extent(0);
    head_dim = table->extent(2);
    terms += (terms.empty() ? "" : " and ") + std::string(name);
    for (Index h = 0; h < heads; ++h) {
      for (std::int32_t row : vectors.row) {
        const auto vector = table->view()[h][row].span();
        array.values.insert(array.values.end(), vector.begin(), vector.end());
      }
    }
  }
  array.shape = {count, heads, static_cast<Index>(vectors.row.size()), head_dim};
  array.axes = terms + ", head, distance, channel";
  return array;
}

}  // namespace

bool ShownTables::by_position() const {
  return !tables.rows.empty() || !tables.cos.empty() || !tables.tile.empty() ||
         !tables.query_scale.empty();
}

bool ShownTables::by_distance() const {
  return !tables.bias.empty() || !tables.vectors.row.empty();
}

Json TablesJson(const ShownTables& shown) {
  const SchemeTables& tables = shown.tables;
  Json json = {{"scheme", ToJson(SpecOf(*shown.scheme))}};
  if (shown.by_position()) json["positions"] = shown.request.positions;
  if (shown.by_distance()) {
    for (Index n = 0; n < shown.request.distances.count; ++n) {
      json["distances"].push_back(shown.request.distances.first + n);
    }
  }
  if (!tables.cos.empty()) {
    const RotaryShape shape = shown.scheme->rotary_shape();
    for (Index i = 0; i < shape.rotated_dims / 2; ++i) {
      const PairChannels at = ChannelsOf(shape, i);
      json["pair_channels"].push_back({at.read0, at.read1});
    }
    json["rotated_dims"] = shape.rotated_dims;
    json["first_channel"] = shape.first;
  }
  if (const double multiplier = shown.scheme->softmax_multiplier();
      multiplier != 1 || !tables.cos.empty()) {
    json["softmax_multiplier"] = multiplier;
  }
  for (const TurningPair& pair : tables.pairs) json["inv_freq"].push_back(pair.frequency);
  for (const TurningPair& pair : tables.pairs) json["wavelengths"].push_back(pair.wavelength);
  if (!tables.slopes.empty()) json["slopes"] = tables.slopes;
  if (!tables.buckets.empty()) json["buckets"] = tables.buckets;
  // A scheme's own figures are exact where those above were read off its tables.
  for (const Figure& figure : tables.figures) {
    if (figure.values.size() == 1) {
      json[figure.name] = figure.values[0];
    } else {
      json[figure.name] = figure.values;
    }
  }
  if (!tables.vectors.row.empty()) json["row"] = tables.vectors.row;
  ForEachTable(tables,
               [&](const char* name, const auto& table) { json[name] = Nested(table.view()); });
  return json;
}

std::string TablesCsv(const ShownTables& shown) {
  if (shown.by_position() && shown.by_distance()) {
    throw Error("table",
                shown.label + " has tables by position and by distance, CSV holds one kind",
                "ask for one of its parts, or use --json");
  }
  if (!shown.by_position() && !shown.by_distance()) {
    throw Error("table", shown.label + " fills no table to write");
  }
  const Columns columns = shown.by_position() ? ByPosition(shown) : ByDistance(shown);
  std::string csv = shown.by_position() ? "position" : "distance";
  for (const std::string& name : columns.names) csv += "," + name;
  csv += "\n";
  for (std::size_t n = 0; n < columns.lines.size(); ++n) {
    csv += std::to_string(shown.by_position() ? shown.request.positions[n]
                                              : shown.request.distances.first + Index(n));
    for (double value : columns.lines[n]) csv += fmt::format(",{}", value);
    csv += "\n";
  }
  return csv;
}

TablesArray TablesAsArray(const ShownTables& shown) {
  const SchemeTables& tables = shown.tables;
  std::vector<TablesArray> arrays;
  const auto shape_of = [](const auto& table) {
    return std::vector<Index>(table.shape().begin(), table.shape().end());
  };
  if (!tables.rows.empty()) {
    arrays.push_back({shape_of(tables.rows), tables.rows.values(), "position, channel"});
  }
  if (!tables.cos.empty()) {
    TablesArray array{{2, tables.cos.extent(0), tables.cos.extent(1)},
                      tables.cos.values(),
                      "cos and sin, position, pair"};
    array.values.insert(array.values.end(), tables.sin.values().begin(), tables.sin.values().end());
    for (const auto* of_keys : {&tables.key_cos, &tables.key_sin}) {
      if (of_keys->empty()) continue;
      array.shape[0] = 4;
      array.axes = "cos and sin of queries and then of keys, position, pair";
      array.values.insert(array.values.end(), of_keys->values().begin(), of_keys->values().end());
    }
    arrays.push_back(std::move(array));
  }
  if (!tables.bias.empty()) {
    arrays.push_back({shape_of(tables.bias), tables.bias.values(), "head, distance"});
  }
  if (!tables.tile.empty()) {
    arrays.push_back({shape_of(tables.tile), tables.tile.values(), "head, query, key"});
  }
  if (!tables.query_scale.empty()) {
    arrays.push_back({shape_of(tables.query_scale), tables.query_scale.values(), "position"});
  }
  if (!tables.vectors.row.empty()) arrays.push_back(VectorsAsArray(tables.vectors));
  if (arrays.size() == 1) return arrays[0];
  throw Error("table",
              shown.label + " fills " + std::to_string(arrays.size()) +
                  " kinds of tables, a file holds one",
              arrays.empty() ? "" : "ask for one of its parts, or use --json");
}

}  // namespace sextant::cli
