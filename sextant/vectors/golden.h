// Golden vectors: inputs, tables, encoded queries and keys, scores and outputs of a scheme, for
// whoever writes a port.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/schemes/registry.h"

namespace sextant {

// Row-major numbers with a name: "inputs.query", "tables.cos", "encoded.key", "scores". A score no
// query may see is NaN (null in JSON).
struct NamedArray {
  std::string name;
  std::vector<Index> shape;
  std::vector<double> values;
};

enum class VectorsMask { kCausal, kNone };

// What vectors are made of. Sizes left out follow the scheme.
struct VectorsRequest {
  std::string spec;                      // text or JSON
  std::optional<Index> heads, head_dim;  // default: what the scheme is made for, else 2 and 8
  std::optional<Index> model_dim;        // default: heads * head_dim
  std::optional<Index> context;          // default: the longest position plus one
  std::vector<std::vector<std::int64_t>> positions;  // by axis; empty: DefaultPositions
  std::int64_t length = 0;  // of the sequence; 0: the largest position plus one
  std::uint64_t seed = 1;
  VectorsMask mask = VectorsMask::kCausal;
  // Replace what the seed would give: inputs.query, inputs.key, inputs.value, weights.<name>.
  std::vector<NamedArray> given;
  // Added to every position of one side: mistakes of bookkeeping.
  std::int64_t query_shift = 0, key_shift = 0;
  // What a causal mask compares; empty: the positions of axis 0.
  std::vector<std::int64_t> mask_positions;
};

struct GoldenVectors {
  SchemePtr scheme;
  VectorsRequest request;  // with every default filled in
  std::vector<NamedArray> arrays;

  const NamedArray* Find(std::string_view name) const;
};

// Where ports go wrong: 0 shows the order of the output, 1 to 7 layout and sign, 257 positions kept
// in bf16, 4095 and more the base, scaling and precision. Schemes that end or compare all distances
// get 0 .. 15.
std::vector<std::int64_t> DefaultPositions(const Scheme& scheme);

// Computes all arrays in double: queries, keys and values are drawn from N(0, 1), weights have
// their initial values. The arrays:
//   inputs.{query,key,value} [heads, n, head_dim], weights.<name>
//   tables.{rows,cos,sin,key_cos,key_sin,bias,tile_bias,key,query,value,row,...,query_scale}
//   figures.{inv_freq,attention_factor,slopes,...}
//   encoded.{query,key} [heads, n, head_dim], scores [heads, n, n], output [heads, n, head_dim]
// Throws Error where the spec, sizes or given arrays do not fit, or an array would hold more than
// 2^26 numbers.
GoldenVectors MakeVectors(const VectorsRequest& request,
                          const Registry& registry = Registry::Builtin());

// Everything, so that it can be made again from the JSON alone.
nlohmann::ordered_json ToJson(const GoldenVectors& vectors);

// The arrays a JSON object holds by name: nested lists of numbers (null: NaN) under "inputs",
// "weights", "tables", "figures" and "encoded", and "scores" and "output". Throws UnreadableInput
// starting with `where` for ragged lists and more than 6 levels.
std::vector<NamedArray> ArraysFromJson(const nlohmann::ordered_json& json, std::string_view where);

// The request that made a JSON file of vectors. Throws UnreadableInput.
VectorsRequest RequestFromJson(const nlohmann::ordered_json& json, std::string_view where);

}  // namespace sextant
