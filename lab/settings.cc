// Settings to JSON and back.
#include "lab/settings.h"

#include <nlohmann/json.hpp>

#include "sextant/core/error.h"

namespace sextant::lab {

void Settings::check() const {
  if (width % heads != 0) {
    throw Error("settings", "heads must divide width, got width " + std::to_string(width) +
                                " and heads " + std::to_string(heads));
  }
  if ((longest & (longest - 1)) != 0) {
    throw Error("settings", "longest must be a power of two, got " + std::to_string(longest));
  }
}

ModelShape Settings::model_shape() const {
  return {
      {"model_dim", width}, {"heads", heads}, {"head_dim", width / heads}, {"context", context}};
}

nlohmann::ordered_json ToJson(const Settings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Parameter& parameter : ListFields(settings)) {
    std::visit([&](const auto& value) { json[parameter.path] = value; }, parameter.value);
  }
  return json;
}

Settings SettingsFromJson(const nlohmann::ordered_json& json) {
  if (!json.is_object()) throw Error("settings", "must be a JSON object");
  ParameterValues given;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number_integer()) {
      given.emplace_back(key, value.get<std::int64_t>());
    } else if (value.is_number()) {
      given.emplace_back(key, value.get<double>());
    } else if (value.is_string()) {
      given.emplace_back(key, value.get<std::string>());
    } else if (value.is_boolean()) {
      given.emplace_back(key, value.get<bool>());
    } else {
      throw Error("settings", key + " must be a number or text");
    }
  }
  return MakeSettings(given);
}

Settings MakeSettings(const ParameterValues& given, Settings start) {
  Settings settings = MakeFromFields<Settings>("settings", given, {}, std::move(start));
  settings.check();
  return settings;
}

}  // namespace sextant::lab
