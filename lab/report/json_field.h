// Fields of a JSON document that may be missing or hold something else than they should.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::lab {

// All take the field `name` of `json`; a json that is no object has no field.

// Null where there is none or it is null.
const nlohmann::ordered_json* FindField(const nlohmann::ordered_json& json, std::string_view name);

// Numbers beyond 1e100 count as missing: no figure of a run is one.
std::optional<double> NumberField(const nlohmann::ordered_json& json, std::string_view name);
std::int64_t IntegerField(const nlohmann::ordered_json& json, std::string_view name,
                          std::int64_t otherwise);
std::string TextField(const nlohmann::ordered_json& json, std::string_view name);
std::optional<bool> TruthField(const nlohmann::ordered_json& json, std::string_view name);

// Its items, none where it is no array.
const std::vector<nlohmann::ordered_json>& ItemsField(const nlohmann::ordered_json& json,
                                                      std::string_view name);

// The numbers of an array; items that are none become NaN.
std::vector<double> Numbers(const nlohmann::ordered_json& array);
// The arrays of an array.
std::vector<std::vector<double>> NumberRows(const nlohmann::ordered_json& array);

// Any value as text for people: a text without quotes, everything else as JSON.
std::string ValueText(const nlohmann::ordered_json& json);

}  // namespace sextant::lab
