// Sampling token by token.
#include "lab/generate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant::lab {
namespace {

using torch::Tensor;

std::int32_t Choose(const Tensor& logits, double temperature, Random& random) {
  if (temperature == 0) return static_cast<std::int32_t>(logits.argmax().item<std::int64_t>());
  const Tensor shares = torch::softmax(logits.to(torch::kDouble) / temperature, 0).contiguous();
  const double* share = shares.data_ptr<double>();
  double left = random.Uniform();
  const std::int64_t count = shares.numel();
  for (std::int64_t token = 0; token < count; ++token) {
    left -= share[token];
    if (left < 0) return static_cast<std::int32_t>(token);
  }
  return static_cast<std::int32_t>(count - 1);
}

}  // namespace

std::string Generate(Gpt& model, const Tokenizer& tokenizer, const Sampling& sampling) {
  torch::NoGradGuard no_grad;
  std::vector<std::int32_t> tokens = tokenizer.Encode(sampling.prompt);
  if (tokens.empty()) throw Error("generate", "the prompt must not be empty");
  Random random = Random::For(sampling.seed, 0);
  for (int n = 0; n < sampling.tokens; ++n) {
    const std::size_t seen = std::min(tokens.size(), static_cast<std::size_t>(sampling.context));
    const std::vector<std::int64_t> window(tokens.end() - static_cast<std::ptrdiff_t>(seen),
                                           tokens.end());
    const Tensor input = torch::tensor(at::ArrayRef<std::int64_t>(window), torch::kLong);
    const Tensor logits = model.Forward(input.unsqueeze(0))[0][-1];
    const std::int32_t token = Choose(logits, sampling.temperature, random);
    if (token == tokenizer.end_of_story()) break;
    tokens.push_back(token);
  }
  return tokenizer.Decode(tokens);
}

}  // namespace sextant::lab
