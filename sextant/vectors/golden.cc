// Making golden vectors by the reference attention.
#include "sextant/vectors/golden.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sextant/attention/encode.h"
#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "sextant/probe/subject.h"
#include "sextant/probe/tables.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kDefaultHeads = 2, kDefaultHeadDim = 8;
constexpr Index kMostPositions = 4096, kMostDistances = 4096;
constexpr double kMostNumbers = 1 << 26;
constexpr std::uint64_t kInputs = 3000;

// A request may come from a file, so what it would allocate is weighed first; in double, where
// products of large sizes cannot wrap.
void CheckSize(const VectorsRequest& request) {
  const double n = double(request.positions[0].size());
  const double numbers = double(*request.heads) * n * std::max(n, double(*request.head_dim));
  if (numbers <= kMostNumbers) return;
  throw Error("vectors",
              "would hold " + std::to_string(std::int64_t(std::min(numbers, 9e18))) +
                  " numbers in an array, at most " + std::to_string(std::int64_t(kMostNumbers)),
              "ask for fewer positions, heads or channels");
}

template <std::size_t rank>
NamedArray Named(std::string name, const Array<double, rank>& array) {
  return {std::move(name), {array.shape().begin(), array.shape().end()}, array.values()};
}

Array<std::int64_t, 2> PositionArray(const VectorsRequest& request, std::int64_t shift) {
  const std::size_t axes = request.positions.size(), count = request.positions[0].size();
  Array<std::int64_t, 2> positions({Index(axes), Index(count)});
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (request.positions[axis].size() != count) {
      throw Error("vectors", "every axis needs as many positions, got " + std::to_string(count) +
                                 " and " + std::to_string(request.positions[axis].size()));
    }
    for (std::size_t n = 0; n < count; ++n) {
      positions(Index(axis), Index(n)) = request.positions[axis][n] + shift;
    }
  }
  return positions;
}

// The sizes a scheme is made for, where the request leaves them open.
void FillSizes(const Registry& registry, VectorsRequest& request, SchemePtr& scheme) {
  ModelShape shape;
  const auto set = [&](const char* name, const std::optional<Index>& size) {
    if (size) shape[name] = *size;
  };
  if (!request.context) {
    std::int64_t last = request.length - 1;
    for (const auto& axis : request.positions) {
      for (std::int64_t position : axis) last = std::max(last, position);
    }
    request.context = std::clamp<std::int64_t>(last + 1, 64, 1 << 20);
  }
  set("context", request.context);
  set("heads", request.heads ? request.heads : std::optional<Index>(kDefaultHeads));
  set("head_dim", request.head_dim ? request.head_dim : std::optional<Index>(kDefaultHeadDim));
  const auto model_dim =
      request.model_dim ? *request.model_dim : std::int64_t{shape["heads"] * shape["head_dim"]};
  shape["model_dim"] = model_dim;
  scheme = MakeScheme(request.spec, shape, registry);
  if (!scheme->layer_pattern().empty()) {
    throw Error("vectors", "a model's layers differ", "ask for the scheme of one layer");
  }
  const Subject subject = MakeSubject(*scheme, request.seed);
  if (!request.heads) {
    const bool made_for_heads =
        subject.heads > 1 || scheme->offers(Hook::kDistanceBias) || scheme->offers(Hook::kTileBias);
    request.heads = made_for_heads ? subject.heads : kDefaultHeads;
  }
  if (!request.head_dim) {
    request.head_dim = kDefaultHeadDim;
    if (scheme->offers(Hook::kRotary)) {
      const RotaryShape rotary = scheme->rotary_shape();
      request.head_dim = std::max(kDefaultHeadDim, rotary.first + rotary.rotated_dims);
    }
    if (scheme->offers(Hook::kDistanceVectors)) {
      const DistanceVectorTables tables = scheme->FillDistanceVectors(subject.weights, {0, 1});
      for (const auto* table : {&tables.key, &tables.query, &tables.value}) {
        if (!table->empty()) request.head_dim = table->extent(2);
      }
    }
    if (scheme->offers(Hook::kAdditive) && scheme->model_dim() != model_dim) {
      request.head_dim = scheme->model_dim();
    }
  }
  request.model_dim = model_dim;
}

const NamedArray* FindIn(const std::vector<NamedArray>& arrays, std::string_view name) {
  for (const NamedArray& array : arrays) {
    if (array.name == name) return &array;
  }
  return nullptr;
}

std::vector<double> Given(const VectorsRequest& request, const std::string& name,
                          std::vector<double> drawn) {
  const NamedArray* given = FindIn(request.given, name);
  if (given == nullptr) return drawn;
  if (given->values.size() != drawn.size()) {
    throw Error("vectors", name + " needs " + std::to_string(drawn.size()) + " numbers, got " +
                               std::to_string(given->values.size()));
  }
  return given->values;
}

Array<double, 3> Input(const VectorsRequest& request, const char* name, std::uint64_t stream) {
  Array<double, 3> input({*request.heads, Index(request.positions[0].size()), *request.head_dim});
  Random random = Random::For(request.seed, kInputs + stream);
  for (double& value : input.values()) value = random.Normal();
  input.values() = Given(request, name, input.values());
  return input;
}

void AddTables(const Scheme& scheme, Weights weights, const PositionList& at,
               std::vector<NamedArray>& arrays) {
  const auto [low, high] = std::minmax_element(at.positions().values[0].span().begin(),
                                               at.positions().values[0].span().end());
  TableRequest request;
  request.distances = {*low - *high, 2 * (*high - *low) + 1};
  const bool all_distances = request.distances.count <= kMostDistances;
  const SchemeTables tables =
      FillTablesAt(scheme, weights, at, all_distances ? request.distances : Distances{});
  ForEachTable(tables, [&](const char* name, const auto& table) {
    arrays.push_back(Named(std::string("tables.") + name, table));
  });
  if (all_distances && !tables.vectors.row.empty()) {
    arrays.push_back({"tables.row",
                      {Index(tables.vectors.row.size())},
                      {tables.vectors.row.begin(), tables.vectors.row.end()}});
  }
  for (const Figure& figure : tables.figures) {
    arrays.push_back({"figures." + figure.name, {Index(figure.values.size())}, figure.values});
  }
}

}  // namespace

const NamedArray* GoldenVectors::Find(std::string_view name) const { return FindIn(arrays, name); }

std::vector<std::int64_t> DefaultPositions(const Scheme& scheme) {
  const bool by_position = scheme.offers(Hook::kAdditive) || scheme.offers(Hook::kRotary) ||
                           scheme.offers(Hook::kQueryScale);
  const bool by_distance = scheme.offers(Hook::kDistanceBias) || scheme.offers(Hook::kTileBias) ||
                           scheme.offers(Hook::kDistanceVectors) ||
                           scheme.offers(Hook::kContextual);
  if (scheme.claims().any_length && by_position && !by_distance) {
    return {0, 1, 2, 7, 257, 4095, 8191, 131071};
  }
  return Consecutive(0, 16);
}

GoldenVectors MakeVectors(const VectorsRequest& given, const Registry& registry) {
  GoldenVectors vectors;
  vectors.request = given;
  VectorsRequest& request = vectors.request;
  FillSizes(registry, request, vectors.scheme);
  const Scheme& scheme = *vectors.scheme;
  if (request.positions.empty()) request.positions = {DefaultPositions(scheme)};
  if (request.positions[0].empty() || Index(request.positions[0].size()) > kMostPositions) {
    throw Error("vectors",
                "takes 1 to 4096 positions, got " + std::to_string(request.positions[0].size()));
  }
  CheckSize(request);
  const PositionList at(PositionArray(request, 0), request.length);
  request.length = at.positions().length;
  const PositionList queries(PositionArray(request, request.query_shift), request.length);
  const PositionList keys(PositionArray(request, request.key_shift), request.length);

  std::vector<std::vector<double>> weights = MakeSubject(scheme, request.seed).weights;
  const std::vector<WeightInfo> infos = scheme.weights();
  for (std::size_t w = 0; w < infos.size(); ++w) {
    weights[w] = Given(request, "weights." + infos[w].name, weights[w]);
  }
  const Array<double, 3> query = Input(request, "inputs.query", 0),
                         key = Input(request, "inputs.key", 1),
                         value = Input(request, "inputs.value", 2);
  AttentionInput input{query, key, value, queries, keys, {}, 0};
  if (request.mask_positions.empty()) request.mask_positions = request.positions[0];
  const PositionList order(request.mask_positions);
  AttentionMask mask;
  mask.causal = request.mask == VectorsMask::kCausal;
  const Array<std::uint8_t, 2> cells = VisibleKeys(mask, order, order);
  input.mask.cells = cells;
  AttentionOutput output = ReferenceAttention(scheme, weights, input);
  for (double& score : output.scores.values()) {
    if (std::isinf(score)) score = std::numeric_limits<double>::quiet_NaN();
  }

  std::vector<NamedArray>& arrays = vectors.arrays;
  arrays.push_back(Named("inputs.query", query));
  arrays.push_back(Named("inputs.key", key));
  arrays.push_back(Named("inputs.value", value));
  for (std::size_t w = 0; w < infos.size(); ++w) {
    arrays.push_back({"weights." + infos[w].name, infos[w].shape, weights[w]});
  }
  AddTables(scheme, weights, queries, arrays);
  if (scheme.offers(Hook::kRotary) || scheme.offers(Hook::kAdditive)) {
    arrays.push_back(Named("encoded.query", Encode(scheme, weights, queries, Side::kQuery, query)));
    arrays.push_back(Named("encoded.key", Encode(scheme, weights, keys, Side::kKey, key)));
  }
  arrays.push_back(Named("scores", output.scores));
  arrays.push_back(Named("output", output.out));
  return vectors;
}

}  // namespace sextant
