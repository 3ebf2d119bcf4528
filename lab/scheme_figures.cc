// The probe and the table of a scheme for a report.
#include "lab/scheme_figures.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/probe/report.h"
#include "sextant/probe/tables.h"
#include "sextant/schemes/spec.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kMostPositions = 64;

Json Rows(View<const double, 2> table) {
  Json rows = Json::array();
  for (Index i = 0; i < table.extent(0); ++i) {
    const auto row = table[i].span();
    rows.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return rows;
}

Json Figure(const char* kind, const char* row_label, const char* column_label,
            View<const double, 2> table) {
  return {{"kind", kind},
          {"row_label", row_label},
          {"column_label", column_label},
          {"rows", Rows(table)}};
}

Json TableFigure(const Scheme& scheme, std::int64_t context) {
  const std::int64_t count = std::min(context, kMostPositions);
  TableRequest request;
  for (std::int64_t position = 0; position < count; ++position) {
    request.positions.push_back(position);
  }
  request.distances = {1 - count, count};
  const SchemeTables tables = FillTables(scheme, request);
  if (!tables.rows.empty()) return Figure("rows", "position", "channel", tables.rows);
  if (!tables.cos.empty()) return Figure("cos", "position", "pair", tables.cos);
  if (!tables.bias.empty()) {
    Json figure = Figure("bias", "head", "key position - query position", tables.bias);
    figure["column_first"] = request.distances.first;
    return figure;
  }
  if (!tables.tile.empty()) {
    return Figure("tile bias of head 0", "query position", "key position", tables.tile.view()[0]);
  }
  if (!tables.vectors.key.empty()) {
    return Figure("key vectors of head 0", "row", "channel", tables.vectors.key.view()[0]);
  }
  return nullptr;
}

// What `measure` gives, or null where the scheme has no value for what it asks.
template <class Do>
Json OrNull(Do&& measure) {
  try {
    return measure();
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

Json DescribeScheme(const std::string& text, const Scheme& scheme, std::int64_t context,
                    const Registry& registry) {
  const SchemeInfo& info = scheme.info();
  Json json = {
      {"scheme", text},        {"spec", ToJson(SpecOf(scheme))},
      {"title", info.title},   {"formula", info.formula.substr(0, info.formula.find('\n'))},
      {"source", info.source}, {"hooks", Json::array()}};
  for (const HookName& hook : HookNames()) {
    if (scheme.offers(hook.hook)) json["hooks"].push_back(hook.name);
  }
  const Claims claims = scheme.claims();
  for (const ClaimText& claim : ClaimTexts()) json["claims"][claim.name] = claims.*claim.value;
  const ProbeSettings settings;
  json["probe"] = OrNull([&] {
    return ToJson(
        Measure(text, MakeScheme(text, ProbeShape(settings.head_dim), registry), settings),
        settings);
  });
  json["table"] = OrNull([&] { return TableFigure(scheme, context); });
  return json;
}

}  // namespace sextant::lab
