// JSON by simdjson, handed on as nlohmann values.
#include "sextant/formats/json.h"

#include <simdjson.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

namespace ondemand = simdjson::ondemand;
using Json = nlohmann::ordered_json;

class Reader {
 public:
  Reader(std::string_view text, std::string_view where) : where_(where), padded_(text) {}

  Json Read() {
    ondemand::document document;
    Check(parser_.iterate(padded_).get(document));
    document_ = &document;
    Json json;
    bool scalar = false;
    Check(document.is_scalar().get(scalar));
    if (scalar) {
      json = Scalar(document);
    } else {
      ondemand::value value;
      Check(document.get_value().get(value));
      json = Value(value, 0);
    }
    const char* after = nullptr;
    if (document.current_location().get(after) == simdjson::SUCCESS) Fail("text follows its value");
    return json;
  }

 private:
  static constexpr int kDeepest = 64;

  [[noreturn]] void Fail(const std::string& what) const {
    std::string at;
    const char* here = nullptr;
    if (document_ != nullptr && document_->current_location().get(here) == simdjson::SUCCESS) {
      at = " at byte " + std::to_string(here - padded_.data());
    }
    throw UnreadableInput(where_, "is not valid JSON: " + what + at);
  }
  void Check(simdjson::error_code error) const {
    if (error != simdjson::SUCCESS) Fail(simdjson::error_message(error));
  }

  template <class Source>
  Json Scalar(Source& source) {
    ondemand::json_type type;
    Check(source.type().get(type));
    if (type == ondemand::json_type::string) {
      std::string_view text;
      Check(source.get_string().get(text));
      return std::string(text);
    }
    if (type == ondemand::json_type::boolean) {
      bool truth = false;
      Check(source.get_bool().get(truth));
      return truth;
    }
    if (type == ondemand::json_type::null) {
      bool null = false;
      if (source.is_null().get(null) != simdjson::SUCCESS || !null) {
        Fail("a value starts like null and is not");
      }
      return nullptr;
    }
    ondemand::number number;
    double value = 0;
    if (source.get_number().get(number) == simdjson::SUCCESS) {
      if (number.is_int64()) return number.get_int64();
      value = number.as_double();
    } else if (source.get_double().get(value) != simdjson::SUCCESS) {
      // Whole numbers of more than 64 bits are doubles: tokenizers write 10^30 for "no limit".
      Fail("a number is malformed or out of range");
    }
    if (!std::isfinite(value)) Fail("a number is out of range");
    return value;
  }

  Json Value(ondemand::value value, int depth) {
    ondemand::json_type type;
    Check(value.type().get(type));
    const bool object_or_array =
        type == ondemand::json_type::object || type == ondemand::json_type::array;
    if (object_or_array && depth >= kDeepest) {
      Fail("it nests deeper than " + std::to_string(kDeepest));
    }
    if (type == ondemand::json_type::object) {
      Json json = Json::object();
      // Added without the look-up of operator[], which would make large objects quadratic.
      auto& items = json.get_ref<Json::object_t&>();
      std::set<std::string> names;
      ondemand::object object;
      Check(value.get_object().get(object));
      for (auto field : object) {
        std::string_view key;
        Check(field.unescaped_key().get(key));
        const std::string name(key);
        ondemand::value item;
        Check(field.value().get(item));
        if (!names.insert(name).second) Fail("a key is given twice");
        items.emplace_back(name, Value(item, depth + 1));
      }
      return json;
    }
    if (type == ondemand::json_type::array) {
      Json json = Json::array();
      ondemand::array array;
      Check(value.get_array().get(array));
      for (auto element : array) {
        ondemand::value item;
        Check(element.get(item));
        json.push_back(Value(item, depth + 1));
      }
      return json;
    }
    return Scalar(value);
  }

  std::string where_;
  simdjson::padded_string padded_;
  ondemand::parser parser_;
  ondemand::document* document_ = nullptr;
};

}  // namespace

Json ReadJson(std::string_view text, std::string_view where, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw UnreadableInput(where, "is larger than " + std::to_string(max_bytes) + " bytes");
  }
  return Reader(text, where).Read();
}

}  // namespace sextant
