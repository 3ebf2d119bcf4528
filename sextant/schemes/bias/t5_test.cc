// T5's bias: which bucket every distance takes, and what is read and sent back there.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/bias/t5_buckets.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

// The released formula, in the float arithmetic transformers runs; n is a distance into the past.
int Transformers(int n, int side, int max_distance) {
  const int exact = side / 2;
  if (n < exact) return n;
  const float log = std::log(float(n) / float(exact));
  const float range = float(std::log(double(max_distance) / exact));
  return std::min(exact + int(log / range * float(side - exact)), side - 1);
}

TEST(T5BucketsTest, BidirectionalTableOfTheCourse) {
  const T5Buckets bucket(32, 128, T5Direction::kBidirectional);
  const struct {
    int from, to, bucket;
  } rows[] = {{8, 11, 8},   {12, 15, 9},  {16, 22, 10}, {23, 31, 11},
              {32, 45, 12}, {46, 63, 13}, {64, 90, 14}, {91, 400, 15}};
  for (int n = 0; n < 8; ++n) EXPECT_EQ(bucket(-n), n);
  for (const auto& row : rows) {
    for (int n = row.from; n <= row.to; ++n) {
      EXPECT_EQ(bucket(-n), row.bucket) << n;
      EXPECT_EQ(bucket(n), row.bucket + 16) << n;
    }
  }
  EXPECT_EQ(bucket(1), 17);
  EXPECT_EQ(bucket(3), 19);
  EXPECT_EQ(bucket(-200), 15);
  EXPECT_EQ(bucket(300), 31);
  for (int distance = -1000; distance <= 1000; ++distance) EXPECT_NE(bucket(distance), 16);
}

TEST(T5BucketsTest, CausalGoldenLine) {
  const T5Buckets bucket(32, 128, T5Direction::kCausal);
  const int golden[][2] = {{15, 15},  {16, 16},  {18, 16},    {19, 17}, {23, 18},
                           {24, 19},  {32, 21},  {64, 26},    {91, 29}, {112, 30},
                           {113, 31}, {128, 31}, {100000, 31}};
  for (const auto& [distance, expected] : golden) EXPECT_EQ(bucket(-distance), expected);
  for (int distance = 0; distance <= 1000; ++distance) EXPECT_EQ(bucket(distance), 0);
  // 64 buckets and 512 positions, case P41.
  EXPECT_EQ(T5Buckets(64, 512, T5Direction::kCausal)(-100), 45);
  EXPECT_EQ(bucket(-100), 30);
}

// floor(16 log(n / 16) / log(8)) >= e exactly where n^16 >= 16^16 8^e: whole numbers below 2^128.
TEST(T5BucketsTest, ThresholdsAreExact) {
  const T5Buckets bucket(32, 128, T5Direction::kCausal);
  const auto power = [](unsigned __int128 base, int exponent) {
    unsigned __int128 product = 1;
    for (int i = 0; i < exponent; ++i) product *= base;
    return product;
  };
  for (int n = 16; n <= 128; ++n) {
    int expected = 16;
    while (expected < 31 &&
           power(static_cast<unsigned>(n), 16) >= power(16, 16) * power(8, expected - 15)) {
      ++expected;
    }
    EXPECT_EQ(bucket(-n), expected) << n;
  }
}

TEST(T5BucketsTest, AgreesWithTheFloatFormulaModelsWereTrainedWith) {
  const int sizes[][2] = {{32, 128}, {320, 800}, {512, 2048}};
  for (const auto& [buckets, max_distance] : sizes) {
    const T5Buckets causal(buckets, max_distance, T5Direction::kCausal);
    const T5Buckets both(buckets, max_distance, T5Direction::kBidirectional);
    for (int n = 0; n <= 3000; ++n) {
      EXPECT_EQ(causal(-n), Transformers(n, buckets, max_distance)) << buckets << " " << n;
      const int side = Transformers(n, buckets / 2, max_distance);
      EXPECT_EQ(both(-n), side) << buckets << " " << n;
      EXPECT_EQ(both(n), n == 0 ? 0 : buckets / 2 + side) << buckets << " " << n;
    }
  }
}

TEST(T5BucketsTest, OddAndSmallSizes) {
  for (int buckets = 2; buckets <= 40; ++buckets) {
    for (int max_distance = buckets / 2 + 1; max_distance < 60; max_distance += 7) {
      const T5Buckets bucket(buckets, max_distance, T5Direction::kCausal);
      int last = 0;
      for (int n = 0; n <= 200; ++n) {
        EXPECT_GE(bucket(-n), last);
        last = bucket(-n);
        if (n >= max_distance) {
          EXPECT_EQ(last, buckets - 1) << buckets << " " << max_distance;
        }
        if (n < buckets / 2) {
          EXPECT_EQ(last, n);
        }
      }
    }
  }
}

TEST(T5BucketsTest, SizesWithoutRoomAreRefused) {
  EXPECT_THROW(T5Buckets(31, 128, T5Direction::kBidirectional), Error);
  EXPECT_THROW(T5Buckets(2, 128, T5Direction::kBidirectional), Error);
  EXPECT_THROW(T5Buckets(32, 16, T5Direction::kCausal), Error);
  EXPECT_NO_THROW(T5Buckets(32, 17, T5Direction::kCausal));
  EXPECT_THROW(T5Buckets(32, 8, T5Direction::kBidirectional), Error);
  EXPECT_THROW(MakeScheme("t5:buckets=33,direction=bidirectional"), Error);
  EXPECT_THROW(MakeScheme("t5:max_distance=16"), Error);
}

TEST(T5Test, TheBiasIsTheNumberOfTheBucketAndHead) {
  const SchemePtr scheme = MakeScheme("t5:heads=10,direction=bidirectional");
  ASSERT_EQ(scheme->weights()[0].elements(), 320);
  std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
  for (int bucket = 0; bucket < 32; ++bucket) {
    for (int head = 0; head < 10; ++head) {
      weights[0][std::size_t(bucket * 10 + head)] = bucket + head / 100.0;
    }
  }
  Array<double, 2> bias({10, 21});
  scheme->FillDistanceBias(weights, {-10, 21}, bias);
  EXPECT_EQ(bias(0, 0), 8);       // -10
  EXPECT_EQ(bias(3, 9), 1.03);    // -1
  EXPECT_EQ(bias(9, 10), 0.09);   // 0
  EXPECT_EQ(bias(9, 13), 19.09);  // +3
}

TEST(T5Test, WorkedExample) {
  const SchemePtr scheme = MakeScheme("t5:heads=1");
  std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
  weights[0][5] = -0.8;
  weights[0][1] = -0.2;
  Array<double, 2> bias({1, 6});
  scheme->FillDistanceBias(weights, {-5, 6}, bias);
  EXPECT_NEAR(0.9 + bias(0, 0), 0.1, 1e-15);
  EXPECT_NEAR(0.7 + bias(0, 4), 0.5, 1e-15);
}

// Cells of the lower triangle whose bucket a bidirectional decoder gets wrong.
int CellsThatDiffer(int length) {
  const T5Buckets causal(32, 128, T5Direction::kCausal);
  const T5Buckets both(32, 128, T5Direction::kBidirectional);
  int differ = 0;
  for (int query = 0; query < length; ++query) {
    for (int key = 0; key <= query; ++key) differ += causal(key - query) != both(key - query);
  }
  return differ;
}

TEST(T5Test, BidirectionalBucketsInADecoderDifferIn1540Of2080CellsAt64AndInNoneAt9) {
  EXPECT_EQ(CellsThatDiffer(9), 0);
  EXPECT_EQ(CellsThatDiffer(12), 6);  // of 78
  EXPECT_EQ(CellsThatDiffer(64), 1540);
}

TEST(T5Test, MaxDistanceLeftAt128GivesAnotherBucketThanTheModelsOwn512) {
  const auto bucket_of_100 = [](const std::string& spec) {
    const SchemePtr scheme = MakeScheme(spec);
    std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
    for (std::size_t b = 0; b < weights[0].size(); ++b) weights[0][b] = double(b);
    Array<double, 2> bias({1, 1});
    scheme->FillDistanceBias(weights, {-100, 1}, bias);
    return bias(0, 0);
  };
  EXPECT_EQ(bucket_of_100("t5:heads=1,buckets=64,max_distance=512"), 45);
  EXPECT_EQ(bucket_of_100("t5:heads=1"), 30);
}

TEST(T5Test, ADecodeStepHasTheRowOfThePrefill) {
  const SchemePtr scheme = MakeScheme("t5:heads=3");
  Random random(7);
  const std::vector<std::vector<double>> weights = scheme->InitialWeights(random);
  constexpr Index kLength = 200;
  Array<double, 2> prefill({3, 2 * kLength - 1});
  scheme->FillDistanceBias(weights, {1 - kLength, 2 * kLength - 1}, prefill);
  for (Index query : {0, 1, 15, 16, 127, 128, 199}) {
    Array<double, 2> step({3, query + 1});
    scheme->FillDistanceBias(weights, {-query, query + 1}, step);
    for (Index h = 0; h < 3; ++h) {
      for (Index key = 0; key <= query; ++key) {
        EXPECT_EQ(step(h, key), prefill(h, key - query + kLength - 1)) << query << " " << key;
      }
    }
  }
}

TEST(T5Test, UnscaledScoresUndoTheDivisionByTheRootOfHeadDim) {
  EXPECT_EQ(MakeScheme("t5")->softmax_multiplier(), 1);
  EXPECT_EQ(MakeScheme("t5:scores=unscaled")->softmax_multiplier(), 8);
  EXPECT_EQ(MakeScheme("t5:scores=unscaled", {{"head_dim", 16}})->softmax_multiplier(), 4);
}

TEST(T5Test, TablesAreSharedOrPerLayer) {
  EXPECT_EQ(MakeScheme("t5")->weights()[0].scope, WeightScope::kModel);
  EXPECT_EQ(MakeScheme("t5:scope=per_layer")->weights()[0].scope, WeightScope::kLayer);
}

TEST(T5Test, FiguresListWhereBucketsStart) {
  const std::vector<Figure> figures = MakeScheme("t5:direction=bidirectional")->Figures(10);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "bucket_starts");
  EXPECT_EQ(figures[0].values,
            (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}));
}

TEST(T5Test, DistancesOfABucketShareItsGradient) {
  const SchemePtr scheme = MakeScheme("t5:heads=2");
  std::vector<std::vector<double>> gradients = ZeroWeights(*scheme);
  gradients[0][33] = 100;  // bucket 16, head 1
  Array<double, 2> d_bias({2, 5});
  d_bias.values() = {1, 2, 4, 8, 16, 1, 1, 1, 1, 1};
  scheme->BackDistanceBias(ZeroWeights(*scheme), {-20, 5}, d_bias, gradients);
  // Distances 20 and 19 are bucket 17; 18, 17 and 16 bucket 16.
  EXPECT_EQ(gradients[0][34], 3);
  EXPECT_EQ(gradients[0][32], 28);
  EXPECT_EQ(gradients[0][35], 2);
  EXPECT_EQ(gradients[0][33], 103);
}

}  // namespace
}  // namespace sextant
