// One autograd function for every table the kernels take.
#include "torch/fused_attention.h"

#include <algorithm>
#include <array>

#include "sextant/core/error.h"
#include "sextant/kernels/attention.h"
#include "torch/aten_executor.h"
#include "torch/kernel_tensors.h"

namespace sextant::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The tensors that get gradients: `qkv`, or query, key and value; and tables. Undefined: absent.
// Also their gradients.
struct Inputs {
  Tensor qkv, query, key, value;
  Tensor bias, tile, vector_key, vector_query, vector_value, content_bias, position_bias,
      query_scale;
};
constexpr std::array kInputs = {
    &Inputs::qkv,          &Inputs::query,        &Inputs::key,           &Inputs::value,
    &Inputs::bias,         &Inputs::tile,         &Inputs::vector_key,    &Inputs::vector_query,
    &Inputs::vector_value, &Inputs::content_bias, &Inputs::position_bias, &Inputs::query_scale};

// Queries, keys and values as heads of tokens, [batch, tokens, heads, head_dim].
struct Sides {
  Tensor query, key, value;
};
Sides SidesOf(const Inputs& inputs) {
  if (!inputs.qkv.defined()) return {inputs.query, inputs.key, inputs.value};
  return {inputs.qkv.select(2, 0), inputs.qkv.select(2, 1), inputs.qkv.select(2, 2)};
}

Tensor EmptyLike(const Tensor& x) { return torch::empty(x.sizes(), x.options()); }

// What autograd does not see of a call.
struct Call {
  std::array<bool, kInputs.size()> present = {};
  std::shared_ptr<const PositionList> queries, keys;
  Distances distances;
  RotaryTensors rotary;
  Tensor row;  // int32 [distances]
  double scale = 1;

  variable_list Pack(const Inputs& inputs) const {
    variable_list list;
    for (std::size_t n = 0; n < kInputs.size(); ++n) {
      if (present[n]) list.push_back(inputs.*kInputs[n]);
    }
    return list;
  }
  Inputs Unpack(at::TensorList list) const {
    Inputs inputs;
    std::size_t next = 0;
    for (std::size_t n = 0; n < kInputs.size(); ++n) {
      if (present[n]) inputs.*kInputs[n] = list[next++];
    }
    return inputs;
  }
  bool turns() const { return rotary.query_cos.defined(); }
};

template <class T>
T* DataOf(const Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
}

// Sequence b for the kernel.
FusedAttention SequenceOf(const Call& call, const Inputs& inputs, const Sides& sides, Index b) {
  FusedAttention in{ReadSequence(sides.query, b),
                    ReadSequence(sides.key, b),
                    ReadSequence(sides.value, b),
                    float(call.scale),
                    {.causal = true}};
  in.query_position = call.queries->positions().values[0].span().data();
  in.key_position = call.keys->positions().values[0].span().data();
  in.first_distance = call.distances.first;
  in.distances = call.distances.count;
  in.bias = {DataOf<float>(inputs.bias), call.distances.count};
  const Index keys = sides.key.size(1);
  in.tile = {DataOf<float>(inputs.tile), sides.query.size(1) * keys, keys};
  in.query_scale = DataOf<float>(inputs.query_scale);
  for (const Tensor& table : {inputs.vector_key, inputs.vector_query, inputs.vector_value}) {
    if (!table.defined()) continue;
    in.vectors.row = call.row.data_ptr<std::int32_t>();
    in.vectors.rows = table.size(1);
    in.vectors.head_stride = table.size(0) == 1 ? 0 : table.size(1) * table.size(2);
  }
  in.vectors.key = DataOf<float>(inputs.vector_key);
  in.vectors.query = DataOf<float>(inputs.vector_query);
  in.vectors.value = DataOf<float>(inputs.vector_value);
  in.vectors.content_bias = DataOf<float>(inputs.content_bias);
  in.vectors.position_bias = DataOf<float>(inputs.position_bias);
  return in;
}

double MultiplyAdds(const Sides& sides) {
  return double(sides.query.numel()) * double(sides.key.size(1));
}

// Gradients of tables for some sequences of a batch, each by itself, and their sum so far.
class TableGradients {
 public:
  TableGradients(const Call& call, const Inputs& inputs, const Sides& sides, Index at_once)
      : inputs_(inputs) {
    const std::int64_t heads = sides.query.size(2), dim = sides.query.size(3);
    const auto make = [&](Tensor Inputs::*which, std::vector<std::int64_t> shape,
                          at::ScalarType type) {
      const Tensor& table = inputs.*which;
      if (!table.defined() || !table.requires_grad()) return;
      sum_.*which = torch::zeros(shape, type);
      shape.insert(shape.begin(), at_once);
      each_.*which = torch::empty(shape, type);
    };
    make(&Inputs::bias, {heads, call.distances.count}, torch::kDouble);
    make(&Inputs::tile, {heads, sides.query.size(1), sides.key.size(1)}, torch::kFloat);
    for (const auto which : {&Inputs::vector_key, &Inputs::vector_query, &Inputs::vector_value}) {
      if ((inputs.*which).defined())
        make(which, {heads, (inputs.*which).size(1), dim}, torch::kDouble);
    }
    make(&Inputs::content_bias, {heads, dim}, torch::kDouble);
    make(&Inputs::position_bias, {heads, dim}, torch::kDouble);
    make(&Inputs::query_scale, {heads, sides.query.size(1)}, torch::kDouble);
  }

  // Where the kernel writes those of the nth sequence.
  void PointAt(Index nth, AttentionGradient& gradient) const {
    const auto of = [&](Tensor Inputs::*which) {
      const Tensor& each = each_.*which;
      return each.defined() ? each.data_ptr<double>() + nth * each.stride(0) : nullptr;
    };
    gradient.d_bias = of(&Inputs::bias);
    if (each_.tile.defined()) {
      gradient.d_tile = each_.tile.data_ptr<float>() + nth * each_.tile.stride(0);
    }
    gradient.d_vector_key = of(&Inputs::vector_key);
    gradient.d_vector_query = of(&Inputs::vector_query);
    gradient.d_vector_value = of(&Inputs::vector_value);
    gradient.d_content_bias = of(&Inputs::content_bias);
    gradient.d_position_bias = of(&Inputs::position_bias);
    gradient.d_query_scale = of(&Inputs::query_scale);
  }

  void Add(Index count) {
    for (const auto which : kInputs) {
      if (!(each_.*which).defined()) continue;
      for (Index nth = 0; nth < count; ++nth) (sum_.*which).add_((each_.*which)[nth]);
    }
  }

  // The sums in the shape and type of the tables.
  Inputs Finish() const {
    Inputs d;
    for (const auto which : kInputs) {
      if (!(sum_.*which).defined()) continue;
      const Tensor& table = inputs_.*which;
      Tensor sum = sum_.*which;
      // Heads share a query's factor, and may share vectors.
      if (which == &Inputs::query_scale) sum = sum.sum(0);
      if (sum.dim() == 3 && table.size(0) == 1) sum = sum.sum(0, /*keepdim=*/true);
      d.*which = sum.to(table.scalar_type());
    }
    return d;
  }

 private:
  const Inputs& inputs_;
  Inputs each_, sum_;
};

class FusedFunction : public torch::autograd::Function<FusedFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Call& call, at::TensorList list) {
    const Inputs inputs = call.Unpack(list);
    const Sides given = SidesOf(inputs);
    Sides sides = given;
    if (call.turns()) {
      sides.query = EmptyLike(given.query);
      sides.key = EmptyLike(given.key);
    }
    const Tensor out = EmptyLike(given.query);
    const Tensor log_sum_exp = torch::empty(
        {given.query.size(0), given.query.size(2), given.query.size(1)}, torch::kFloat);
    ForEachSequence(given.query.size(0), MultiplyAdds(given), [&](Index b, Executor& executor) {
      const RotaryTensors& rotary = call.rotary;
      if (call.turns()) {
        TurnSequence(given.query, sides.query, b, rotary.query_cos, rotary.query_sin, rotary.shape,
                     TurnDirection::kForth, executor);
        TurnSequence(given.key, sides.key, b, rotary.key_cos, rotary.key_sin, rotary.shape,
                     TurnDirection::kForth, executor);
      }
      AttentionForward(SequenceOf(call, inputs, sides, b), WriteSequence(out, b),
                       log_sum_exp.data_ptr<float>() + b * log_sum_exp.stride(0), executor);
    });
    variable_list saved = call.Pack(inputs);
    saved.insert(saved.end(), {out, log_sum_exp});
    if (call.turns()) saved.insert(saved.end(), {sides.query, sides.key});
    context->save_for_backward(saved);
    context->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<Holder>(call));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& d_outputs) {
    if (torch::GradMode::is_enabled()) {
      throw Error("attention", "the kernels have no second derivatives",
                  "prepare the tables with AttentionPath::kAten");
    }
    const Call& call =
        c10::static_intrusive_pointer_cast<Holder>(context->saved_data["call"].toCapsule())->call;
    const variable_list saved = context->get_saved_variables();
    const Inputs inputs = call.Unpack(saved);
    Sides sides = SidesOf(inputs);
    const auto kept = saved.end() - (call.turns() ? 4 : 2);
    if (call.turns()) {
      sides.query = kept[2];
      sides.key = kept[3];
    }
    Inputs d_inputs;
    for (const auto which : {&Inputs::qkv, &Inputs::query, &Inputs::key, &Inputs::value}) {
      if ((inputs.*which).defined()) d_inputs.*which = EmptyLike(inputs.*which);
    }
    const Inputs d_tables =
        Gradients(call, inputs, sides, {kept[0], WithChannelsTogether(d_outputs[0]), kept[1]},
                  SidesOf(d_inputs));
    variable_list results{Tensor()};  // the call
    for (std::size_t n = 0; n < kInputs.size(); ++n) {
      if (!call.present[n]) continue;
      const Tensor& d_table = d_tables.*kInputs[n];
      results.push_back(d_table.defined() ? d_table : d_inputs.*kInputs[n]);
    }
    return results;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(Call held) : call(std::move(held)) {}
    Call call;
  };
  struct Outputs {
    Tensor out, d_out, log_sum_exp;
  };

  // Writes the gradients of `sides` and returns those of tables.
  static Inputs Gradients(const Call& call, const Inputs& inputs, const Sides& sides,
                          const Outputs& of, const Sides& d) {
    const Index batch = sides.query.size(0);
    // The gradient of a tile for each sequence of a batch would be much memory.
    const bool large = inputs.tile.defined() && inputs.tile.requires_grad();
    const Index at_once = large ? std::min<Index>(batch, at::get_num_threads()) : batch;
    TableGradients tables(call, inputs, sides, at_once);
    for (Index first = 0; first < batch; first += at_once) {
      const Index count = std::min(at_once, batch - first);
      ForEachSequence(count, MultiplyAdds(sides), [&](Index nth, Executor& executor) {
        const Index b = first + nth;
        AttentionGradient gradient{ReadSequence(of.out, b),
                                   ReadSequence(of.d_out, b),
                                   of.log_sum_exp.data_ptr<float>() + b * of.log_sum_exp.stride(0),
                                   WriteSequence(d.query, b),
                                   WriteSequence(d.key, b),
                                   WriteSequence(d.value, b)};
        tables.PointAt(nth, gradient);
        AttentionBackward(SequenceOf(call, inputs, sides, b), gradient, executor);
        if (!call.turns()) return;
        const RotaryTensors& rotary = call.rotary;
        TurnSequence(d.query, d.query, b, rotary.query_cos, rotary.query_sin, rotary.shape,
                     TurnDirection::kBack, executor);
        TurnSequence(d.key, d.key, b, rotary.key_cos, rotary.key_sin, rotary.shape,
                     TurnDirection::kBack, executor);
      });
      tables.Add(count);
    }
    return tables.Finish();
  }
};

Tensor Apply(Inputs inputs, const AttentionTables& tables, const RotaryTensors& rotary,
             double scale) {
  const VectorTensors& vectors = tables.vectors;
  inputs.bias = tables.bias;
  inputs.tile = tables.tile;
  inputs.vector_key = vectors.key;
  inputs.vector_query = vectors.query;
  inputs.vector_value = vectors.value;
  inputs.content_bias = vectors.content_bias;
  inputs.position_bias = vectors.position_bias;
  inputs.query_scale = tables.query_scale;
  Call call;
  for (std::size_t n = 0; n < kInputs.size(); ++n) {
    Tensor& tensor = inputs.*kInputs[n];
    call.present[n] = tensor.defined();
    if (!call.present[n]) continue;
    const bool heads =
        kInputs[n] == &Inputs::query || kInputs[n] == &Inputs::key || kInputs[n] == &Inputs::value;
    tensor = heads ? WithChannelsTogether(tensor) : tensor.contiguous();
  }
  call.queries = tables.queries;
  call.keys = tables.keys;
  call.distances = tables.distances;
  call.rotary = rotary;
  call.row = vectors.row;
  call.scale = scale;
  return FusedFunction::apply(call, at::TensorList(call.Pack(inputs)));
}

}  // namespace

Tensor FusedCausalAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                            const AttentionTables& tables, const RotaryTensors& rotary,
                            double scale) {
  Inputs inputs;
  inputs.query = query;
  inputs.key = key;
  inputs.value = value;
  return Apply(inputs, tables, rotary, scale);
}

Tensor FusedCausalSelfAttention(const Tensor& qkv, const AttentionTables& tables, double scale) {
  Inputs inputs;
  inputs.qkv = qkv;
  return Apply(inputs, tables, tables.rotary, scale);
}

}  // namespace sextant::nn
