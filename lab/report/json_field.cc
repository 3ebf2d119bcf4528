// Reading with a fallback instead of an error.
#include "lab/report/json_field.h"

#include <cmath>
#include <limits>

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargest = 1e100;

std::optional<double> NumberOf(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  const double number = json.get<double>();
  if (!(std::abs(number) <= kLargest)) return std::nullopt;
  return number;
}

}  // namespace

const Json* FindField(const Json& json, std::string_view name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(name));
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> NumberField(const Json& json, std::string_view name) {
  const Json* field = FindField(json, name);
  return field ? NumberOf(*field) : std::nullopt;
}

std::int64_t IntegerField(const Json& json, std::string_view name, std::int64_t otherwise) {
  constexpr double kLargestInteger = 9e18;
  const Json* field = FindField(json, name);
  if (!field || !field->is_number()) return otherwise;
  if (field->is_number_integer() && !field->is_number_unsigned()) return field->get<std::int64_t>();
  const double number = field->get<double>();
  if (!(std::abs(number) < kLargestInteger)) return otherwise;
  return field->is_number_unsigned() ? field->get<std::int64_t>()
                                     : static_cast<std::int64_t>(number);
}

std::string TextField(const Json& json, std::string_view name) {
  const Json* field = FindField(json, name);
  return field && field->is_string() ? field->get<std::string>() : std::string();
}

std::optional<bool> TruthField(const Json& json, std::string_view name) {
  const Json* field = FindField(json, name);
  if (!field || !field->is_boolean()) return std::nullopt;
  return field->get<bool>();
}

const std::vector<Json>& ItemsField(const Json& json, std::string_view name) {
  static const std::vector<Json> kNone;
  const Json* field = FindField(json, name);
  if (!field || !field->is_array()) return kNone;
  return field->get_ref<const Json::array_t&>();
}

std::vector<double> Numbers(const Json& array) {
  std::vector<double> numbers;
  if (!array.is_array()) return numbers;
  for (const Json& item : array) {
    numbers.push_back(NumberOf(item).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return numbers;
}

std::vector<std::vector<double>> NumberRows(const Json& array) {
  std::vector<std::vector<double>> rows;
  if (!array.is_array()) return rows;
  for (const Json& item : array) rows.push_back(Numbers(item));
  return rows;
}

std::string ValueText(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sextant::lab
