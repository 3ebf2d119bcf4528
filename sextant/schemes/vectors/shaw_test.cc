// Relative position vectors: which vector each distance takes, and the gradient.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

DistanceVectorTables Tables(const Scheme& scheme, Distances distances) {
  std::vector<std::vector<double>> weights = ZeroWeights(scheme);
  for (std::size_t w = 0; w < weights.size(); ++w) {
    for (std::size_t i = 0; i < weights[w].size(); ++i) weights[w][i] = 1000.0 * double(w) + i;
  }
  return scheme.FillDistanceVectors(weights, distances);
}

TEST(ShawTest, TheLecturesClipOfTwoHasFiveVectors) {
  const SchemePtr scheme = MakeScheme("shaw:head_dim=3,clip=2");
  ASSERT_EQ(scheme->weights().size(), 2u);
  EXPECT_EQ(scheme->weights()[0].shape, (std::vector<Index>{5, 3}));
  EXPECT_EQ(scheme->weights()[1].shape, (std::vector<Index>{5, 3}));
  const DistanceVectorTables tables = Tables(*scheme, {-4, 9});
  EXPECT_EQ(tables.row, (std::vector<std::int32_t>{0, 0, 0, 1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(tables.key.shape(), (Shape<3>{1, 5, 3}));
  EXPECT_EQ(tables.key(0, 3, 1), 10);
  EXPECT_EQ(tables.value(0, 3, 1), 1010);
  EXPECT_TRUE(tables.query.empty());
  EXPECT_TRUE(tables.content_bias.empty());
  EXPECT_TRUE(tables.position_bias.empty());
}

// index = clip(key - query, -k, k) + k, at k - 1, k, k + 1 and far beyond.
TEST(ShawTest, RowsAreClippedDistances) {
  for (std::int64_t clip : {0, 1, 2, 16, 128}) {
    const SchemePtr scheme = MakeScheme("shaw:head_dim=1,clip=" + std::to_string(clip));
    EXPECT_EQ(scheme->weights()[0].shape[0], 2 * clip + 1);
    for (std::int64_t key_minus_query :
         {-10 * clip - 1, -clip - 1, -clip, -clip + 1, std::int64_t{0}, clip - 1, clip, clip + 1,
          10 * clip + 1}) {
      const std::int64_t clipped = key_minus_query < -clip  ? -clip
                                   : key_minus_query > clip ? clip
                                                            : key_minus_query;
      EXPECT_EQ(Tables(*scheme, {key_minus_query, 1}).row,
                (std::vector<std::int32_t>{std::int32_t(clipped + clip)}));
    }
  }
}

TEST(ShawTest, AClipOfZeroHasOneVector) {
  const SchemePtr scheme = MakeScheme("shaw:head_dim=3,clip=0");
  EXPECT_EQ(scheme->weights()[0].shape, (std::vector<Index>{1, 3}));
  EXPECT_EQ(Tables(*scheme, {-300, 601}).row, std::vector<std::int32_t>(601));
}

// wav2vec2-BERT: clamp(key - query, -left, right) + left.
TEST(ShawTest, ClipAfterCutsKeysAfterTheQuery) {
  const SchemePtr scheme = MakeScheme("shaw:head_dim=3,clip=4,clip_after=1");
  EXPECT_EQ(scheme->weights()[0].shape, (std::vector<Index>{6, 3}));
  EXPECT_EQ(scheme->weights()[1].shape, (std::vector<Index>{6, 3}));
  EXPECT_EQ(Tables(*scheme, {-6, 10}).row,
            (std::vector<std::int32_t>{0, 0, 0, 1, 2, 3, 4, 5, 5, 5}));
  const SchemePtr w2v = MakeScheme("shaw:head_dim=3,clip=64,clip_after=8,terms=keys");
  EXPECT_EQ(w2v->weights()[0].shape, (std::vector<Index>{73, 3}));
  EXPECT_EQ(Tables(*w2v, {640, 1}).row[0], 72);
  EXPECT_EQ(Tables(*w2v, {-640, 1}).row[0], 0);
  const SchemePtr past = MakeScheme("shaw:head_dim=3,clip=4,clip_after=0");
  EXPECT_EQ(past->weights()[0].shape, (std::vector<Index>{5, 3}));
  EXPECT_EQ(Tables(*past, {1, 1}).row[0], 4);
}

TEST(ShawTest, KeysAloneHaveNoValueVectors) {
  const SchemePtr scheme = MakeScheme("shaw:head_dim=3,clip=2,terms=keys");
  EXPECT_EQ(scheme->weights().size(), 1u);
  EXPECT_TRUE(Tables(*scheme, {-1, 3}).value.empty());
}

TEST(ShawTest, GradientsGoToTheirOwnWeight) {
  const SchemePtr scheme = MakeScheme("shaw:head_dim=1,clip=1");
  std::vector<std::vector<double>> gradients = ZeroWeights(*scheme);
  gradients[1][0] = 5;
  DistanceVectorTables d_tables;
  d_tables.key = Array<double, 3>({1, 3, 1});
  d_tables.value = Array<double, 3>({1, 3, 1});
  d_tables.key.values() = {1, 2, 3};
  d_tables.value.values() = {10, 20, 30};
  scheme->BackDistanceVectors(ZeroWeights(*scheme), {-1, 3}, d_tables, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(gradients[1], (std::vector<double>{15, 20, 30}));
}

TEST(ShawTest, BadParametersAreRefusedByName) {
  EXPECT_NE(Refusal("shaw:clip=-1").find("clip"), std::string::npos);
  EXPECT_NE(Refusal("shaw:clip_after=-2").find("clip_after"), std::string::npos);
  EXPECT_NE(Refusal("shaw:head_dim=0").find("head_dim"), std::string::npos);
  EXPECT_NE(Refusal("shaw:terms=both").find("keys_and_values"), std::string::npos);
  EXPECT_NE(Refusal("shaw:init_std=-1").find("init_std"), std::string::npos);
}

}  // namespace
}  // namespace sextant
