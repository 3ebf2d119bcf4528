// Transformer-XL's tables: sinusoids of query - key, their projection, the clamp, the biases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kHeads = 2, kHeadDim = 3, kModelDim = 8;
constexpr const char* kSpec = "transformer-xl:heads=2,head_dim=3,model_dim=8";

std::vector<std::vector<double>> RandomWeights(const Scheme& scheme) {
  Random random(3);
  return NormalWeights(scheme.weights(), 1, random);
}

// R of section 3.3 for the distance query - key, as the released code lays it out: [sin | cos].
std::vector<double> Sinusoid(double behind) {
  std::vector<double> row;
  for (int i = 0; i < kModelDim / 2; ++i) {
    row.push_back(std::sin(behind / std::pow(10000.0, 2.0 * i / kModelDim)));
  }
  for (int i = 0; i < kModelDim / 2; ++i) {
    row.push_back(std::cos(behind / std::pow(10000.0, 2.0 * i / kModelDim)));
  }
  return row;
}

void ExpectProjected(const DistanceVectorTables& tables, const std::vector<double>& projection,
                     std::int64_t distance, double behind, std::size_t at) {
  const std::vector<double> r = Sinusoid(behind);
  const Index row = tables.row[at];
  for (Index h = 0; h < kHeads; ++h) {
    for (Index c = 0; c < kHeadDim; ++c) {
      double expected = 0;
      for (Index m = 0; m < kModelDim; ++m) {
        expected += projection[std::size_t((h * kHeadDim + c) * kModelDim + m)] * r[std::size_t(m)];
      }
      EXPECT_NEAR(tables.key(h, row, c), expected, 1e-12) << distance;
    }
  }
}

TEST(TransformerXlTest, WeightsAreTheProjectionAndTwoBiases) {
  const std::vector<WeightInfo> weights = MakeScheme(kSpec)->weights();
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].shape, (std::vector<Index>{kHeads, kHeadDim, kModelDim}));
  EXPECT_EQ(weights[1].shape, (std::vector<Index>{kHeads, kHeadDim}));
  EXPECT_EQ(weights[2].shape, (std::vector<Index>{kHeads, kHeadDim}));
}

TEST(TransformerXlTest, KeysAreProjectedSinusoidsOfQueryMinusKey) {
  const SchemePtr scheme = MakeScheme(kSpec);
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  const DistanceVectorTables tables = scheme->FillDistanceVectors(weights, {-20, 41});
  ASSERT_EQ(tables.row.size(), 41u);
  for (std::int64_t distance = -20; distance <= 20; ++distance) {
    ExpectProjected(tables, weights[0], distance, double(-distance), std::size_t(distance + 20));
  }
  for (Index h = 0; h < kHeads; ++h) {
    for (Index c = 0; c < kHeadDim; ++c) {
      EXPECT_EQ(tables.content_bias(h, c), weights[1][std::size_t(h * kHeadDim + c)]);
      EXPECT_EQ(tables.position_bias(h, c), weights[2][std::size_t(h * kHeadDim + c)]);
    }
  }
  EXPECT_TRUE(tables.query.empty());
  EXPECT_TRUE(tables.value.empty());
}

TEST(TransformerXlTest, ClampedDistancesShareASinusoid) {
  std::string spec = kSpec;
  spec += ",clamp_length=5";
  const SchemePtr scheme = MakeScheme(spec);
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  const DistanceVectorTables tables = scheme->FillDistanceVectors(weights, {-8, 17});
  for (std::int64_t distance = -8; distance <= 8; ++distance) {
    const double behind = std::clamp(double(-distance), -5.0, 5.0);
    ExpectProjected(tables, weights[0], distance, behind, std::size_t(distance + 8));
  }
}

TEST(TransformerXlTest, GradientOfTheProjectionIsTheOuterProduct) {
  const SchemePtr scheme = MakeScheme(kSpec);
  DistanceVectorTables d_tables;
  d_tables.key = Array<double, 3>({kHeads, 2, kHeadDim});
  d_tables.content_bias = Array<double, 2>({kHeads, kHeadDim});
  d_tables.position_bias = Array<double, 2>({kHeads, kHeadDim});
  d_tables.key(1, 0, 2) = 3;  // distance -4: the query is 4 after the key
  d_tables.content_bias(0, 1) = 5;
  d_tables.position_bias(1, 1) = 7;
  std::vector<std::vector<double>> gradients = ZeroWeights(*scheme);
  scheme->BackDistanceVectors(RandomWeights(*scheme), {-4, 2}, d_tables, gradients);
  const std::vector<double> r = Sinusoid(4);
  for (Index i = 0; i < kHeads * kHeadDim; ++i) {
    for (Index m = 0; m < kModelDim; ++m) {
      EXPECT_NEAR(gradients[0][std::size_t(i * kModelDim + m)],
                  i == kHeadDim + 2 ? 3 * r[std::size_t(m)] : 0, 1e-14);
    }
  }
  EXPECT_EQ(gradients[1], (std::vector<double>{0, 5, 0, 0, 0, 0}));
  EXPECT_EQ(gradients[2], (std::vector<double>{0, 0, 0, 0, 7, 0}));
}

TEST(TransformerXlTest, OddWidthIsRefused) {
  EXPECT_THROW(MakeScheme("transformer-xl:model_dim=7"), Error);
}

}  // namespace
}  // namespace sextant
