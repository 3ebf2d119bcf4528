// Golden vectors as JSON and back.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/formats/json.h"
#include "sextant/schemes/spec.h"
#include "sextant/vectors/golden.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostLevels = 6;
constexpr const char* kFormat = "sextant-vectors 1";
constexpr const char* kGroups[] = {"inputs", "weights", "tables", "figures", "encoded"};

Json Nested(const NamedArray& array, std::size_t level, std::size_t& at) {
  if (level == array.shape.size()) {
    const double value = array.values[at++];
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  Json list = Json::array();
  for (Index i = 0; i < array.shape[level]; ++i) list.push_back(Nested(array, level + 1, at));
  return list;
}

// Appends the numbers of a nested list; the first path down sets the shape.
void Flatten(const Json& json, std::size_t level, bool first, NamedArray& array,
             std::string_view where) {
  const auto fail = [&](const std::string& rule) {
    throw UnreadableInput(where, array.name + " " + rule);
  };
  if (!json.is_array()) {
    if (level != array.shape.size()) fail("is a ragged list");
    if (!json.is_number() && !json.is_null()) fail("must hold numbers");
    array.values.push_back(json.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                          : json.get<double>());
    return;
  }
  if (level >= kMostLevels) fail("nests deeper than 6 lists");
  if (first) {
    array.shape.push_back(Index(json.size()));
  } else if (level >= array.shape.size() || Index(json.size()) != array.shape[level]) {
    fail("is a ragged list");
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    Flatten(json[i], level + 1, first && i == 0, array, where);
  }
}

std::optional<Index> Size(const Json& json, const char* name, std::string_view where) {
  if (!json.contains(name)) return std::nullopt;
  if (!json[name].is_number_integer() || json[name] < 1 || json[name] > (1 << 24)) {
    throw UnreadableInput(where, std::string(name) + " must be a whole number from 1 to 2^24");
  }
  return json[name].get<Index>();
}

std::vector<std::vector<std::int64_t>> PositionsOf(const Json& json, std::string_view where) {
  std::vector<std::vector<std::int64_t>> axes;
  const auto fail = [&] {
    throw UnreadableInput(where, "positions must be a list of whole numbers, or one for each axis");
  };
  const auto read = [&](const Json& list) {
    std::vector<std::int64_t> axis;
    for (const Json& item : list) {
      if (!item.is_number_integer()) fail();
      axis.push_back(item.get<std::int64_t>());
    }
    axes.push_back(std::move(axis));
  };
  if (!json.is_array() || json.empty()) fail();
  if (json[0].is_array()) {
    for (const Json& axis : json) read(axis);
  } else {
    read(json);
  }
  return axes;
}

}  // namespace

Json ToJson(const GoldenVectors& vectors) {
  const VectorsRequest& request = vectors.request;
  Json json = {{"format", kFormat},
               {"spec", ToJson(SpecOf(*vectors.scheme))},
               {"heads", *request.heads},
               {"head_dim", *request.head_dim},
               {"model_dim", *request.model_dim},
               {"context", *request.context},
               {"length", request.length},
               {"seed", request.seed},
               {"mask", request.mask == VectorsMask::kCausal ? "causal" : "none"},
               {"softmax_multiplier", vectors.scheme->softmax_multiplier()}};
  if (request.positions.size() == 1) {
    json["positions"] = request.positions[0];
  } else {
    json["positions"] = request.positions;
  }
  for (const NamedArray& array : vectors.arrays) {
    std::size_t at = 0;
    Json list = Nested(array, 0, at);
    const std::size_t dot = array.name.find('.');
    if (dot == std::string::npos) {
      json[array.name] = std::move(list);
    } else {
      json[array.name.substr(0, dot)][array.name.substr(dot + 1)] = std::move(list);
    }
  }
  return json;
}

std::vector<NamedArray> ArraysFromJson(const Json& json, std::string_view where) {
  if (!json.is_object()) throw UnreadableInput(where, "must be a JSON object of arrays");
  std::vector<NamedArray> arrays;
  const auto add = [&](const std::string& name, const Json& list) {
    if (!list.is_array()) throw UnreadableInput(where, name + " must be a list of numbers");
    NamedArray& array = arrays.emplace_back();
    array.name = name;
    Flatten(list, 0, true, array, where);
  };
  for (const char* group : kGroups) {
    if (!json.contains(group)) continue;
    if (!json[group].is_object()) {
      throw UnreadableInput(where, std::string(group) + " must be an object of arrays");
    }
    for (const auto& [name, list] : json[group].items()) add(group + ("." + name), list);
  }
  for (const char* name : {"scores", "output"}) {
    if (json.contains(name)) add(name, json[name]);
  }
  return arrays;
}

VectorsRequest RequestFromJson(const Json& json, std::string_view where) {
  if (!json.is_object() || !json.contains("spec") || !json.contains("positions")) {
    throw UnreadableInput(where, "has no \"spec\" and \"positions\"",
                          "keep those that `sextant vectors` wrote, or name its file by --against");
  }
  VectorsRequest request;
  const Json& spec = json["spec"];
  request.spec = spec.is_string() ? spec.get<std::string>() : spec.dump();
  request.heads = Size(json, "heads", where);
  request.head_dim = Size(json, "head_dim", where);
  request.model_dim = Size(json, "model_dim", where);
  request.context = Size(json, "context", where);
  request.positions = PositionsOf(json["positions"], where);
  if (json.contains("length")) {
    if (!json["length"].is_number_integer()) {
      throw UnreadableInput(where, "length must be a whole number");
    }
    request.length = json["length"].get<std::int64_t>();
  }
  if (json.contains("seed") && json["seed"].is_number_unsigned()) {
    request.seed = json["seed"].get<std::uint64_t>();
  }
  if (json.contains("mask") && json["mask"] == "none") request.mask = VectorsMask::kNone;
  for (NamedArray& array : ArraysFromJson(json, where)) {
    if (array.name.starts_with("inputs.") || array.name.starts_with("weights.")) {
      request.given.push_back(std::move(array));
    }
  }
  return request;
}

}  // namespace sextant
