// CPU tensors as the kernels take them: heads of one sequence of a batch, and rotary tables.
#pragma once

#include <torch/torch.h>

#include "sextant/kernels/heads.h"
#include "sextant/kernels/rotate.h"
#include "torch/scheme_tables.h"

namespace sextant::nn {

// Whether kernels read and write heads of this type: float32, bfloat16 and float16.
bool KernelsStore(at::ScalarType type);

// x with each head's channels together in memory; a copy only where they are not.
torch::Tensor WithChannelsTogether(const torch::Tensor& x);

// Sequence b of x [batch, tokens, heads, head_dim], channels together.
HeadsIn ReadSequence(const torch::Tensor& x, Index b);
HeadsOut WriteSequence(const torch::Tensor& x, Index b);

// Turns the channel pairs of sequence b by cos, sin float32 [tokens, rotated_dims / 2], contiguous.
// `from` and `to` [batch, tokens, heads, head_dim] are of one type, and apart or the same.
void TurnSequence(const torch::Tensor& from, const torch::Tensor& to, Index b,
                  const torch::Tensor& cos, const torch::Tensor& sin, const RotaryShape& shape,
                  TurnDirection direction, Executor& executor);

}  // namespace sextant::nn
