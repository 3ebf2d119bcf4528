// A decode loop with a cache: a prompt at once, then token by token, each step beside attention
// over everything from scratch; then a context shift, after which decoding goes on.
#include <algorithm>
#include <cmath>
#include <vector>

#include "figures.h"
#include "sextant/attention/attention.h"
#include "sextant/attention/kv_cache.h"
#include "sextant/core/random.h"
#include "sextant/schemes/spec.h"

namespace {

using sextant::Index;

constexpr Index kHeads = 8, kKvHeads = 2, kHeadDim = 64;
constexpr Index kPrompt = 100, kSteps = 28, kTokens = kPrompt + kSteps;

// Tokens of one layer, before positions: [tokens, heads, head_dim].
struct Tokens {
  Tokens(Index heads_of, sextant::Random& random)
      : heads(heads_of), numbers(std::size_t(kTokens * heads * kHeadDim)) {
    for (float& number : numbers) number = float(random.Normal());
  }
  sextant::HeadsOf<const float> From(Index first, Index count) const {
    return sextant::DenseHeads(numbers.data() + first * heads * kHeadDim, count, heads, kHeadDim);
  }

  Index heads;
  std::vector<float> numbers;
};

struct Layer {
  sextant::SchemePtr scheme =
      sextant::MakeScheme("rope:base=500000", {{"heads", kHeads}, {"head_dim", kHeadDim}});
  sextant::Random random{1};
  Tokens query{kHeads, random}, key{kKvHeads, random}, value{kKvHeads, random};

  // Causal attention of tokens first .. all at once, at positions 0, 1, ...: [tokens, heads * dim].
  std::vector<float> FromScratch(Index first) const {
    const Index count = kTokens - first;
    std::vector<float> out(std::size_t(count * kHeads * kHeadDim));
    const auto at = sextant::PositionList::Range(0, count);
    sextant::Attention(*scheme, {},
                       {.query = query.From(first, count),
                        .key = key.From(first, count),
                        .value = value.From(first, count),
                        .query_positions = at,
                        .key_positions = at,
                        .mask = {.causal = true}},
                       sextant::DenseHeads(out.data(), count, kHeads, kHeadDim));
    return out;
  }
};

// The largest difference of one step's output and row `row` of everything.
double Difference(const std::vector<float>& step, const std::vector<float>& all, Index row) {
  double largest = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const float right = all[std::size_t(row) * step.size() + i];
    largest = std::max(largest, double(std::abs(step[i] - right)));
  }
  return largest;
}

// Appends a token and attends with its query.
std::vector<float> Step(const Layer& layer, sextant::KvCache& cache, Index token,
                        std::int64_t position) {
  std::vector<float> out(std::size_t(kHeads * kHeadDim));
  const auto at = sextant::PositionList::Range(position, 1);
  cache.Append(layer.key.From(token, 1), layer.value.From(token, 1), at);
  cache.Attend(layer.query.From(token, 1), at,
               sextant::DenseHeads(out.data(), 1, kHeads, kHeadDim));
  return out;
}

}  // namespace

int main() {
  const Layer layer;
  sextant::KvCache cache(layer.scheme, {},
                         {.capacity = kTokens, .kv_heads = kKvHeads, .head_dim = kHeadDim});
  cache.Append(layer.key.From(0, kPrompt), layer.value.From(0, kPrompt),
               sextant::PositionList::Range(0, kPrompt));

  Figures figures;
  const std::vector<float> all = layer.FromScratch(0);
  double largest = 0;
  for (Index token = kPrompt; token + 1 < kTokens; ++token) {
    const std::vector<float> out = Step(layer, cache, token, token);
    largest = std::max(largest, Difference(out, all, token));
  }
  figures.Add("decode steps beside attention from scratch", largest, 2e-5);

  // The first 40 tokens go, the others move down by 40, and the next one follows them.
  constexpr Index kDropped = 40;
  cache.Shift(0, kDropped);
  const Index last = kTokens - 1;
  const std::vector<float> out = Step(layer, cache, last, last - kDropped);
  figures.Add("a step after a shift beside attention from scratch",
              Difference(out, layer.FromScratch(kDropped), last - kDropped), 2e-5);
  return figures.exit_code();
}
