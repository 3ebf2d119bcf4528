// The rotary kernel under autograd.
#include "torch/rotate.h"

#include "torch/aten_executor.h"
#include "torch/kernel_tensors.h"

namespace sextant::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// x [batch, heads, tokens, head_dim]. A token's heads lie together in the result, as the kernel
// goes through them.
Tensor Turn(const Tensor& x, const Tensor& cos, const Tensor& sin, const RotaryShape& shape,
            TurnDirection direction) {
  const Tensor from = x.transpose(1, 2);
  const Tensor to = torch::empty(from.sizes(), from.options());
  ForEachSequence(from.size(0), double(from.numel()), [&](Index b, Executor& executor) {
    TurnSequence(from, to, b, cos, sin, shape, direction, executor);
  });
  return to.transpose(1, 2);
}

class RotateFunction : public torch::autograd::Function<RotateFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& cos,
                        const Tensor& sin, const RotaryShape& shape) {
    context->save_for_backward({cos, sin});
    context->saved_data["first"] = shape.first;
    context->saved_data["rotated"] = shape.rotated_dims;
    context->saved_data["blocks"] = shape.blocks;
    context->saved_data["pairing"] = std::int64_t(shape.pairing);
    return Turn(x, cos, sin, shape, TurnDirection::kForth);
  }
  static variable_list backward(AutogradContext* context, const variable_list& d_out) {
    const variable_list saved = context->get_saved_variables();
    const auto number = [&](const char* name) { return context->saved_data[name].toInt(); };
    const RotaryShape shape{number("rotated"), Pairing(number("pairing")), number("first"),
                            number("blocks")};
    const Tensor d = WithChannelsTogether(d_out[0]);
    return {Turn(d, saved[0], saved[1], shape, TurnDirection::kBack), Tensor(), Tensor(), Tensor()};
  }
};

bool KernelServes(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return x.is_cpu() && cos.is_cpu() && KernelsStore(x.scalar_type()) &&
         cos.scalar_type() == torch::kFloat && x.dim() == 4 && x.stride(3) == 1 &&
         !cos.requires_grad() && !sin.requires_grad() && cos.is_contiguous() && sin.is_contiguous();
}

}  // namespace

Tensor Rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, const RotaryShape& shape) {
  if (KernelServes(x, cos, sin)) return RotateFunction::apply(x, cos, sin, shape);
  return RotateComposed(x, cos, sin, shape);
}

Tensor RotateComposed(const Tensor& x, const Tensor& cos, const Tensor& sin,
                      const RotaryShape& shape) {
  const std::int64_t rotated = shape.rotated_dims, width = x.size(-1), last = shape.first + rotated;
  const std::int64_t pairs = rotated / 2 / shape.blocks;
  // Blocks of one head are paired alike, each by itself: [..., blocks, 2, pairs] for halves.
  const Tensor turning = rotated == width ? x : x.narrow(-1, shape.first, rotated);
  const bool reads_halves = shape.pairing == Pairing::kHalves;
  const Tensor blocks = reads_halves ? turning.unflatten(-1, {shape.blocks, 2, pairs})
                                     : turning.unflatten(-1, {shape.blocks, pairs, 2});
  const std::int64_t part = reads_halves ? -2 : -1;
  const Tensor x0 = blocks.select(part, 0), x1 = blocks.select(part, 1);
  const Tensor c = cos.unflatten(-1, {shape.blocks, pairs});
  const Tensor s = sin.unflatten(-1, {shape.blocks, pairs});
  const Tensor turned = torch::stack({x0 * c - x1 * s, x0 * s + x1 * c},
                                     shape.pairing == Pairing::kAdjacent ? -1 : -2)
                            .flatten(-3)
                            .to(x.scalar_type());
  if (rotated == width) return turned;
  return torch::cat({x.narrow(-1, 0, shape.first), turned, x.narrow(-1, last, width - last)}, -1);
}

}  // namespace sextant::nn
