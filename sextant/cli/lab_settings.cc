// Flags from fields.
#include "sextant/cli/lab_settings.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sextant/core/closest.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"

namespace sextant::cli {
namespace {

constexpr std::size_t kMaxConfig = 1 << 20;

std::string FlagName(const std::string& setting) {
  std::string flag = "--" + setting;
  for (char& letter : flag) {
    if (letter == '_') letter = '-';
  }
  return flag;
}

std::string Help(const Parameter& parameter) {
  std::string help = parameter.help;
  if (parameter.type == "choice") help += " (" + Join(parameter.choices, " or ") + ")";
  const std::string value = ToText(parameter.value);
  return value.empty() ? help : help + " [" + value + "]";
}

}  // namespace

SettingsFlags::SettingsFlags(CLI::App& command) {
  command.add_option("--config", config_, "JSON file of settings; flags win over it")
      ->group("Settings");
  for (const Parameter& parameter : ListFields(lab::Settings{})) {
    command
        .add_option_function<std::string>(
            FlagName(parameter.path),
            [this, name = parameter.path](const std::string& text) { given_[name] = text; },
            Help(parameter))
        ->type_name(parameter.type == "integer"  ? "INT"
                    : parameter.type == "number" ? "NUMBER"
                                                 : "TEXT")
        ->take_last()
        ->group("Settings");
  }
}

lab::Settings SettingsFlags::settings() const {
  lab::Settings start;
  if (!config_.empty()) {
    start = lab::SettingsFromJson(ReadJson(ReadFile(config_, kMaxConfig), config_));
  }
  ParameterValues values;
  for (const Parameter& parameter : ListFields(start)) {
    const auto given = given_.find(parameter.path);
    if (given == given_.end()) continue;
    const bool text = parameter.type == "text";
    values.emplace_back(parameter.path,
                        text ? ParameterValue(given->second) : ParseParameterValue(given->second));
  }
  return lab::MakeSettings(values, start);
}

std::string ShellWord(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789-_=+:,./@") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string FlagsText(const lab::Settings& settings) {
  const std::vector<Parameter> now = ListFields(settings), usual = ListFields(lab::Settings{});
  std::string text;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].value == usual[i].value) continue;
    text += fmt::format(" {} {}", FlagName(now[i].path), ShellWord(ToText(now[i].value)));
  }
  return text;
}

}  // namespace sextant::cli
