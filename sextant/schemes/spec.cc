// Reading, writing and building specs.
#include "sextant/schemes/spec.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"
#include "sextant/schemes/composite.h"
#include "sextant/schemes/layers.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMaxSpecBytes = 1 << 20;
constexpr std::size_t kMaxParts = 8;
constexpr std::size_t kMaxLayers = 1024;
constexpr std::string_view kLayers = "layers:";

// name[:key=value[,key=value]...]; a value may be a list [a,b].
SpecPart ParsePart(std::string_view text) {
  SpecPart part;
  const std::size_t colon = text.find(':');
  part.scheme = text.substr(0, colon);
  if (part.scheme.empty()) {
    throw Error("spec", "a scheme's name is missing in \"" + std::string(text) + "\"",
                "write a name and its settings, like rope:base=500000,pairing=adjacent");
  }
  if (colon == std::string_view::npos) return part;
  std::string_view rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error("spec", "\"" + std::string(rest) + "\" is no setting",
                  "settings are key=value, separated by commas");
    }
    const std::string key(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    if (rest.starts_with('[')) {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) throw Error("spec", key + " has a [ without a ]");
      std::vector<double> numbers;
      std::string_view list = rest.substr(1, close - 1);
      while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const ParameterValue item = ParseParameterValue(list.substr(0, comma));
        if (const auto* whole = std::get_if<std::int64_t>(&item)) {
          numbers.push_back(static_cast<double>(*whole));
        } else if (const auto* number = std::get_if<double>(&item)) {
          numbers.push_back(*number);
        } else {
          throw Error("spec", key + " must be a list of numbers");
        }
        list.remove_prefix(std::min(comma + 1, list.size()));
      }
      part.settings.emplace_back(key, numbers);
      rest.remove_prefix(close + 1);
      if (!rest.empty() && rest[0] != ',') throw Error("spec", "text follows the list of " + key);
      if (!rest.empty()) rest.remove_prefix(1);
      continue;
    }
    const std::size_t comma = std::min(rest.find(','), rest.size());
    part.settings.emplace_back(key, ParseParameterValue(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return part;
}

void AddLayers(Spec layer, std::int64_t repeat, Spec& spec) {
  if (!layer.layers.empty()) throw Error("layers", "a layer's scheme cannot be layers itself");
  if (repeat < 1 || std::size_t(repeat) > kMaxLayers ||
      spec.layers.size() + std::size_t(repeat) > kMaxLayers) {
    throw Error("layers", "takes 1 to " + std::to_string(kMaxLayers) + " layers");
  }
  spec.layers.insert(spec.layers.end(), std::size_t(repeat), std::move(layer));
}

// Where the ']' that closes text[0] == '[' stands; lists of numbers within have brackets of their
// own.
std::size_t ClosingBracket(std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']' && --depth == 0) return at;
  }
  throw Error("layers", "has a [ without a ]");
}

// [spec]xN,[spec],...
Spec ParseLayers(std::string_view text) {
  Spec spec;
  const char* form = "write layers:[rope]x3,[none]";
  while (!text.empty()) {
    if (text[0] != '[') throw Error("layers", "each layer's scheme stands in brackets", form);
    const std::size_t close = ClosingBracket(text);
    Spec layer = ParseSpec(text.substr(1, close - 1));
    text.remove_prefix(close + 1);
    std::int64_t repeat = 1;
    if (text.starts_with('x')) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const ParameterValue count = ParseParameterValue(text.substr(1, comma - 1));
      if (!std::holds_alternative<std::int64_t>(count)) {
        throw Error(
            "layers",
            "needs a whole number after x, got \"" + std::string(text.substr(1, comma - 1)) + "\"",
            form);
      }
      repeat = std::get<std::int64_t>(count);
      text.remove_prefix(comma);
    }
    AddLayers(std::move(layer), repeat, spec);
    if (text.empty()) break;
    if (text[0] != ',') throw Error("layers", "a comma separates layers", form);
    text.remove_prefix(1);
  }
  if (spec.layers.empty()) throw Error("layers", "needs the scheme of at least one layer", form);
  return spec;
}

Spec LayersFromJson(const Json& json) {
  const Json& list = json["layers"];
  if (!list.is_array() || list.empty() || json.size() != 1) {
    throw Error("spec", "\"layers\" must be a list of specs and stand alone");
  }
  Spec spec;
  for (const Json& item : list) {
    if (!item.is_object() || !item.contains("repeat")) {
      AddLayers(SpecFromJson(item), 1, spec);
      continue;
    }
    if (!item["repeat"].is_number_integer() || !item.contains("spec") || item.size() != 2) {
      throw Error("layers", "a repeated layer is {\"repeat\": N, \"spec\": {...}}");
    }
    AddLayers(SpecFromJson(item["spec"]), item["repeat"].get<std::int64_t>(), spec);
  }
  return spec;
}

// Runs of equal layers: (first, count).
std::vector<std::pair<std::size_t, std::size_t>> Runs(const std::vector<std::string>& layers) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t at = 0; at < layers.size(); ++at) {
    if (!runs.empty() && layers[at] == layers[runs.back().first]) {
      ++runs.back().second;
    } else {
      runs.emplace_back(at, 1);
    }
  }
  return runs;
}

std::string LayersText(const std::vector<std::string>& layers) {
  std::string text(kLayers);
  for (const auto& [first, count] : Runs(layers)) {
    if (first > 0) text += ",";
    text += "[" + layers[first] + "]";
    if (count > 1) text += "x" + std::to_string(count);
  }
  return text;
}

// A '+' before a letter separates parts; in a number like 1e+4 a digit follows it.
std::vector<std::string_view> SplitParts(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '+' || !std::isalpha(static_cast<unsigned char>(text[i + 1]))) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

void AddSettings(const Json& object, const std::string& prefix, SpecPart& part) {
  for (const auto& [key, value] : object.items()) {
    if (prefix.empty() && key == "scheme") continue;
    const std::string path = prefix + key;
    if (value.is_object()) {
      if (!prefix.empty()) throw Error(part.scheme, path + " nests too deep");
      AddSettings(value, path + ".", part);
    } else if (value.is_number_integer()) {
      part.settings.emplace_back(path, value.get<std::int64_t>());
    } else if (value.is_number()) {
      part.settings.emplace_back(path, value.get<double>());
    } else if (value.is_boolean()) {
      part.settings.emplace_back(path, value.get<bool>());
    } else if (value.is_string()) {
      part.settings.emplace_back(path, value.get<std::string>());
    } else if (value.is_array()) {
      std::vector<double> numbers;
      for (const Json& item : value) {
        if (!item.is_number()) throw Error(part.scheme, path + " must be a list of numbers");
        numbers.push_back(item.get<double>());
      }
      part.settings.emplace_back(path, numbers);
    } else {
      throw Error(part.scheme, path + " must not be null");
    }
  }
}

SpecPart PartFromJson(const Json& json) {
  if (!json.is_object() || !json.contains("scheme") || !json["scheme"].is_string()) {
    throw Error("spec", "JSON must be an object with a \"scheme\"",
                R"(for example {"scheme":"rope","pairing":"adjacent"})");
  }
  SpecPart part;
  part.scheme = json["scheme"].get<std::string>();
  AddSettings(json, "", part);
  return part;
}

Json PartToJson(const SpecPart& part) {
  Json json = {{"scheme", part.scheme}};
  for (const auto& [path, value] : part.settings) {
    Json item;
    std::visit([&](const auto& held) { item = held; }, value);
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) {
      json[path] = item;
    } else {
      json[path.substr(0, dot)][path.substr(dot + 1)] = item;
    }
  }
  return json;
}

SpecPart PartOf(const Scheme& scheme) {
  SpecPart part{scheme.name(), {}};
  for (const Parameter& parameter : scheme.parameters()) {
    part.settings.emplace_back(parameter.path, parameter.value);
  }
  return part;
}

// What a spec of the name and the part's rules alone gives. A shape the scheme refuses without
// settings leaves the registry's defaults.
std::vector<Parameter> Defaults(const SpecPart& part, const SchemeEntry& entry,
                                const ModelShape& shape) {
  ParameterValues rules = part.settings;
  std::erase_if(rules, [](const auto& setting) { return !setting.first.ends_with(".rule"); });
  try {
    return entry.list(rules, shape);
  } catch (const Error&) {
    return entry.parameters;
  }
}

// Aliases become the parts they stand for; settings go to an alias of a single scheme.
std::vector<SpecPart> ResolveAlias(const SpecPart& part, const Registry& registry) {
  for (const SchemeEntry& entry : registry.entries()) {
    if (entry.info.name == part.scheme) return {part};
  }
  for (const Alias& alias : Aliases()) {
    if (part.scheme != alias.name) continue;
    Spec spec = ParseSpec(alias.spec);
    if (spec.parts.size() > 1 && !part.settings.empty()) {
      throw Error(part.scheme, "takes no settings because it stands for " + std::string(alias.spec),
                  "give them to the parts, like sinusoidal:base=1000+learned");
    }
    if (spec.parts.size() == 1) spec.parts[0].settings = part.settings;
    return spec.parts;
  }
  return {part};
}

// Layers with equal specs share one scheme and so its weights.
SchemePtr MakeLayerSchemes(const Spec& spec, const ModelShape& shape, const Registry& registry) {
  std::vector<SchemePtr> parts;
  std::vector<std::string> texts;
  std::vector<std::size_t> pattern;
  for (const Spec& layer : spec.layers) {
    const std::string text = ToText(layer);
    const auto found = std::find(texts.begin(), texts.end(), text);
    pattern.push_back(std::size_t(found - texts.begin()));
    if (found != texts.end()) continue;
    texts.push_back(text);
    parts.push_back(MakeScheme(layer, shape, registry));
  }
  return MakeLayers(std::move(parts), std::move(pattern));
}

}  // namespace

Spec ParseSpec(std::string_view text) {
  if (text.size() > kMaxSpecBytes) throw Error("spec", "is longer than 1 MiB");
  if (text.empty()) throw Error("spec", "is empty", "name a scheme, like rope or alibi:heads=12");
  if (text[0] == '@') {
    const std::string path(text.substr(1));
    return SpecFromJson(ReadJson(ReadFile(path, kMaxSpecBytes), path));
  }
  if (text[0] == '{') return SpecFromJson(ReadJson(text, "spec"));
  if (text.starts_with(kLayers)) return ParseLayers(text.substr(kLayers.size()));
  if (text == "layers") return ParseLayers("");
  Spec spec;
  for (std::string_view part : SplitParts(text)) spec.parts.push_back(ParsePart(part));
  return spec;
}

Spec SpecFromJson(const Json& json) {
  if (json.is_object() && json.contains("layers")) return LayersFromJson(json);
  if (!json.is_object() || !json.contains("compose")) return {{PartFromJson(json)}, {}};
  Spec spec;
  const Json& parts = json["compose"];
  if (!parts.is_array() || parts.empty() || json.size() != 1) {
    throw Error("spec", "\"compose\" must be a list of schemes and stand alone");
  }
  for (const Json& part : parts) spec.parts.push_back(PartFromJson(part));
  return spec;
}

Spec SpecOf(const Scheme& scheme) {
  Spec spec;
  if (const std::vector<std::size_t> pattern = scheme.layer_pattern(); !pattern.empty()) {
    const std::vector<SchemePtr> parts = scheme.parts();
    for (std::size_t part : pattern) spec.layers.push_back(SpecOf(*parts[part]));
    return spec;
  }
  for (const SchemePtr& part : scheme.parts()) spec.parts.push_back(PartOf(*part));
  if (spec.parts.empty()) spec.parts.push_back(PartOf(scheme));
  return spec;
}

Json ToJson(const Spec& spec) {
  if (!spec.layers.empty()) {
    std::vector<std::string> texts;
    for (const Spec& layer : spec.layers) texts.push_back(ToText(layer));
    Json layers = Json::array();
    for (const auto& [first, count] : Runs(texts)) {
      Json layer = ToJson(spec.layers[first]);
      if (count > 1) layer = {{"repeat", count}, {"spec", std::move(layer)}};
      layers.push_back(std::move(layer));
    }
    return {{"layers", layers}};
  }
  if (spec.parts.size() == 1) return PartToJson(spec.parts[0]);
  Json parts = Json::array();
  for (const SpecPart& part : spec.parts) parts.push_back(PartToJson(part));
  return {{"compose", parts}};
}

std::string ToText(const Spec& spec) {
  if (!spec.layers.empty()) {
    std::vector<std::string> texts;
    for (const Spec& layer : spec.layers) texts.push_back(ToText(layer));
    return LayersText(texts);
  }
  std::string text;
  for (const SpecPart& part : spec.parts) {
    if (!text.empty()) text += '+';
    text += part.scheme;
    char separator = ':';
    for (const auto& [path, value] : part.settings) {
      text += separator + path + "=" + ToText(value);
      separator = ',';
    }
  }
  return text;
}

std::string ShortText(const Scheme& scheme, const ModelShape& shape, const Registry& registry) {
  if (const std::vector<std::size_t> pattern = scheme.layer_pattern(); !pattern.empty()) {
    const std::vector<SchemePtr> parts = scheme.parts();
    std::vector<std::string> texts;
    for (std::size_t part : pattern) texts.push_back(ShortText(*parts[part], shape, registry));
    return LayersText(texts);
  }
  Spec spec = SpecOf(scheme);
  for (SpecPart& part : spec.parts) {
    const SchemeEntry& entry = registry.Find(part.scheme);
    const std::vector<Parameter> defaults = Defaults(part, entry, shape);
    std::erase_if(part.settings, [&](const auto& setting) {
      const auto& known = setting.first.ends_with(".rule") ? entry.parameters : defaults;
      return std::any_of(known.begin(), known.end(), [&](const Parameter& parameter) {
        return parameter.path == setting.first && parameter.value == setting.second;
      });
    });
    for (auto& [path, value] : part.settings) path = ShortName(path);
  }
  return ToText(spec);
}

SchemePtr MakeScheme(const Spec& spec, const ModelShape& shape, const Registry& registry) {
  if (!spec.layers.empty()) return MakeLayerSchemes(spec, shape, registry);
  std::vector<SchemePtr> parts;
  for (const SpecPart& given : spec.parts) {
    for (const SpecPart& part : ResolveAlias(given, registry)) {
      parts.push_back(registry.Find(part.scheme).make(part.settings, shape));
    }
  }
  if (parts.size() > kMaxParts) throw Error("spec", "has more than 8 parts");
  if (parts.size() == 1) return parts[0];
  return Compose(std::move(parts));
}

SchemePtr MakeScheme(std::string_view spec, const ModelShape& shape, const Registry& registry) {
  return MakeScheme(ParseSpec(spec), shape, registry);
}

}  // namespace sextant
