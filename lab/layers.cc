// Forward and backward of the layers.
#include "lab/layers.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/simd/gelu.h"
#include "sextant/core/error.h"
#include "torch/aten_executor.h"

namespace sextant::lab {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kNormEpsilon = 1e-5;

// oneDNN's products as libtorch offers them; only a build with oneDNN has them.
using Pointwise = Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&,
                         std::string_view, c10::List<std::optional<at::Scalar>>,
                         std::optional<std::string_view>);
using PointwiseBinary = Tensor(const Tensor&, const Tensor&, const Tensor&,
                               const std::optional<Tensor>&, std::string_view);
template <class Signature>
std::optional<c10::TypedOperatorHandle<Signature>> FindOperator(const char* overload) {
  const auto found =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", overload});
  if (!found) return std::nullopt;
  return found->typed<Signature>();
}

bool ForOneDnn(const Tensor& x) { return x.is_cpu() && x.scalar_type() == torch::kFloat; }

std::optional<Tensor> IfDefined(const Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

// x weight^T + bias.
Tensor Times(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  static const auto product = FindOperator<Pointwise>("");
  if (!product || !ForOneDnn(x)) return torch::linear(x, weight, bias);
  return product->call(x, weight, bias, "none", c10::List<std::optional<at::Scalar>>(), "");
}

Tensor AddTimes(const Tensor& residual, const Tensor& x, const Tensor& weight,
                const std::optional<Tensor>& bias) {
  static const auto product = FindOperator<PointwiseBinary>("binary");
  if (!product || !ForOneDnn(x)) return residual + torch::linear(x, weight, bias);
  return product->call(x, residual, weight, bias, "add");
}

// [tokens, channels]
Tensor Rows(const Tensor& x) { return x.reshape({-1, x.size(-1)}); }

// Gradients of x W^T + b but for that of x, which is Times(d, W^T).
Tensor WeightGradient(const Tensor& d, const Tensor& x) { return Rows(d).t().mm(Rows(x)); }
Tensor BiasGradient(const Tensor& d, const Tensor& bias) {
  return bias.defined() ? Rows(d).sum(0) : Tensor();
}
Tensor InputGradient(const Tensor& d, const Tensor& weight) {
  return Times(d, weight.t(), std::nullopt);
}

constexpr Index kGeluPiece = 1 << 14;  // numbers a thread takes at a time

bool ForGelu(const Tensor& x) {
  return x.is_cpu() && x.scalar_type() == torch::kFloat && x.is_contiguous();
}

// Calls act(first, count) for pieces of x, on ATen's threads.
template <class Act>
void ForEachPiece(const Tensor& x, const Act& act) {
  nn::AtenExecutor executor;
  const Index all = x.numel();
  executor.Run((all + kGeluPiece - 1) / kGeluPiece, [&](Index piece) {
    const Index first = piece * kGeluPiece;
    act(first, std::min(kGeluPiece, all - first));
  });
}

Tensor GeluOf(const Tensor& x) {
  if (!ForGelu(x)) return torch::gelu(x);
  Tensor out = torch::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* to = out.data_ptr<float>();
  ForEachPiece(x, [&](Index first, Index count) { Gelu(from + first, count, to + first); });
  return out;
}

// x becomes gelu(x), and d, the gradient of that, what it is for x.
void GeluBack(Tensor& x, Tensor& d) {
  if (!ForGelu(x)) {
    d = torch::gelu_backward(d, x);
    x = torch::gelu(x);
    return;
  }
  float *values = x.data_ptr<float>(), *gradient = d.data_ptr<float>();
  ForEachPiece(x, [&](Index first, Index count) {
    GeluBackward(values + first, count, values + first, gradient + first);
  });
}

// A layer norm's output, and what its gradient needs.
struct Normed {
  Normed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    std::tie(y, mean, rstd) = torch::native_layer_norm(x, {x.size(-1)}, weight, bias, kNormEpsilon);
  }
  // Gradients of x, weight and bias.
  static std::tuple<Tensor, Tensor, Tensor> Backward(const Tensor& d, const Tensor& x,
                                                     const Normed& normed, const Tensor& weight,
                                                     const Tensor& bias) {
    return torch::native_layer_norm_backward(d, x, {x.size(-1)}, normed.mean, normed.rstd, weight,
                                             bias, {true, true, true});
  }
  Tensor y, mean, rstd;
};

class NormLinearFunction : public torch::autograd::Function<NormLinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& norm_weight,
                        const Tensor& norm_bias, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    context->save_for_backward({x, norm_weight, norm_bias, weight, bias.value_or(Tensor())});
    return Times(Normed(x, norm_weight, norm_bias).y, weight, bias);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &norm_weight = saved[1], &norm_bias = saved[2], &weight = saved[3],
                 &bias = saved[4];
    const Tensor d = gradients[0].contiguous();
    const Normed normed(x, norm_weight, norm_bias);
    const auto [d_x, d_norm_weight, d_norm_bias] =
        Normed::Backward(InputGradient(d, weight), x, normed, norm_weight, norm_bias);
    return {d_x, d_norm_weight, d_norm_bias, WeightGradient(d, normed.y), BiasGradient(d, bias)};
  }
};

class AddLinearFunction : public torch::autograd::Function<AddLinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& residual, const Tensor& x,
                        const Tensor& weight, const std::optional<Tensor>& bias) {
    context->save_for_backward({x, weight, bias.value_or(Tensor())});
    return AddTimes(residual, x, weight, bias);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor d = gradients[0].contiguous();
    return {d, InputGradient(d, saved[1]), WeightGradient(d, saved[0]), BiasGradient(d, saved[2])};
  }
};

// Goes through the rows in pieces whose hidden channels stay in the cache, and which leave malloc
// blocks of one size.
class AddMlpFunction : public torch::autograd::Function<AddMlpFunction> {
 public:
  static constexpr std::int64_t kRowsAtOnce = 1024;

  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& norm_weight,
                        const Tensor& norm_bias, const Tensor& up,
                        const std::optional<Tensor>& up_bias, const Tensor& down,
                        const std::optional<Tensor>& down_bias) {
    variable_list saved = {x,
                           norm_weight,
                           norm_bias,
                           up,
                           up_bias.value_or(Tensor()),
                           down,
                           down_bias.value_or(Tensor())};
    const Tensor normed = Normed(x, norm_weight, norm_bias).y;
    Tensor out = torch::empty_like(x);
    const std::vector<Tensor> from = Pieces(x), between = Pieces(normed), to = Pieces(out);
    for (std::size_t n = 0; n < to.size(); ++n) {
      const Tensor hidden = Times(between[n], up, up_bias);
      to[n].copy_(AddTimes(from[n], GeluOf(hidden), down, down_bias));
      saved.push_back(hidden);
    }
    context->save_for_backward(saved);
    context->saved_data["spent"] = false;
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (std::exchange(context->saved_data["spent"], true).toBool()) {
      throw Error("AddMlp",
                  "has been gone back through before, and kept nothing for a second time");
    }
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &norm_weight = saved[1], &norm_bias = saved[2], &up = saved[3],
                 &up_bias = saved[4], &down = saved[5], &down_bias = saved[6];
    const Tensor d = gradients[0].contiguous();
    const Normed normed(x, norm_weight, norm_bias);
    const Tensor d_normed = torch::empty_like(x), d_up = torch::zeros_like(up),
                 d_down = torch::zeros_like(down);
    Tensor d_up_bias = up_bias.defined() ? torch::zeros_like(up_bias) : Tensor();
    const std::vector<Tensor> from = Pieces(d), between = Pieces(normed.y), to = Pieces(d_normed);
    for (std::size_t n = 0; n < to.size(); ++n) {
      Tensor hidden = saved[kBeforePieces + n], d_hidden = InputGradient(from[n], down);
      GeluBack(hidden, d_hidden);
      d_down.addmm_(from[n].t(), hidden);
      d_up.addmm_(d_hidden.t(), between[n]);
      if (d_up_bias.defined()) d_up_bias += d_hidden.sum(0);
      to[n].copy_(InputGradient(d_hidden, up));
    }
    const auto [d_x, d_norm_weight, d_norm_bias] =
        Normed::Backward(d_normed, x, normed, norm_weight, norm_bias);
    return {d_x.add_(d),
            d_norm_weight,
            d_norm_bias,
            d_up,
            d_up_bias,
            d_down,
            BiasGradient(d, down_bias)};
  }

 private:
  static constexpr std::size_t kBeforePieces = 7;  // of what is saved
  static std::vector<Tensor> Pieces(const Tensor& x) { return Rows(x).split(kRowsAtOnce); }
};

class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& logits, const Tensor& targets) {
    Tensor d = logits.detach();
    at::_log_softmax_out(d, logits, 1, /*half_to_float=*/false);
    const Tensor at = targets.unsqueeze(1);
    const Tensor loss = -d.gather(1, at).mean();
    d.exp_().scatter_add_(1, at, torch::full_like(at, -1, d.options()));
    context->save_for_backward({d.mul_(1 / double(targets.numel()))});
    return loss;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor d = context->get_saved_variables()[0], &by = gradients[0];
    return {by.item<double>() == 1 ? d : d * by, Tensor()};
  }
};

}  // namespace

Tensor NormLinear(const Tensor& x, const Norm& norm, const Linear& linear) {
  return NormLinearFunction::apply(x, norm.weight, norm.bias, linear.weight,
                                   IfDefined(linear.bias));
}

Tensor AddLinear(const Tensor& residual, const Tensor& x, const Linear& linear) {
  return AddLinearFunction::apply(residual, x, linear.weight, IfDefined(linear.bias));
}

Tensor AddMlp(const Tensor& x, const Norm& norm, const Linear& up, const Linear& down) {
  return AddMlpFunction::apply(x, norm.weight, norm.bias, up.weight, IfDefined(up.bias),
                               down.weight, IfDefined(down.bias));
}

Tensor MeanCrossEntropy(const Tensor& logits, const Tensor& targets) {
  return CrossEntropyFunction::apply(logits, targets);
}

}  // namespace sextant::lab
