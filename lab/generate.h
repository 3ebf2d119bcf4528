// A story from a model: the same prompt and sampling seed for every scheme.
#pragma once

#include <string>

#include "lab/dataset.h"
#include "lab/gpt.h"

namespace sextant::lab {

struct Sampling {
  std::string prompt;
  std::uint64_t seed = 1;
  int tokens = 120;          // at most; a story also ends by itself
  double temperature = 0.8;  // 0: always the likeliest token
  int context = 128;         // the model sees at most this many tokens, at positions from 0
};

// The prompt and what the model goes on with. Deterministic. Throws Error for an empty prompt.
std::string Generate(Gpt& model, const Tokenizer& tokenizer, const Sampling& sampling);

}  // namespace sextant::lab
