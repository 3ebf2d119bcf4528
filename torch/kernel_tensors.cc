// Pointers and strides of tensors.
#include "torch/kernel_tensors.h"

namespace sextant::nn {
namespace {

using torch::Tensor;

// Tensors of type T have the bits of the kernels' Stored.
template <class Stored, class T>
HeadsOf<Stored> SequenceOf(const Tensor& x, Index b) {
  return {reinterpret_cast<Stored*>(x.data_ptr<T>() + b * x.stride(0)),
          x.size(1),
          x.size(2),
          x.size(3),
          x.stride(1),
          x.stride(2)};
}

template <class Stored, class T>
void Turn(const Tensor& from, const Tensor& to, Index b, const TurnTable& table,
          const TurnedChannels& channels, TurnDirection direction, Executor& executor) {
  Rotate(SequenceOf<const Stored, T>(from, b), SequenceOf<Stored, T>(to, b), table, channels,
         direction, executor);
}

TurnedChannels ChannelsOf(const RotaryShape& shape) {
  const auto order = [](bool halves) { return halves ? PairOrder::kHalves : PairOrder::kAdjacent; };
  return {shape.first, shape.rotated_dims, shape.blocks, order(shape.pairing == Pairing::kHalves),
          order(shape.pairing != Pairing::kAdjacent)};
}

}  // namespace

bool KernelsStore(at::ScalarType type) {
  return type == torch::kFloat || type == torch::kBFloat16 || type == torch::kHalf;
}

Tensor WithChannelsTogether(const Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

HeadsIn ReadSequence(const Tensor& x, Index b) {
  if (x.scalar_type() == torch::kBFloat16) return SequenceOf<const Bf16, at::BFloat16>(x, b);
  if (x.scalar_type() == torch::kHalf) return SequenceOf<const F16, at::Half>(x, b);
  return SequenceOf<const float, float>(x, b);
}

HeadsOut WriteSequence(const Tensor& x, Index b) {
  if (x.scalar_type() == torch::kBFloat16) return SequenceOf<Bf16, at::BFloat16>(x, b);
  if (x.scalar_type() == torch::kHalf) return SequenceOf<F16, at::Half>(x, b);
  return SequenceOf<float, float>(x, b);
}

void TurnSequence(const Tensor& from, const Tensor& to, Index b, const Tensor& cos,
                  const Tensor& sin, const RotaryShape& shape, TurnDirection direction,
                  Executor& executor) {
  const TurnTable table{cos.data_ptr<float>(), sin.data_ptr<float>(), cos.size(1)};
  const TurnedChannels channels = ChannelsOf(shape);
  if (from.scalar_type() == torch::kBFloat16) {
    Turn<Bf16, at::BFloat16>(from, to, b, table, channels, direction, executor);
  } else if (from.scalar_type() == torch::kHalf) {
    Turn<F16, at::Half>(from, to, b, table, channels, direction, executor);
  } else {
    Turn<float, float>(from, to, b, table, channels, direction, executor);
  }
}

}  // namespace sextant::nn
