// A spec: which scheme with which settings, in its three spellings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/schemes/registry.h"

namespace sextant {

// One scheme of a spec with the settings given, by path ("frequencies.base") or last part ("base").
struct SpecPart {
  std::string scheme;
  ParameterValues settings;
};

// One part, or several whose hooks add up; or a scheme for each layer, repeated over a model.
struct Spec {
  std::vector<SpecPart> parts;
  std::vector<Spec> layers;  // instead of parts
};

// Reads any of the three spellings:
//   rope:base=500000,pairing=adjacent     text; parts are joined by '+':
//   sinusoidal+learned:offset=2
//   {"scheme":"rope","pairing":"adjacent","frequencies":{"rule":"default","base":500000}}
//                                         JSON; parts: {"compose":[{...},{...}]}
//   @file.json                            JSON in a file
// A policy by layer is layers:[rope]x3,[none] in text and {"layers":[{"repeat":3,"spec":{...}},
// {...}]} in JSON: three layers with RoPE, one without, and so on over the model.
// Names and values are checked by MakeScheme. Throws Error (UnreadableInput for files and JSON).
Spec ParseSpec(std::string_view text);
Spec SpecFromJson(const nlohmann::ordered_json& json);

// Every parameter of the scheme, so that reading it back makes an equal scheme.
Spec SpecOf(const Scheme& scheme);
nlohmann::ordered_json ToJson(const Spec& spec);
std::string ToText(const Spec& spec);
// The text spelling without what a scheme made for `shape` has anyway: defaults, and fields that
// follow the model. MakeScheme(ShortText(scheme, shape), shape) is an equal scheme.
std::string ShortText(const Scheme& scheme, const ModelShape& shape = {},
                      const Registry& registry = Registry::Builtin());

// The scheme a spec describes. Fields that follow a dimension of the model take it from `shape`
// where the spec is silent. Throws Error for an unknown scheme or setting, a value out of range or
// of the wrong type, and parts that do not go together (two rotaries, two sets of distance
// vectors).
SchemePtr MakeScheme(const Spec& spec, const ModelShape& shape = {},
                     const Registry& registry = Registry::Builtin());
SchemePtr MakeScheme(std::string_view spec, const ModelShape& shape = {},
                     const Registry& registry = Registry::Builtin());

}  // namespace sextant
