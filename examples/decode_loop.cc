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

  // The output of query `token` at `position` over keys first .. token, computed from scratch.
  std::vector<float> FromScratch(Index token, Index first, std::int64_t position) const {
    std::vector<float> out(std::size_t(kHeads * kHeadDim));
    const Index keys = token + 1 - first;
    const auto at = sextant::PositionList::Range(position, 1);
    const auto key_at = sextant::PositionList::Range(position + 1 - keys, keys);
    sextant::Attention(*scheme, {},
                       {.query = query.From(token, 1),
                        .key = key.From(first, keys),
                        .value = value.From(first, keys),
                        .query_positions = at,
                        .key_positions = key_at,
                        .mask = {.causal = true}},
                       sextant::DenseHeads(out.data(), 1, kHeads, kHeadDim));
    return out;
  }
};

double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, double(std::abs(a[i] - b[i])));
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
  double largest = 0;
  for (Index token = kPrompt; token + 1 < kTokens; ++token) {
    const std::vector<float> out = Step(layer, cache, token, token);
    largest = std::max(largest, Difference(out, layer.FromScratch(token, 0, token)));
  }
  figures.Add("decode steps beside attention from scratch", largest, 2e-5);

  // The first 40 tokens go, the others move down by 40, and the next one follows them.
  constexpr Index kDropped = 40;
  cache.Shift(0, kDropped);
  const Index last = kTokens - 1;
  const std::vector<float> out = Step(layer, cache, last, last - kDropped);
  figures.Add("a step after a shift beside attention from scratch",
              Difference(out, layer.FromScratch(last, kDropped, last - kDropped)), 2e-5);
  return figures.exit_code();
}
