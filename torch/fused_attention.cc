// The fused kernel under autograd.
#include "torch/fused_attention.h"

#include "sextant/kernels/attention.h"
#include "torch/aten_executor.h"

namespace sextant::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One sequence of a batch, [heads, n, head_dim] with any strides but the last.
HeadsOf<const float> ReadHeads(const Tensor& x) {
  return {x.data_ptr<float>(), x.size(1), x.size(0), x.size(2), x.stride(1), x.stride(0)};
}
HeadsOf<float> WriteHeads(const Tensor& x) {
  return {x.data_ptr<float>(), x.size(1), x.size(0), x.size(2), x.stride(1), x.stride(0)};
}

Tensor TogetherByToken(const Tensor& like) {
  return torch::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

Tensor WithChannelsTogether(const Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

FusedAttention InputOf(const variable_list& q_k_v_bias, std::int64_t b, double scale) {
  const Tensor& bias = q_k_v_bias[3];
  FusedAttention in{ReadHeads(q_k_v_bias[0][b]),
                    ReadHeads(q_k_v_bias[1][b]),
                    ReadHeads(q_k_v_bias[2][b]),
                    float(scale),
                    {.causal = true}};
  in.first_distance = 1 - in.key.tokens;
  in.distances = bias.size(1);
  in.bias = {bias.data_ptr<float>(), bias.size(1)};
  return in;
}

class FusedFunction : public torch::autograd::Function<FusedFunction> {
 public:
  // bias [heads, n]
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key,
                        const Tensor& value, const Tensor& bias, double scale) {
    const variable_list inputs{query, key, value, bias};
    Tensor out = TogetherByToken(query);
    const Tensor log_sum_exp =
        torch::empty({query.size(0), query.size(1), query.size(2)}, query.options());
    // Each sequence of the batch on one thread.
    AtenExecutor().Run(query.size(0), [&](std::int64_t b) {
      AttentionForward(InputOf(inputs, b, scale), WriteHeads(out[b]),
                       log_sum_exp[b].data_ptr<float>(), SerialExecutor());
    });
    context->save_for_backward({query, key, value, bias, out, log_sum_exp});
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& d_outputs) {
    const variable_list saved = context->get_saved_variables();
    const Tensor d_out = WithChannelsTogether(d_outputs[0]);
    const Tensor &query = saved[0], &bias = saved[3];
    Tensor d_query = TogetherByToken(query), d_key = TogetherByToken(query),
           d_value = TogetherByToken(query);
    const std::int64_t batch = query.size(0);
    const Tensor d_bias = bias.requires_grad()
                              ? torch::empty({batch, bias.size(0), bias.size(1)}, torch::kDouble)
                              : Tensor();
    const double scale = context->saved_data["scale"].toDouble();
    AtenExecutor().Run(batch, [&](std::int64_t b) {
      AttentionBackward(InputOf(saved, b, scale),
                        {ReadHeads(saved[4][b]), ReadHeads(d_out[b]), saved[5][b].data_ptr<float>(),
                         WriteHeads(d_query[b]), WriteHeads(d_key[b]), WriteHeads(d_value[b]),
                         d_bias.defined() ? d_bias[b].data_ptr<double>() : nullptr},
                        SerialExecutor());
    });
    return {d_query, d_key, d_value,
            d_bias.defined() ? d_bias.sum(0).to(bias.scalar_type()) : Tensor(), Tensor()};
  }
};

}  // namespace

bool FusedAttentionServes(const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& bias) {
  for (const Tensor& tensor : {query, key, value, bias}) {
    if (!tensor.is_cpu() || tensor.scalar_type() != torch::kFloat) return false;
  }
  return query.sizes() == key.sizes() && query.sizes() == value.sizes() && query.size(2) > 0;
}

Tensor FusedCausalAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& bias, double scale) {
  return FusedFunction::apply(WithChannelsTogether(query), WithChannelsTogether(key),
                              WithChannelsTogether(value), bias.contiguous(), scale);
}

}  // namespace sextant::nn
