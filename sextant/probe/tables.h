// Every table a scheme fills, as numbers to show.
#pragma once

#include <cstdint>
#include <vector>

#include "sextant/probe/wavelengths.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

struct TableRequest {
  std::vector<std::int64_t> positions;  // for tables by position
  Distances distances;                  // for tables by distance
  std::int64_t length = 0;              // of the sequence; 0: the largest position plus one
  std::uint64_t seed = 1;               // of the learned weights
};

// What the scheme offers; everything else is empty. n positions, m distances.
struct SchemeTables {
  Array<double, 2> rows;              // [n, model_dim]
  Array<double, 2> cos, sin;          // [n, rotated_dims / 2], of queries
  Array<double, 2> key_cos, key_sin;  // of keys, where they differ from the queries'
  std::vector<TurningPair> pairs;     // of rows or rotary tables that turn
  Array<double, 2> bias;              // [heads, m]
  std::vector<double> slopes;         // [heads], where bias is -slope |distance|
  std::vector<int> buckets;           // [m], where a distance only selects a number of a table
  Array<double, 3> tile;              // [heads, n, n]: queries and keys at the positions
  DistanceVectorTables vectors;       // with the row of each of the m distances
  Array<double, 1> query_scale;       // [n]
  std::vector<Figure> figures;        // what the scheme itself says people compare
};

// Calls visit(name, array) for every table of numbers that is offered, in reading order.
template <class Visit>
void ForEachTable(const SchemeTables& tables, Visit&& visit) {
  const auto offer = [&](const char* name, const auto& table) {
    if (!table.empty()) visit(name, table);
  };
  offer("rows", tables.rows);
  offer("cos", tables.cos);
  offer("sin", tables.sin);
  offer("key_cos", tables.key_cos);
  offer("key_sin", tables.key_sin);
  offer("tile_bias", tables.tile);
  offer("query_scale", tables.query_scale);
  offer("bias", tables.bias);
  offer("key", tables.vectors.key);
  offer("query", tables.vectors.query);
  offer("value", tables.vectors.value);
  offer("content_bias", tables.vectors.content_bias);
  offer("position_bias", tables.vectors.position_bias);
}

// The tables alone, from given weights: no pairs, slopes or buckets are looked for. No distances:
// none of the tables by distance. Throws Error as FillTables.
SchemeTables FillTablesAt(const Scheme& scheme, Weights weights, const Positions& positions,
                          Distances distances);

// Fills them. `slopes` is set where, over distances -64 .. 64, every head's bias is linear in
// |distance| to 1e-12 and one is not 0. `buckets` is set where the one part with a distance bias
// has one weight [buckets, heads] and returns its entries, checked with two fillings. Throws Error
// for a position the scheme has no row for, and where tables or weights would hold more than 2^27
// numbers.
SchemeTables FillTables(const Scheme& scheme, const TableRequest& request);

}  // namespace sextant
