// One autograd function serves every hook: fill forwards, the scheme's own map backwards.
#include "torch/scheme_tables.h"

#include <functional>
#include <memory>

namespace sextant::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What one call fills: double tensors from double weights, and the map back.
struct Fill {
  std::function<std::vector<Tensor>(Weights)> forward;
  std::function<void(Weights, const std::vector<Tensor>&, WeightGradients)> backward;
};

std::vector<std::vector<double>> ToDouble(const WeightTensors& weights) {
  std::vector<std::vector<double>> values;
  for (const Tensor& weight : weights) {
    const Tensor held = weight.detach().to(torch::kCPU, torch::kDouble).contiguous();
    const double* first = held.data_ptr<double>();
    values.emplace_back(first, first + held.numel());
  }
  return values;
}

class FillFunction : public torch::autograd::Function<FillFunction> {
 public:
  static variable_list forward(AutogradContext* context, std::shared_ptr<const Fill> fill,
                               torch::TensorOptions options, at::TensorList weights) {
    context->save_for_backward(weights.vec());
    context->saved_data["fill"] =
        c10::IValue::make_capsule(c10::make_intrusive<Holder>(std::move(fill)));
    const auto& held = Held(context);
    variable_list tables;
    for (Tensor& table : held.forward(ToDouble(weights.vec()))) tables.push_back(table.to(options));
    return tables;
  }

  static variable_list backward(AutogradContext* context, const variable_list& d_tables) {
    const variable_list weights = context->get_saved_variables();
    const std::vector<std::vector<double>> values = ToDouble(weights);
    std::vector<Tensor> d_double;
    for (const Tensor& d_table : d_tables) {
      d_double.push_back(d_table.defined() ? d_table.to(torch::kCPU, torch::kDouble).contiguous()
                                           : Tensor());
    }
    std::vector<std::vector<double>> gradients;
    for (const std::vector<double>& value : values) gradients.emplace_back(value.size());
    Held(context).backward(values, d_double, gradients);
    variable_list d_inputs(2);  // the fill and the options
    for (std::size_t i = 0; i < weights.size(); ++i) {
      d_inputs.push_back(torch::from_blob(gradients[i].data(), weights[i].sizes(), torch::kDouble)
                             .to(weights[i].options(), /*non_blocking=*/false, /*copy=*/true));
    }
    return d_inputs;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<const Fill> held) : fill(std::move(held)) {}
    std::shared_ptr<const Fill> fill;
  };
  static const Fill& Held(AutogradContext* context) {
    return *c10::static_intrusive_pointer_cast<Holder>(context->saved_data["fill"].toCapsule())
                ->fill;
  }
};

variable_list Run(Fill fill, const WeightTensors& weights, const torch::TensorOptions& options) {
  if (weights.empty()) {
    variable_list tables;
    for (Tensor& table : fill.forward({})) tables.push_back(table.to(options));
    return tables;
  }
  // Only a TensorList is searched for weights that need gradients, not a vector.
  return FillFunction::apply(std::make_shared<const Fill>(std::move(fill)), options,
                             at::TensorList(weights));
}

template <std::size_t rank>
View<double, rank> ViewOf(const Tensor& tensor) {
  Shape<rank> shape{};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    shape[axis] = tensor.size(static_cast<std::int64_t>(axis));
  }
  return {tensor.data_ptr<double>(), shape};
}

Tensor Zeros(at::IntArrayRef shape) { return torch::zeros(shape, torch::kDouble); }

Tensor FromArray(const std::vector<double>& values, at::IntArrayRef shape) {
  if (values.empty()) return Tensor();
  return torch::tensor(at::ArrayRef<double>(values), torch::kDouble).view(shape);
}
Tensor ToTensor(const Array<double, 3>& array) {
  return FromArray(array.values(), {array.extent(0), array.extent(1), array.extent(2)});
}
Tensor ToTensor(const Array<double, 2>& array) {
  return FromArray(array.values(), {array.extent(0), array.extent(1)});
}
template <std::size_t rank>
Array<double, rank> ToArray(const Tensor& tensor, const Shape<rank>& shape) {
  Array<double, rank> array(shape);
  if (tensor.defined()) {
    const double* first = tensor.data_ptr<double>();
    array.values().assign(first, first + tensor.numel());
  }
  return array;
}

Distances Cover(const Positions& queries, const Positions& keys, Reach reach) {
  const auto at_queries = queries.values[0].span();
  const auto at_keys = keys.values[0].span();
  if (at_queries.empty() || at_keys.empty()) return {};
  const auto [q_min, q_max] = std::minmax_element(at_queries.begin(), at_queries.end());
  const auto [k_min, k_max] = std::minmax_element(at_keys.begin(), at_keys.end());
  const std::int64_t first = *k_min - *q_max;
  std::int64_t last = *k_max - *q_min;
  if (reach == Reach::kCausal)
    last = std::max<std::int64_t>(first, std::min<std::int64_t>(last, 0));
  return {first, last - first + 1};
}

RotaryTensors FillRotary(const SchemePtr& scheme, const WeightTensors& weights,
                         const Positions& queries, const Positions& keys,
                         const torch::TensorOptions& options) {
  RotaryTensors rotary;
  rotary.shape = scheme->rotary_shape();
  const Index pairs = rotary.shape.rotated_dims / 2;
  const auto fill_side = [&](const Positions& positions, Side side) {
    const auto kept = std::make_shared<const PositionList>(positions);
    return Run({[=](Weights w) {
                  std::vector<Tensor> tables{Zeros({kept->positions().count(), pairs}),
                                             Zeros({kept->positions().count(), pairs})};
                  scheme->FillRotary(w, *kept, side, ViewOf<2>(tables[0]), ViewOf<2>(tables[1]));
                  return tables;
                },
                [=](Weights w, const std::vector<Tensor>& d, WeightGradients g) {
                  const Tensor zero = Zeros({kept->positions().count(), pairs});
                  scheme->BackRotary(w, *kept, side, ViewOf<2>(d[0].defined() ? d[0] : zero),
                                     ViewOf<2>(d[1].defined() ? d[1] : zero), g);
                }},
               weights, options);
  };
  const variable_list query = fill_side(queries, Side::kQuery);
  const variable_list key = fill_side(keys, Side::kKey);
  rotary.query_cos = query[0];
  rotary.query_sin = query[1];
  rotary.key_cos = key[0];
  rotary.key_sin = key[1];
  return rotary;
}

VectorTensors FillVectors(const SchemePtr& scheme, const WeightTensors& weights,
                          Distances distances, const torch::TensorOptions& options) {
  // One fill ahead of the graph's own tells which terms the scheme offers and their shapes.
  const auto shapes = std::make_shared<DistanceVectorTables>(
      scheme->FillDistanceVectors(ToDouble(weights), distances));
  const variable_list filled =
      Run({[=](Weights w) {
             const DistanceVectorTables tables = scheme->FillDistanceVectors(w, distances);
             std::vector<Tensor> offered;
             for (const Tensor& table :
                  {ToTensor(tables.key), ToTensor(tables.query), ToTensor(tables.value),
                   ToTensor(tables.content_bias), ToTensor(tables.position_bias)}) {
               if (table.defined()) offered.push_back(table);
             }
             return offered;
           },
           [=](Weights w, const std::vector<Tensor>& d, WeightGradients g) {
             std::size_t next = 0;
             const auto take = [&](const auto& like) {
               return ToArray(like.empty() ? Tensor() : d[next++], like.shape());
             };
             DistanceVectorTables d_tables;
             d_tables.row = shapes->row;
             d_tables.key = take(shapes->key);
             d_tables.query = take(shapes->query);
             d_tables.value = take(shapes->value);
             d_tables.content_bias = take(shapes->content_bias);
             d_tables.position_bias = take(shapes->position_bias);
             scheme->BackDistanceVectors(w, distances, d_tables, g);
           }},
          weights, options);
  std::size_t next = 0;
  const auto take = [&](bool absent) { return absent ? Tensor() : filled[next++]; };
  VectorTensors vectors;
  vectors.key = take(shapes->key.empty());
  vectors.query = take(shapes->query.empty());
  vectors.value = take(shapes->value.empty());
  vectors.content_bias = take(shapes->content_bias.empty());
  vectors.position_bias = take(shapes->position_bias.empty());
  vectors.row =
      torch::tensor(at::ArrayRef<std::int32_t>(shapes->row), torch::kInt).to(options.device());
  return vectors;
}

Tensor FillTile(const SchemePtr& scheme, const WeightTensors& weights, const Positions& queries,
                const Positions& keys, const torch::TensorOptions& options) {
  const auto q = std::make_shared<const PositionList>(queries);
  const auto k = std::make_shared<const PositionList>(keys);
  return Run({[=](Weights w) {
                Tensor tile =
                    Zeros({scheme->bias_heads(), q->positions().count(), k->positions().count()});
                scheme->FillTileBias(w, *q, *k, ViewOf<3>(tile));
                return std::vector<Tensor>{tile};
              },
              [=](Weights w, const std::vector<Tensor>& d, WeightGradients g) {
                scheme->BackTileBias(w, *q, *k, ViewOf<3>(d[0]), g);
              }},
             weights, options)[0];
}

Tensor FillQueryScale(const SchemePtr& scheme, const WeightTensors& weights,
                      const Positions& queries, const torch::TensorOptions& options) {
  const auto q = std::make_shared<const PositionList>(queries);
  return Run({[=](Weights w) {
                Tensor scale = Zeros({q->positions().count()});
                scheme->FillQueryScale(w, *q, ViewOf<1>(scale));
                return std::vector<Tensor>{scale};
              },
              [=](Weights w, const std::vector<Tensor>& d, WeightGradients g) {
                scheme->BackQueryScale(w, *q, ViewOf<1>(d[0]), g);
              }},
             weights, options)[0];
}

}  // namespace

Tensor AdditiveRows(const SchemePtr& scheme, const WeightTensors& weights,
                    const Positions& positions, const torch::TensorOptions& options) {
  const auto kept = std::make_shared<const PositionList>(positions);
  return Run({[=](Weights w) {
                Tensor rows = Zeros({kept->positions().count(), scheme->model_dim()});
                scheme->FillAdditive(w, *kept, ViewOf<2>(rows));
                return std::vector<Tensor>{rows};
              },
              [=](Weights w, const std::vector<Tensor>& d, WeightGradients g) {
                scheme->BackAdditive(w, *kept, ViewOf<2>(d[0]), g);
              }},
             weights, options)[0];
}

AttentionTables FillAttentionTables(const SchemePtr& scheme, const WeightTensors& weights,
                                    const Positions& queries, const Positions& keys, Reach reach,
                                    const torch::TensorOptions& options) {
  AttentionTables tables;
  tables.scheme = scheme;
  tables.weights = weights;
  tables.queries = std::make_shared<const PositionList>(queries);
  tables.keys = std::make_shared<const PositionList>(keys);
  tables.distances = Cover(queries, keys, reach);
  const Distances distances = tables.distances;
  if (scheme->offers(Hook::kRotary)) {
    tables.rotary = FillRotary(scheme, weights, queries, keys, options);
  }
  if (scheme->offers(Hook::kDistanceBias)) {
    tables.bias = Run({[=](Weights w) {
                         Tensor bias = Zeros({scheme->bias_heads(), distances.count});
                         scheme->FillDistanceBias(w, distances, ViewOf<2>(bias));
                         return std::vector<Tensor>{bias};
                       },
                       [=](Weights w, const std::vector<Tensor>& d, WeightGradients g) {
                         scheme->BackDistanceBias(w, distances, ViewOf<2>(d[0]), g);
                       }},
                      weights, options)[0];
  }
  if (scheme->offers(Hook::kTileBias)) {
    tables.tile = FillTile(scheme, weights, queries, keys, options);
  }
  if (scheme->offers(Hook::kDistanceVectors)) {
    tables.vectors = FillVectors(scheme, weights, distances, options);
  }
  if (scheme->offers(Hook::kQueryScale)) {
    tables.query_scale = FillQueryScale(scheme, weights, queries, options);
  }
  return tables;
}

namespace {

// The contextual hook over a batch: queries, keys and scores have gradients too.
class ContextualFunction : public torch::autograd::Function<ContextualFunction> {
 public:
  struct Call {
    SchemePtr scheme;
    std::shared_ptr<const PositionList> queries, keys;
  };

  static Tensor forward(AutogradContext* context, const Call& call, const Tensor& query,
                        const Tensor& key, const Tensor& scores, const Tensor& visible,
                        at::TensorList weights) {
    variable_list saved{query, key, scores, visible};
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(saved);
    context->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<Holder>(call));
    const std::vector<std::vector<double>> values = ToDouble(weights.vec());
    const Heads heads(saved);
    Tensor bias = torch::zeros_like(heads.scores);
    heads.ForEach([&](std::int64_t b, std::int64_t h) {
      call.scheme->FillContextual(values, heads.Input(call, b, h), ViewOf<2>(bias[b][h]));
    });
    return bias.to(scores.options());
  }

  static variable_list backward(AutogradContext* context, const variable_list& d_bias) {
    const variable_list saved = context->get_saved_variables();
    const Call& call =
        c10::static_intrusive_pointer_cast<Holder>(context->saved_data["call"].toCapsule())->call;
    const variable_list weights(saved.begin() + 4, saved.end());
    const std::vector<std::vector<double>> values = ToDouble(weights);
    const Heads heads(saved);
    const Tensor d = Heads::InDouble(d_bias[0]);
    Tensor d_query = torch::zeros_like(heads.query), d_key = torch::zeros_like(heads.key),
           d_scores = torch::zeros_like(heads.scores);
    std::vector<std::vector<double>> gradients;
    for (const std::vector<double>& value : values) gradients.emplace_back(value.size());
    heads.ForEach([&](std::int64_t b, std::int64_t h) {
      call.scheme->BackContextual(
          values, heads.Input(call, b, h), ViewOf<2>(d[b][h]),
          {ViewOf<2>(d_query[b][h]), ViewOf<2>(d_key[b][h]), ViewOf<2>(d_scores[b][h]), gradients});
    });
    variable_list d_inputs{Tensor(), d_query.to(saved[0].options()), d_key.to(saved[1].options()),
                           d_scores.to(saved[2].options()), Tensor()};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      d_inputs.push_back(torch::from_blob(gradients[i].data(), weights[i].sizes(), torch::kDouble)
                             .to(weights[i].options(), /*non_blocking=*/false, /*copy=*/true));
    }
    return d_inputs;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(Call held) : call(std::move(held)) {}
    Call call;
  };

  // The saved tensors in double, one head at a time.
  struct Heads {
    explicit Heads(const variable_list& saved)
        : query(InDouble(saved[0])),
          key(InDouble(saved[1])),
          scores(InDouble(saved[2])),
          visible(saved[3].to(torch::kCPU, torch::kByte).contiguous()) {}

    static Tensor InDouble(const Tensor& tensor) {
      return tensor.detach().to(torch::kCPU, torch::kDouble).contiguous();
    }
    ContextualInput Input(const Call& call, std::int64_t b, std::int64_t h) const {
      return {h,
              ViewOf<2>(query[b][h]),
              ViewOf<2>(key[b][h]),
              ViewOf<2>(scores[b][h]),
              {visible.data_ptr<std::uint8_t>(), {visible.size(0), visible.size(1)}},
              *call.queries,
              *call.keys};
    }
    template <class Do>
    void ForEach(Do&& act) const {
      for (std::int64_t b = 0; b < query.size(0); ++b) {
        for (std::int64_t h = 0; h < query.size(1); ++h) act(b, h);
      }
    }

    Tensor query, key, scores, visible;
  };
};

}  // namespace

Tensor ContextualBias(const AttentionTables& tables, const Tensor& query, const Tensor& key,
                      const Tensor& scores, const Tensor& visible) {
  return ContextualFunction::apply(
      ContextualFunction::Call{tables.scheme, tables.queries, tables.keys}, query, key, scores,
      visible, at::TensorList(tables.weights));
}

}  // namespace sextant::nn
