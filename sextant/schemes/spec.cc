// Reading, writing and building specs.
#include "sextant/schemes/spec.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"
#include "sextant/schemes/composite.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMaxSpecBytes = 1 << 20;
constexpr std::size_t kMaxParts = 8;

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

}  // namespace

Spec ParseSpec(std::string_view text) {
  if (text.size() > kMaxSpecBytes) throw Error("spec", "is longer than 1 MiB");
  if (text.empty()) throw Error("spec", "is empty", "name a scheme, like rope or alibi:heads=12");
  if (text[0] == '@') {
    const std::string path(text.substr(1));
    return SpecFromJson(ReadJson(ReadFile(path, kMaxSpecBytes), path));
  }
  if (text[0] == '{') return SpecFromJson(ReadJson(text, "spec"));
  Spec spec;
  for (std::string_view part : SplitParts(text)) spec.parts.push_back(ParsePart(part));
  return spec;
}

Spec SpecFromJson(const Json& json) {
  if (!json.is_object() || !json.contains("compose")) return {{PartFromJson(json)}};
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
  for (const SchemePtr& part : scheme.parts()) spec.parts.push_back(PartOf(*part));
  if (spec.parts.empty()) spec.parts.push_back(PartOf(scheme));
  return spec;
}

Json ToJson(const Spec& spec) {
  if (spec.parts.size() == 1) return PartToJson(spec.parts[0]);
  Json parts = Json::array();
  for (const SpecPart& part : spec.parts) parts.push_back(PartToJson(part));
  return {{"compose", parts}};
}

std::string ToText(const Spec& spec) {
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
