// Sections of a scheme's explanation, and their two renderings.
#include "sextant/cli/scheme_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "sextant/cli/table_layout.h"
#include "sextant/core/closest.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

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

// What a forward pass pays beside plain attention, for n queries and m keys.
std::string CostOf(Hook hook, const Scheme& scheme) {
  switch (hook) {
    case Hook::kAdditive:
      return "one addition a channel, once for the whole model; the rows are n x model_dim numbers";
    case Hook::kRotary:
      return "three operations a rotated channel of every query and key in every layer; cosines "
             "and sines are n x " +
             std::to_string(scheme.rotary_shape().rotated_dims) + " numbers";
    case Hook::kDistanceBias:
      return "one addition a score; the bias is one number a head and distance, n + m - 1 of them";
    case Hook::kTileBias:
      return "one addition a score; the bias is one number a head, query and key, made tile by "
             "tile";
    case Hook::kDistanceVectors:
      return "one more product of queries (or keys) with a vector a distance, and a gather a score";
    case Hook::kContextual:
      return "a pass over each head's scores; no form that never holds n x m scores";
    case Hook::kQueryScale:
      return "one multiplication a query";
  }
  return "";
}

std::vector<PageItem> Lines(std::string_view text) {
  std::vector<PageItem> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    items.push_back({"", {std::string(text.substr(0, end))}});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

std::vector<PageItem> ParameterItems(const Scheme& scheme, const Registry& registry) {
  std::vector<PageItem> items;
  for (const auto& [parameter, when] : ParametersOf(scheme, registry)) {
    const std::string range = RangeOf(parameter);
    std::string meaning = parameter.help;
    if (!parameter.follows.empty()) meaning += "; follows the model's " + parameter.follows;
    if (!when.empty()) meaning += "; only with " + when;
    items.push_back({parameter.path + " = " + ToText(parameter.value) + "  (" + parameter.type +
                         (range.empty() ? "" : ", " + range) + ")",
                     {meaning}});
  }
  return items;
}

std::vector<PageItem> ClaimItems(const Claims& claims) {
  std::vector<PageItem> items;
  for (const ClaimText& claim : ClaimTexts()) {
    items.push_back({std::string(claim.name) + ": " + (claims.*claim.value ? "yes" : "no"),
                     {claim.meaning, std::string("tested: ") + claim.test}});
  }
  return items;
}

std::vector<PageItem> WeightItems(const std::vector<WeightInfo>& weights) {
  std::vector<PageItem> items;
  for (const WeightInfo& weight : weights) {
    items.push_back(
        {fmt::format("{} [{}], one for {}: {}", weight.name, fmt::join(weight.shape, " x "),
                     weight.scope == WeightScope::kModel ? "all layers" : "each layer",
                     weight.help),
         {}});
  }
  return items;
}

std::vector<PageItem> PartItems(const Scheme& scheme) {
  std::vector<std::string> parts;
  for (const SchemePtr& part : scheme.parts()) parts.push_back(part->name());
  return {{"", {Join(parts) + " (sextant schemes NAME explains each)"}}};
}

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

}  // namespace

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
      const ParameterValues chosen = {{rule.parameter.path, choice}};
      for (const Parameter& parameter :
           registry.Find(scheme.name()).list(chosen, {{"context", 2048}})) {
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

SchemePage PageOf(const Scheme& scheme, const Registry& registry) {
  const SchemeInfo& info = scheme.info();
  SchemePage page{scheme.name(), std::string(info.title), {}};
  const auto add = [&](const char* title, std::vector<PageItem> items, const char* otherwise) {
    if (items.empty()) items.push_back({"", {otherwise}});
    page.sections.push_back({title, std::move(items)});
  };
  std::vector<PageItem> enters, costs;
  for (const HookName& hook : HooksOf(scheme)) {
    enters.push_back({std::string(hook.name) + ": " + HookMeaning(hook.hook), {}});
    costs.push_back({"", {CostOf(hook.hook, scheme)}});
  }
  add("Formula", Lines(info.formula), "");
  add("Where it enters", std::move(enters), "nowhere: queries, keys and scores stay as they are");
  if (!scheme.parts().empty()) add("Parts", PartItems(scheme), "");
  add("Parameters", ParameterItems(scheme, registry), "none");
  add("Cost", std::move(costs), "none");
  add("What is invariant", ClaimItems(scheme.claims()), "");
  add("In the trained length and beyond", Lines(info.beyond), "as its parts");
  add("Known models", Lines(info.known_models), "none known");
  add("Layout and sign conventions", Lines(info.conventions), "as its parts");
  add("Pitfalls", Lines(info.pitfalls), "none known");
  add("Error of its tables", Lines(info.error), "computed in double and rounded once");
  add("Which tests prove it", Lines(info.proof), "the conformance suite");
  add("Trainable weights", WeightItems(scheme.weights()), "none");
  add("Source", Lines(info.source), "");
  return page;
}

std::string TerminalText(const SchemePage& page) {
  std::string text = page.name + ": " + page.title + "\n";
  for (const PageSection& section : page.sections) {
    text += "\n" + section.title + "\n";
    for (const PageItem& item : section.items) {
      if (!item.term.empty()) text += "  " + item.term + "\n";
      for (const std::string& detail : item.details) {
        text += Wrapped(detail, item.term.empty() ? 2 : 6);
      }
    }
  }
  return text;
}

std::string MarkdownText(const SchemePage& page) {
  std::string text = "# " + page.name + ": " + page.title + "\n";
  for (const PageSection& section : page.sections) {
    text += "\n## " + section.title + "\n\n";
    const bool formula = section.title == "Formula";
    if (formula) text += "```\n";
    for (const PageItem& item : section.items) {
      std::string line = item.term.empty() ? "" : "`" + item.term + "`";
      for (const std::string& detail : item.details) {
        line += (line.empty()                              ? ""
                 : item.term.empty() || line.back() != '`' ? "; "
                                                           : ": ") +
                detail;
      }
      text += (formula ? "" : "- ") + line + "\n";
    }
    if (formula) text += "```\n";
  }
  return text;
}

}  // namespace sextant::cli
