// sextant schemes: the list of schemes, or one explained.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "sextant/cli/program.h"
#include "sextant/cli/scheme_page.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/cli/table_layout.h"
#include "sextant/core/closest.h"
#include "sextant/formats/file.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

// Schemes that follow a model's context are explained for one of this length.
const ModelShape kPageShape = {{"context", 2048}};

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
  json["conventions"] = info.conventions;
  json["beyond"] = info.beyond;
  json["pitfalls"] = info.pitfalls;
  json["error"] = info.error;
  json["proof"] = info.proof;
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
    const SchemePtr scheme = entry.make({}, kPageShape);
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

std::string Explanation(const Scheme& scheme, const Registry& registry) {
  std::string text = TerminalText(PageOf(scheme, registry));
  const std::vector<std::string> aliases = AliasesOf(scheme);
  if (!aliases.empty()) text += "\nOther names\n  " + Join(aliases) + "\n";
  const std::string name = scheme.name();
  return text + "\nNext: sextant probe " + name + ", sextant table " + name + ", sextant vectors " +
         name + "\n";
}

// A page a scheme and an index of them.
void WritePages(const std::string& folder, const Session& session) {
  MakeFolder(folder);
  std::string index =
      "# Schemes\n\nMade by `sextant schemes --pages docs/schemes`; do not edit.\n\n";
  for (const SchemeEntry& entry : session.registry.entries()) {
    const std::string name(entry.info.name);
    const SchemePage page =
        PageOf(*MakeScheme(name, kPageShape, session.registry), session.registry);
    WriteFile(folder + "/" + name + ".md", MarkdownText(page));
    index += "- [" + name + "](" + name + ".md): " + page.title + "\n";
  }
  WriteFile(folder + "/README.md", index);
  session.err << "wrote " << session.registry.entries().size() << " pages to " << folder << "\n";
}

struct Options {
  std::string name, pages;
  bool json = false;
};

void Run(const Options& options, const Session& session) {
  if (!options.pages.empty()) return WritePages(options.pages, session);
  if (options.name.empty()) {
    if (!options.json) {
      session.out << List(session.registry);
      return;
    }
    Json list = Json::array();
    for (const SchemeEntry& entry : session.registry.entries()) {
      list.push_back(SchemeJson(*entry.make({}, kPageShape), session.registry));
    }
    session.out << JsonText(list);
    return;
  }
  const SchemePtr scheme = MakeScheme(options.name, kPageShape, session.registry);
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
  command->add_option("--pages", options->pages, "write a Markdown page a scheme to this folder");
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
