// Layers of the small GPT as autograd functions of their own, which keep little for the way back.
#pragma once

#include <torch/torch.h>

namespace sextant::lab {

// A layer norm over width channels, each [width].
struct Norm {
  torch::Tensor weight, bias;
};

// y = x W^T + b: weight [out, in]; bias [out] or undefined.
struct Linear {
  torch::Tensor weight, bias;
};

// Tensors are float or double of one type, contiguous, on one device; x is [..., in]. Products of
// float tensors on a CPU run in oneDNN, where this libtorch has it, for its speed at these sizes.
// On the way back layer norms and GELU are computed again instead of kept: of what these functions
// make, only AddMlp's x W^T + b before its GELU lives until then. Second derivatives are not there.

// linear(norm(x)), [..., out].
torch::Tensor NormLinear(const torch::Tensor& x, const Norm& norm, const Linear& linear);

// residual + linear(x). residual [..., out].
torch::Tensor AddLinear(const torch::Tensor& residual, const torch::Tensor& x,
                        const Linear& linear);

// x + down(gelu(up(norm(x)))), [..., in], with the exact GELU. Going back a second time throws
// Error: what was kept holds other numbers by then.
torch::Tensor AddMlp(const torch::Tensor& x, const Norm& norm, const Linear& up,
                     const Linear& down);

// Mean over n targets (int64 [n]) of -log softmax(logits [n, vocabulary])[target], a scalar. Logits
// are contiguous and the result of an operation; they become their own gradient.
torch::Tensor MeanCrossEntropy(const torch::Tensor& logits, const torch::Tensor& targets);

}  // namespace sextant::lab
