// XLNet's tables: the released positions and shift written out, the clamp, and its two directions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kHeads = 2, kHeadDim = 3, kModelDim = 8;
const std::string kSpec = "xlnet:heads=2,head_dim=3,model_dim=8";

std::vector<std::vector<double>> RandomWeights(const Scheme& scheme) {
  Random random(4);
  return NormalWeights(scheme.weights(), 1, random);
}

// r R[position] for head h and channel c, R = [sin | cos] of position * 10000^(-2i / d).
double Projected(const std::vector<double>& r, Index h, Index c, double position) {
  double sum = 0;
  for (Index m = 0; m < kModelDim; ++m) {
    const Index i = m % (kModelDim / 2);
    const double angle = position / std::pow(10000.0, 2.0 * double(i) / kModelDim);
    const double value = m < kModelDim / 2 ? std::sin(angle) : std::cos(angle);
    sum += r[std::size_t((h * kHeadDim + c) * kModelDim + m)] * value;
  }
  return sum;
}

// The released code for qlen queries at the end of klen keys: positions from klen down to
// `end` + 1; [qlen, count] read as [count, qlen], the first row dropped, read as
// [qlen, count - 1], cut to klen columns. Gives the position each pair finds.
std::vector<std::vector<double>> ShiftedPositions(int qlen, int klen, int end, double clamp) {
  std::vector<double> positions;
  for (int p = klen; p > end; --p) {
    positions.push_back(clamp > 0 ? std::clamp<double>(p, -clamp, clamp) : p);
  }
  std::vector<double> flat;
  for (int i = 0; i < qlen; ++i) flat.insert(flat.end(), positions.begin(), positions.end());
  flat.erase(flat.begin(), flat.begin() + qlen);
  std::vector<std::vector<double>> shifted(static_cast<std::size_t>(qlen));
  for (std::size_t i = 0; i < shifted.size(); ++i) {
    const auto row = flat.begin() + std::ptrdiff_t(i * (positions.size() - 1));
    shifted[i].assign(row, row + klen);
  }
  return shifted;
}

void ExpectReleasedKeys(const std::string& spec, int qlen, int klen, int end, double clamp,
                        bool past_only) {
  const SchemePtr scheme = MakeScheme(spec);
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  const DistanceVectorTables tables =
      scheme->FillDistanceVectors(weights, {-klen + 1, klen + qlen - 1});
  const std::vector<std::vector<double>> positions = ShiftedPositions(qlen, klen, end, clamp);
  for (int i = 0; i < qlen; ++i) {
    const int query = klen - qlen + i;
    for (int j = 0; j < (past_only ? query + 1 : klen); ++j) {
      const Index row = tables.row[std::size_t(j - query + klen - 1)];
      for (Index h = 0; h < kHeads; ++h) {
        for (Index c = 0; c < kHeadDim; ++c) {
          EXPECT_NEAR(tables.key(h, row, c),
                      Projected(weights[0], h, c, positions[std::size_t(i)][std::size_t(j)]), 1e-12)
              << i << " " << j;
        }
      }
    }
  }
}

TEST(XlnetTest, BothDirectionsFindTheReleasedDistances) {
  ExpectReleasedKeys(kSpec, 6, 6, -6, 0, false);
  ExpectReleasedKeys(kSpec, 4, 9, -4, 0, false);
  ExpectReleasedKeys(kSpec, 1, 7, -1, 0, false);
}
TEST(XlnetTest, ThePastFindsTheReleasedDistances) {
  ExpectReleasedKeys(kSpec + ",direction=past", 6, 6, -1, 0, true);
  ExpectReleasedKeys(kSpec + ",direction=past", 3, 8, -1, 0, true);
}
TEST(XlnetTest, ClampCutsBothSides) {
  ExpectReleasedKeys(kSpec + ",clamp_len=3", 7, 7, -7, 3, false);
  ExpectReleasedKeys(kSpec + ",clamp_len=3,direction=past", 7, 7, -1, 3, true);
}

TEST(XlnetTest, KeysAfterTheQueryCountAsDistanceZeroWhereOnlyThePastHasRows) {
  const SchemePtr scheme = MakeScheme(kSpec + ",direction=past");
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  const DistanceVectorTables tables = scheme->FillDistanceVectors(weights, {5, 1});
  EXPECT_NEAR(tables.key(1, 0, 2), Projected(weights[0], 1, 2, 0), 1e-12);
}

TEST(XlnetTest, BiasesBelongToLayers) {
  const SchemePtr scheme = MakeScheme(kSpec);
  for (const WeightInfo& weight : scheme->weights()) {
    EXPECT_EQ(weight.scope, WeightScope::kLayer) << weight.name;
  }
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  const DistanceVectorTables tables = scheme->FillDistanceVectors(weights, {0, 1});
  EXPECT_EQ(tables.content_bias.values(), weights[1]);
  EXPECT_EQ(tables.position_bias.values(), weights[2]);
}

TEST(XlnetTest, BadParametersAreRefusedByName) {
  EXPECT_EQ(Refusal("xlnet:model_dim=7"),
            "xlnet: model_dim must be even, got 7; sines and cosines share the width");
  EXPECT_NE(Refusal("xlnet:heads=0").find("heads"), std::string::npos);
  EXPECT_NE(Refusal("xlnet:head_dim=0").find("head_dim"), std::string::npos);
  EXPECT_NE(Refusal("xlnet:base=1").find("base"), std::string::npos);
  EXPECT_NE(Refusal("xlnet:clamp_len=-1").find("clamp_len"), std::string::npos);
  EXPECT_NE(Refusal("xlnet:direction=uni").find("past"), std::string::npos);
  EXPECT_NE(Refusal("xlnet:init_std=-1").find("init_std"), std::string::npos);
}

}  // namespace
}  // namespace sextant
