// Turns the queries and keys of a model shaped like Llama 3.1 8B: a spec becomes a table in double,
// the table float32, and one call turns all heads of all tokens in place.
#include <algorithm>
#include <cmath>
#include <vector>

#include "figures.h"
#include "sextant/core/random.h"
#include "sextant/kernels/rotate.h"
#include "sextant/schemes/spec.h"

namespace {

using sextant::Index;

constexpr Index kHeads = 32, kKvHeads = 8, kHeadDim = 128, kTokens = 24;
constexpr Index kTurned = kHeads + kKvHeads;  // a token's queries and keys lie together
constexpr std::int64_t kFar = 100'000;        // the positions of a long context

// Cosines and sines of `count` positions from `first` on, rounded once to float32.
struct Table {
  Table(const sextant::Scheme& scheme, std::int64_t first, Index count)
      : pairs(scheme.rotary_shape().rotated_dims / 2) {
    sextant::Array<double, 2> exact_cos({count, pairs}), exact_sin({count, pairs});
    scheme.FillRotary({}, sextant::PositionList::Range(first, count), sextant::Side::kQuery,
                      exact_cos, exact_sin);
    cos.assign(exact_cos.values().begin(), exact_cos.values().end());
    sin.assign(exact_sin.values().begin(), exact_sin.values().end());
  }
  sextant::TurnTable rows() const { return {cos.data(), sin.data(), pairs}; }

  Index pairs;
  std::vector<float> cos, sin;
};

// Queries and keys [tokens, 32 + 8 heads, 128], as a model's fused projection leaves them.
using Numbers = std::vector<float>;

float* HeadOf(Numbers& x, Index token, Index head) {
  return x.data() + (token * kTurned + head) * kHeadDim;
}

void Turn(Numbers& x, const Table& table, sextant::TurnDirection direction) {
  const sextant::HeadsOf<float> out{x.data(),           kTokens, kTurned, kHeadDim,
                                    kTurned * kHeadDim, kHeadDim};
  const sextant::HeadsOf<const float> in{x.data(),           kTokens, kTurned, kHeadDim,
                                         kTurned * kHeadDim, kHeadDim};
  const sextant::TurnedChannels channels{.rotated = kHeadDim};  // pairs (i, i + 64), as Llama's
  sextant::Rotate(in, out, table.rows(), channels, direction, sextant::DefaultExecutor());
}

double Dot(const float* a, const float* b) {
  double sum = 0;
  for (Index c = 0; c < kHeadDim; ++c) sum += double(a[c]) * b[c];
  return sum;
}

// The largest change of a head's norm.
double NormChange(Numbers& before, Numbers& after) {
  double largest = 0;
  for (Index n = 0; n < kTokens; ++n) {
    for (Index h = 0; h < kTurned; ++h) {
      const float *x = HeadOf(before, n, h), *y = HeadOf(after, n, h);
      largest = std::max(largest, std::abs(std::sqrt(Dot(y, y) / Dot(x, x)) - 1));
    }
  }
  return largest;
}

// The largest difference of q . k / (|q| |k|) between the same tokens at two places, all heads.
double ScoreChange(Numbers& x, Numbers& y) {
  double largest = 0;
  for (Index n = 0; n < kTokens; ++n) {
    for (Index m = 0; m <= n; ++m) {
      for (Index h = 0; h < kHeads; ++h) {
        const Index key = kHeads + h / (kHeads / kKvHeads);
        const float *q = HeadOf(x, n, h), *k = HeadOf(x, m, key);
        const double size = std::sqrt(Dot(q, q) * Dot(k, k));
        const double moved = Dot(HeadOf(y, n, h), HeadOf(y, m, key));
        largest = std::max(largest, std::abs(moved - Dot(q, k)) / size);
      }
    }
  }
  return largest;
}

// The largest error of the fastest pair, which turns by its position in radians, and of the
// slowest, which the factor 8 slows, at position kFar.
double PairError(Numbers& before, Numbers& after) {
  const double slowest = std::pow(500'000.0, -126.0 / 128) / 8;
  double largest = 0;
  for (Index h = 0; h < kTurned; ++h) {
    const float *x = HeadOf(before, 0, h), *y = HeadOf(after, 0, h);
    for (const auto& [pair, frequency] : {std::pair{0, 1.0}, {63, slowest}}) {
      const double angle = kFar * frequency;
      const double right = x[pair] * std::cos(angle) - x[pair + 64] * std::sin(angle);
      largest = std::max(largest, std::abs(y[pair] - right));
    }
  }
  return largest;
}

}  // namespace

int main() {
  const sextant::SchemePtr rope =
      sextant::MakeScheme("rope:base=500000,frequencies=llama3,factor=8,original_length=8192",
                          {{"head_dim", kHeadDim}});
  sextant::Random random(1);
  Numbers x(std::size_t(kTokens * kTurned * kHeadDim));
  for (float& number : x) number = float(random.Normal());

  Numbers near = x, far = x;
  const Table at_start(*rope, 0, kTokens), at_far(*rope, kFar, kTokens);
  Turn(near, at_start, sextant::TurnDirection::kForth);
  Turn(far, at_far, sextant::TurnDirection::kForth);

  Figures figures;
  figures.Add("largest change of a head's norm", NormChange(x, far), 1e-6);
  figures.Add("largest error of the fastest and the slowest pair", PairError(x, far), 2e-6);
  figures.Add("scores at 100000 beside those at 0", ScoreChange(near, far), 1e-6);

  Turn(far, at_far, sextant::TurnDirection::kBack);
  double change = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    change = std::max<double>(change, std::abs(far[i] - x[i]));
  figures.Add("turned forth and back", change, 2e-6);
  return figures.exit_code();
}
