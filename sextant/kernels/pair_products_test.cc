// Products of bfloat16 pairs against double, and attention by them beside attention in float32.
#include "sextant/kernels/pair_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sextant/core/half.h"
#include "sextant/core/random.h"
#include "sextant/kernels/attention.h"

namespace sextant {
namespace {

#define SKIP_WITHOUT_PAIRS()                                                                \
  if (!PairProductsServed()) {                                                              \
    GTEST_SKIP() << "this processor has no AVX512_BF16, so products of pairs are not used"; \
  }

double Low(Pair pair) { return FromBf16Bits(std::uint16_t(pair & 0xffffu)); }
double High(Pair pair) { return FromBf16Bits(std::uint16_t(pair >> 16)); }
Pair Random2(Random& random) {
  return Pair{Bf16Bits(random.Normal())} | Pair{Bf16Bits(random.Normal())} << 16;
}

TEST(PairProductsTest, SumsAgreeWithDouble) {
  SKIP_WITHOUT_PAIRS();
  Random random(4);
  for (Index rows : {1, 5, 6, 7, 48}) {
    for (Index pairs : {1, 3, 32, 128}) {
      for (Index columns : {16, 48, 64, 80, 128}) {
        std::vector<Pair> a(std::size_t(rows * pairs)), b(std::size_t(pairs * columns));
        for (Pair& pair : a) pair = Random2(random);
        for (Pair& pair : b) pair = Random2(random);
        std::vector<float> c(std::size_t(rows * columns), 0.5f), zero = c;
        kVectorPairs.product({a.data(), pairs}, rows, pairs, {b.data(), columns}, PairStart::kSums,
                             c.data(), columns, columns);
        kVectorPairs.product({a.data(), pairs}, rows, pairs, {b.data(), columns}, PairStart::kZero,
                             zero.data(), columns, columns);
        for (Index i = 0; i < rows; ++i) {
          for (Index j = 0; j < columns; ++j) {
            double sum = 0, size = 0.5;
            for (Index p = 0; p < pairs; ++p) {
              const Pair x = a[std::size_t(i * pairs + p)], y = b[std::size_t(p * columns + j)];
              sum += Low(x) * Low(y) + High(x) * High(y);
              size += std::abs(Low(x) * Low(y)) + std::abs(High(x) * High(y));
            }
            const auto at = std::size_t(i * columns + j);
            ASSERT_NEAR(zero[at], sum, 0x1p-20 * size);
            ASSERT_NEAR(c[at], sum + 0.5, 0x1p-20 * size);
          }
        }
      }
    }
  }
}

TEST(PairProductsTest, RoundsToNearestEven) {
  SKIP_WITHOUT_PAIRS();
  Random random(5);
  std::vector<float> values(64);
  for (float& value : values) value = float(random.Normal());
  values[0] = 1.00390625f;  // halfway between two, the lower is even
  values[1] = 1.01171875f;  // halfway, the upper is even
  std::vector<Pair> pairs(32);
  kVectorPairs.round(values.data(), 64, pairs.data());
  for (std::size_t n = 0; n < 64; ++n) {
    const double got = n % 2 == 0 ? Low(pairs[n / 2]) : High(pairs[n / 2]);
    EXPECT_EQ(got, RoundToBf16(double(values[n]))) << values[n];
  }
}

// Attention of bfloat16 inputs by pairs and in float32.
struct Both {
  Both(Index tokens, Index head_dim)
      : n(tokens),
        dim(head_dim),
        q(Numbers()),
        k(Numbers()),
        v(Numbers()),
        bias(std::size_t(2 * n - 1)) {
    for (float& number : bias) number = float(random.Normal());
  }
  std::vector<Bf16> Numbers() {
    std::vector<Bf16> numbers(std::size_t(n * dim));
    for (Bf16& number : numbers) number.bits = Bf16Bits(random.Normal());
    return numbers;
  }
  HeadsOf<const Bf16> In(const std::vector<Bf16>& x) const {
    return {x.data(), n, 1, dim, dim, dim};
  }
  std::vector<float> Run(PairProducts pairs, KernelMask mask, Executor& executor) {
    std::vector<float> out(std::size_t(n * dim));
    FusedAttention in{In(q), In(k), In(v), float(1 / std::sqrt(double(dim))), mask};
    in.first_distance = 1 - n;
    in.distances = 2 * n - 1;
    in.bias = {bias.data(), 2 * n - 1};
    in.pairs = pairs;
    log_sum_exp.resize(std::size_t(n));
    AttentionForward(in, HeadsOf<float>{out.data(), n, 1, dim, dim, dim}, log_sum_exp.data(),
                     executor);
    return out;
  }

  Random random{6};
  Index n, dim;
  std::vector<Bf16> q, k, v;
  std::vector<float> bias, log_sum_exp;
};

TEST(PairProductsTest, AttentionIsOffByTheRoundingOfWeights) {
  SKIP_WITHOUT_PAIRS();
  for (Index n : {1, 2, 49, 255, 257, 600}) {
    for (Index dim : {1, 3, 24, 64, 128}) {
      for (const KernelMask& mask :
           {KernelMask{}, KernelMask{.causal = true}, KernelMask{.causal = true, .window = 30}}) {
        Both both(n, dim);
        const std::vector<float> exact = both.Run(PairProducts::kNever, mask, SerialExecutor());
        const std::vector<float> sums = both.log_sum_exp;
        const std::vector<float> pairs =
            both.Run(PairProducts::kWhereServed, mask, SerialExecutor());
        double error = 0, size = 0, largest = 0;
        for (const Bf16& number : both.v)
          largest = std::max(largest, std::abs(FromBf16Bits(number.bits)));
        for (std::size_t i = 0; i < exact.size(); ++i) {
          error += std::pow(double(exact[i]) - double(pairs[i]), 2);
          size += std::pow(double(exact[i]), 2);
          ASSERT_NEAR(exact[i], pairs[i], 0x1p-8 * largest);
        }
        ASSERT_LE(std::sqrt(error / size), 3e-3) << n << " x " << dim;
        for (std::size_t i = 0; i < sums.size(); ++i)
          ASSERT_NEAR(sums[i], both.log_sum_exp[i], 1e-5);
        ASSERT_EQ(pairs, both.Run(PairProducts::kWhereServed, mask, DefaultExecutor()));
      }
    }
  }
}

TEST(PairProductsTest, NaNStaysWithTheRowsThatSeeIt) {
  SKIP_WITHOUT_PAIRS();
  for (const bool value : {false, true}) {
    Both both(300, 16);
    const KernelMask causal{.causal = true};
    const std::vector<float> clean = both.Run(PairProducts::kNever, causal, SerialExecutor());
    (value ? both.v : both.k)[270 * 16 + 3].bits = 0x7fc0;
    const std::vector<float> out = both.Run(PairProducts::kWhereServed, causal, SerialExecutor());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool sees = i / 16 >= 270 && (!value || i % 16 == 3);
      ASSERT_EQ(std::isnan(out[i]), sees) << i;
      if (!sees) {
        ASSERT_NEAR(out[i], clean[i], 0.02);
      }
    }
  }
}

}  // namespace
}  // namespace sextant
