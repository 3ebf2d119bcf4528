// From JSON to values, leaving out what is malformed.
#include "lab/report/results.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/report/json_field.h"
#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

std::vector<NamedText> NamedTexts(const Json& json, std::string_view name) {
  std::vector<NamedText> texts;
  const Json* field = FindField(json, name);
  if (!field || !field->is_object()) return texts;
  for (const auto& [key, value] : field->items()) texts.emplace_back(key, ValueText(value));
  return texts;
}

std::vector<std::string> Texts(const Json& json, std::string_view name) {
  std::vector<std::string> texts;
  for (const Json& item : ItemsField(json, name)) texts.push_back(ValueText(item));
  return texts;
}

std::vector<CurvePoint> ReadCurve(const Json& cell) {
  std::vector<CurvePoint> curve;
  for (const Json& point : ItemsField(cell, "curve")) {
    if (!NumberField(point, "step")) continue;
    curve.push_back({IntegerField(point, "step", 0), NumberField(point, "tokens"),
                     NumberField(point, "held_out_loss")});
  }
  return curve;
}

std::vector<Evaluation> ReadEvaluation(const Json& cell, std::int64_t context) {
  std::vector<Evaluation> evaluation;
  for (const Json& row : ItemsField(cell, "evaluation")) {
    Evaluation read;
    read.protocol = TextField(row, "protocol");
    read.length = IntegerField(row, "length", 0);
    const double from_length =
        context > 0 ? static_cast<double>(read.length) / static_cast<double>(context) : 0;
    read.multiple = NumberField(row, "multiple").value_or(from_length);
    read.loss = NumberField(row, "loss");
    read.bits_per_byte = NumberField(row, "bits_per_byte");
    read.cannot = TextField(row, "cannot");
    if (!read.protocol.empty() && read.multiple > 0) evaluation.push_back(std::move(read));
  }
  return evaluation;
}

std::vector<PositionLoss> ReadByPosition(const Json& cell) {
  std::vector<PositionLoss> losses;
  for (const Json& row : ItemsField(cell, "by_position")) {
    const PositionLoss read{IntegerField(row, "from", -1), IntegerField(row, "to", -1),
                            NumberField(row, "loss")};
    if (read.from >= 0 && read.to > read.from) losses.push_back(read);
  }
  return losses;
}

State ReadState(const std::string& text) {
  if (text == "finished") return State::kFinished;
  return text == "failed" ? State::kFailed : State::kUnfinished;
}

Cell ReadCell(const Json& json, std::int64_t context) {
  Cell cell;
  cell.seed = IntegerField(json, "seed", 0);
  cell.state = ReadState(TextField(json, "state"));
  cell.reason = TextField(json, "reason");
  cell.steps = NumberField(json, "steps");
  cell.tokens = NumberField(json, "tokens");
  cell.seconds = NumberField(json, "seconds");
  cell.tokens_per_second = NumberField(json, "tokens_per_second");
  cell.parameters = NumberField(json, "parameters");
  cell.weights = TextField(json, "weights");
  cell.curve = ReadCurve(json);
  cell.evaluation = ReadEvaluation(json, context);
  cell.by_position = ReadByPosition(json);
  if (const Json* norm = FindField(json, "position_to_token_norm")) {
    cell.norm_before = NumberField(*norm, "before");
    cell.norm_after = NumberField(*norm, "after");
  }
  if (const Json* sample = FindField(json, "sample")) {
    cell.prompt = TextField(*sample, "prompt");
    cell.story = TextField(*sample, "text");
  }
  return cell;
}

std::optional<ProbeResult> ReadProbe(const Json& scheme) {
  const Json* json = FindField(scheme, "probe");
  if (!json || !json->is_object()) return std::nullopt;
  ProbeResult probe;
  probe.range = NumberField(*json, "range");
  probe.anchor_spread = NumberField(*json, "anchor_spread");
  probe.norm_ratio = NumberField(*json, "norm_ratio");
  probe.relative = TruthField(*json, "relative");
  if (const Json* offsets = FindField(*json, "offsets")) probe.offsets = Numbers(*offsets);
  if (const Json* anchors = FindField(*json, "anchors")) probe.anchors = Numbers(*anchors);
  if (const Json* scores = FindField(*json, "scores")) probe.scores = NumberRows(*scores);
  probe.note = TextField(*json, "note");
  const Json* requirements = FindField(*json, "requirements");
  if (requirements && requirements->is_object()) {
    for (const auto& [name, value] : requirements->items()) {
      probe.requirements.push_back({name, TruthField(value, "holds"), NumberField(value, "number"),
                                    TextField(value, "meaning")});
    }
  }
  return probe;
}

std::optional<TableResult> ReadTable(const Json& scheme) {
  const Json* json = FindField(scheme, "table");
  if (!json || !json->is_object()) return std::nullopt;
  TableResult table;
  table.kind = TextField(*json, "kind");
  table.row_label = TextField(*json, "row_label");
  table.column_label = TextField(*json, "column_label");
  table.first_row = NumberField(*json, "row_first").value_or(0);
  table.row_step = NumberField(*json, "row_step").value_or(1);
  table.first_column = NumberField(*json, "column_first").value_or(0);
  table.column_step = NumberField(*json, "column_step").value_or(1);
  if (table.row_step == 0) table.row_step = 1;
  if (table.column_step == 0) table.column_step = 1;
  if (const Json* rows = FindField(*json, "rows")) table.rows = NumberRows(*rows);
  return table;
}

// The names of the schemes a spec is made of, or where it names none those in "a+b:setting=1".
std::vector<std::string> PartNames(const Json& scheme) {
  std::vector<std::string> names;
  if (const Json* spec = FindField(scheme, "spec")) {
    for (const Json& part : ItemsField(*spec, "compose")) {
      names.push_back(TextField(part, "scheme"));
    }
    if (names.empty()) names.push_back(TextField(*spec, "scheme"));
    if (!names.front().empty()) return names;
    names.clear();
  }
  const std::string label = TextField(scheme, "scheme");
  for (std::size_t at = 0; at <= label.size();) {
    const std::size_t end = std::min(label.find('+', at), label.size());
    names.push_back(label.substr(at, std::min(label.find(':', at), end) - at));
    at = end + 1;
  }
  return names;
}

bool HasPlainFrequencies(const Json& scheme) {
  const Json* spec = FindField(scheme, "spec");
  const Json* frequencies = spec ? FindField(*spec, "frequencies") : nullptr;
  const std::string rule = frequencies ? TextField(*frequencies, "rule") : "";
  return rule.empty() || rule == "default";
}

SchemeResult ReadScheme(const Json& json, std::int64_t context) {
  SchemeResult scheme;
  scheme.name = TextField(json, "scheme");
  if (scheme.name.empty()) scheme.name = "(no name)";
  scheme.parts = PartNames(json);
  scheme.plain_frequencies = HasPlainFrequencies(json);
  if (const Json* spec = FindField(json, "spec")) scheme.spec = ValueText(*spec);
  scheme.title = TextField(json, "title");
  scheme.formula = TextField(json, "formula");
  scheme.source = TextField(json, "source");
  scheme.hooks = Texts(json, "hooks");
  if (const Json* claims = FindField(json, "claims"); claims && claims->is_object()) {
    for (const auto& [name, value] : claims->items()) {
      if (value.is_boolean()) scheme.claims.emplace_back(name, value.get<bool>());
    }
  }
  scheme.probe = ReadProbe(json);
  scheme.table = ReadTable(json);
  for (const Json& cell : ItemsField(json, "cells")) {
    if (cell.is_object()) scheme.cells.push_back(ReadCell(cell, context));
  }
  return scheme;
}

void TellApart(std::vector<SchemeResult>& schemes) {
  const auto taken = [&](const std::string& name, std::size_t before) {
    return std::any_of(schemes.begin(), schemes.begin() + static_cast<std::ptrdiff_t>(before),
                       [&](const SchemeResult& scheme) { return scheme.name == name; });
  };
  for (std::size_t at = 0; at < schemes.size(); ++at) {
    const std::string name = schemes[at].name;
    for (int copy = 2; taken(schemes[at].name, at); ++copy) {
      schemes[at].name = name + " (" + std::to_string(copy) + ")";
    }
  }
}

}  // namespace

bool SchemeResult::AnyFinished() const { return std::ranges::any_of(cells, &Cell::finished); }

Results ReadResults(const Json& json) {
  const std::string format = TextField(json, "format");
  if (format != kResultsFormat) {
    const std::string got = json.is_object() && !format.empty() ? "\"" + format.substr(0, 60) + "\""
                                                                : std::string("none");
    throw Error("results", "format must be \"" + std::string(kResultsFormat) + "\", got " + got,
                "give the results.json that `sextant compare` wrote");
  }
  Results results;
  results.version = TextField(json, "version");
  results.command = TextField(json, "command");
  results.baseline = TextField(json, "baseline");
  results.settings = NamedTexts(json, "settings");
  results.data = NamedTexts(json, "data");
  results.environment = NamedTexts(json, "environment");
  for (const Json& seed : ItemsField(json, "seeds")) {
    if (seed.is_number_integer()) results.seeds.push_back(seed.get<std::int64_t>());
  }
  if (const Json* settings = FindField(json, "settings")) {
    results.context = std::max<std::int64_t>(0, IntegerField(*settings, "context", 0));
  }
  for (const Json& scheme : ItemsField(json, "schemes")) {
    if (scheme.is_object()) results.schemes.push_back(ReadScheme(scheme, results.context));
  }
  TellApart(results.schemes);
  std::ranges::stable_partition(results.schemes, &SchemeResult::AnyFinished);
  return results;
}

}  // namespace sextant::lab
