// sextant schemes: the list of schemes, or one explained.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "sextant/cli/program.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/cli/table_layout.h"
#include "sextant/core/closest.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

// What each hook does, for readers of the explanation.
std::string HookMeaning(Hook hook) {
  switch (hook) {
    case Hook::kAdditive:
      return "rows added to embeddings";
    case Hook::kRotary:
      return "channel pairs of queries and keys turned";
    case Hook::kDistanceBias:
      return "a number by head and distance added to scores";
    case Hook::kTileBias:
      return "a number by head, query position and key position added to scores";
    case Hook::kDistanceVectors:
      return "vectors by distance in the query, key and value terms";
    case Hook::kContextual:
      return "a number computed from the queries and scores themselves";
    case Hook::kQueryScale:
      return "a factor by query position on scores";
  }
  return "";
}

std::vector<HookName> HooksOf(const Scheme& scheme) {
  std::vector<HookName> hooks;
  for (const HookName& hook : HookNames()) {
    if (scheme.offers(hook.hook)) hooks.push_back(hook);
  }
  return hooks;
}

std::vector<std::string> ClaimsOf(const Scheme& scheme) {
  std::vector<std::string> names;
  const Claims claims = scheme.claims();
  for (const ClaimText& claim : ClaimTexts()) {
    if (claims.*claim.value) names.emplace_back(claim.name);
  }
  return names;
}

std::vector<std::string> AliasesOf(const Scheme& scheme) {
  std::vector<std::string> names;
  for (const Alias& alias : Aliases()) {
    const Spec spec = ParseSpec(alias.spec);
    std::string name;
    for (const SpecPart& part : spec.parts) name += (name.empty() ? "" : "+") + part.scheme;
    if (name == scheme.name()) names.emplace_back(alias.name);
  }
  return names;
}

// A parameter, and under which choice of a rule it exists ("" always).
struct ListedParameter {
  Parameter parameter;
  std::string when;
};

// Adds a parameter that a choice of a rule brings; choices that bring the same share a line.
void AddOfChoice(const Parameter& parameter, const std::string& rule, const std::string& choice,
                 std::vector<ListedParameter>& listed) {
  for (ListedParameter& known : listed) {
    const Parameter& same = known.parameter;
    if (same.path == parameter.path && same.help == parameter.help &&
        same.value == parameter.value && same.minimum == parameter.minimum &&
        same.maximum == parameter.maximum && known.when.starts_with(rule + "=")) {
      known.when += " | " + choice;
      return;
    }
  }
  listed.push_back({parameter, rule + "=" + choice});
}

// The scheme's parameters, then those that other choices of a rule would bring.
std::vector<ListedParameter> ParametersOf(const Scheme& scheme, const Registry& registry) {
  std::vector<ListedParameter> listed;
  for (const Parameter& parameter : scheme.parameters()) listed.push_back({parameter, ""});
  if (!scheme.parts().empty()) return listed;
  const std::vector<ListedParameter> own = listed;
  for (const ListedParameter& rule : own) {
    if (!rule.parameter.path.ends_with(".rule")) continue;
    const std::string group = rule.parameter.path.substr(0, rule.parameter.path.size() - 4);
    for (const std::string& choice : rule.parameter.choices) {
      if (ParameterValue(choice) == rule.parameter.value) continue;
      for (const Parameter& parameter :
           registry.Find(scheme.name()).list({{rule.parameter.path, choice}}, {})) {
        const bool known = std::any_of(own.begin(), own.end(), [&](const ListedParameter& mine) {
          return mine.parameter.path == parameter.path;
        });
        if (known || !parameter.path.starts_with(group)) continue;
        AddOfChoice(parameter, rule.parameter.path, choice, listed);
      }
    }
  }
  return listed;
}

std::string RangeOf(const Parameter& parameter) {
  if (parameter.type == "choice") return Join(parameter.choices, " | ");
  if (parameter.type == "text") return "";
  const bool whole = parameter.type == "integer";
  const auto bound = [&](double value) {
    return whole ? ToText(static_cast<std::int64_t>(value)) : ToText(value);
  };
  return bound(parameter.minimum) + " .. " + bound(parameter.maximum);
}

Json ParameterJson(const ListedParameter& listed) {
  const Parameter& parameter = listed.parameter;
  Json json = {{"name", parameter.path}, {"type", parameter.type}};
  if (parameter.type == "choice") {
    json["choices"] = parameter.choices;
  } else if (parameter.type != "text") {
    json["minimum"] = parameter.minimum;
    json["maximum"] = parameter.maximum;
  }
  std::visit([&](const auto& value) { json["default"] = value; }, parameter.value);
  json["help"] = parameter.help;
  if (!parameter.follows.empty()) json["follows"] = parameter.follows;
  if (!listed.when.empty()) json["when"] = listed.when;
  return json;
}

Json SchemeJson(const Scheme& scheme, const Registry& registry) {
  const SchemeInfo& info = scheme.info();
  Json json = {{"name", scheme.name()}, {"title", info.title}, {"hooks", Json::array()}};
  for (const HookName& hook : HooksOf(scheme)) json["hooks"].push_back(hook.name);
  const Claims claims = scheme.claims();
  for (const ClaimText& claim : ClaimTexts()) json["claims"][claim.name] = claims.*claim.value;
  json["parameters"] = Json::array();
  for (const ListedParameter& parameter : ParametersOf(scheme, registry)) {
    json["parameters"].push_back(ParameterJson(parameter));
  }
  json["source"] = info.source;
  json["formula"] = info.formula;
  json["known_models"] = info.known_models;
  json["weights"] = Json::array();
  for (const WeightInfo& weight : scheme.weights()) {
    json["weights"].push_back({{"name", weight.name},
                               {"shape", weight.shape},
                               {"scope", weight.scope == WeightScope::kModel ? "model" : "layer"},
                               {"help", weight.help}});
  }
  json["aliases"] = AliasesOf(scheme);
  if (!scheme.parts().empty()) {
    json["parts"] = Json::array();
    for (const SchemePtr& part : scheme.parts()) json["parts"].push_back(part->name());
  }
  return json;
}

std::string List(const Registry& registry) {
  TextTable table({Align::kLeft});
  table.Add({"name", "title", "enters by", "claims"});
  for (const SchemeEntry& entry : registry.entries()) {
    const SchemePtr scheme = entry.make({}, {});
    std::vector<std::string> hooks;
    for (const HookName& hook : HooksOf(*scheme)) hooks.emplace_back(hook.name);
    table.Add({std::string(entry.info.name), std::string(entry.info.title),
               hooks.empty() ? "-" : Join(hooks), Join(ClaimsOf(*scheme))});
  }
  std::vector<std::string> aliases;
  for (const Alias& alias : Aliases()) {
    aliases.push_back(std::string(alias.name) + " = " + alias.spec);
  }
  return table.Text() + "\nOther names:\n" + Wrapped(Join(aliases), 2) +
         "\nsextant schemes NAME explains one; every claim is tested for every scheme.\n";
}

std::string ParameterText(const std::vector<ListedParameter>& parameters) {
  if (parameters.empty()) return "  none\n";
  std::string text;
  for (const auto& [parameter, when] : parameters) {
    const std::string range = RangeOf(parameter);
    text += "  " + parameter.path + " = " + ToText(parameter.value) + "  (" + parameter.type +
            (range.empty() ? "" : ", " + range) + ")\n";
    std::string meaning = parameter.help;
    if (!parameter.follows.empty()) meaning += "; follows the model's " + parameter.follows;
    if (!when.empty()) meaning += "; only with " + when;
    text += Wrapped(meaning, 6);
  }
  return text;
}

std::string ClaimLines(const Claims& claims) {
  std::string text;
  for (const auto& claim : ClaimTexts()) {
    text += std::string("  ") + claim.name + ": " + (claims.*claim.value ? "yes" : "no") + "\n" +
            Wrapped(claim.meaning, 6) + Wrapped(std::string("tested: ") + claim.test, 6);
  }
  return text;
}

std::string WeightText(const std::vector<WeightInfo>& weights) {
  if (weights.empty()) return "  none\n";
  std::string text;
  for (const WeightInfo& weight : weights) {
    text +=
        fmt::format("  {} [{}], one for {}: {}\n", weight.name, fmt::join(weight.shape, " x "),
                    weight.scope == WeightScope::kModel ? "all layers" : "each layer", weight.help);
  }
  return text;
}

std::string Explanation(const Scheme& scheme, const Registry& registry) {
  const SchemeInfo& info = scheme.info();
  std::string text = scheme.name() + ": " + std::string(info.title) + "\n\nFormula\n" +
                     Wrapped(info.formula, 2) + "\nWhere it enters\n";
  for (const HookName& hook : HooksOf(scheme)) {
    text += std::string("  ") + hook.name + ": " + HookMeaning(hook.hook) + "\n";
  }
  if (HooksOf(scheme).empty()) text += "  nowhere: queries, keys and scores stay as they are\n";
  if (!scheme.parts().empty()) {
    std::vector<std::string> parts;
    for (const SchemePtr& part : scheme.parts()) parts.push_back(part->name());
    text += "\nParts\n  " + Join(parts) + " (sextant schemes NAME explains each)\n";
  }
  text += "\nParameters\n" + ParameterText(ParametersOf(scheme, registry)) + "\nClaims\n" +
          ClaimLines(scheme.claims()) + "\nTrainable weights\n" + WeightText(scheme.weights()) +
          "\nSource\n" + Wrapped(info.source, 2);
  if (!info.known_models.empty()) text += "\nKnown models\n" + Wrapped(info.known_models, 2);
  const std::vector<std::string> aliases = AliasesOf(scheme);
  if (!aliases.empty()) text += "\nOther names\n  " + Join(aliases) + "\n";
  return text + "\nNext: sextant probe " + scheme.name() + ", sextant table " + scheme.name() +
         "\n";
}

struct Options {
  std::string name;
  bool json = false;
};

void Run(const Options& options, const Session& session) {
  if (options.name.empty()) {
    if (!options.json) {
      session.out << List(session.registry);
      return;
    }
    Json list = Json::array();
    for (const SchemeEntry& entry : session.registry.entries()) {
      list.push_back(SchemeJson(*entry.make({}, {}), session.registry));
    }
    session.out << JsonText(list);
    return;
  }
  const SchemePtr scheme = MakeScheme(options.name, {}, session.registry);
  session.out << (options.json ? JsonText(SchemeJson(*scheme, session.registry))
                               : Explanation(*scheme, session.registry));
}

}  // namespace

void AddSchemes(CLI::App& app, const Session& session, int&) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("schemes", "the list of schemes, or one explained");
  command->allow_extras();
  command->add_option("NAME", options->name,
                      "a scheme to explain: its name, another name it has, or a spec");
  command->add_flag("--json", options->json, "the same as JSON: a list, or one object with NAME");
  command->footer(
      "Examples:\n"
      "  sextant schemes                 what there is, where it enters, what it claims\n"
      "  sextant schemes rope            formula, parameters, claims and how each is tested\n"
      "  sextant schemes hybrid          a composition\n"
      "  sextant schemes --json          for programs");
  command->callback([command, options, &session] {
    RefuseExtras(*command);
    Run(*options, session);
  });
}

}  // namespace sextant::cli
