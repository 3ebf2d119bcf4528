// Channel pairs of tensors turned by a rotary table: the kernel where it serves, else ATen.
#pragma once

#include <torch/torch.h>

#include "sextant/schemes/scheme.h"

namespace sextant::nn {

// x [batch, heads, n, head_dim] with its channel pairs turned by cos, sin [n, rotated_dims / 2].
// Tensors of float32, bfloat16 and float16 on the CPU whose channels lie together are turned by
// sextant/kernels, on ATen's threads, where the tables are float32; other devices and types, and
// tables that need gradients, by ATen operations. The two agree to the rounding of x's type.
// Differentiable; x is not changed.
torch::Tensor Rotate(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin,
                     const RotaryShape& shape);

// The same by ATen operations alone: for other devices, and the check of the kernel.
torch::Tensor RotateComposed(const torch::Tensor& x, const torch::Tensor& cos,
                             const torch::Tensor& sin, const RotaryShape& shape);

}  // namespace sextant::nn
