// DeBERTa: the row of each distance, the softmax scale, and the weights of each term.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"
#include "sextant/schemes/vectors/deberta_buckets.h"

namespace sextant {
namespace {

// Numbers worked out apart: ceil(ln(200 / 128) / ln(511 / 128) 127) + 128 = 169, and so on.
TEST(DebertaBucketTest, LastBucketComesFromTheSettingNotTheSequenceLength) {
  EXPECT_EQ(DebertaBucket(200, 256, 512), 169);
  EXPECT_EQ(DebertaBucket(200, 256, 384), 180);
  EXPECT_EQ(DebertaBucket(383, 256, 512), 229);
  EXPECT_EQ(DebertaBucket(383, 256, 384), 255);
  for (std::int64_t r = 0; r <= 128; ++r) {
    EXPECT_EQ(DebertaBucket(r, 256, 512), r);
    EXPECT_EQ(DebertaBucket(r, 256, 384), r);
  }
}

TEST(DebertaBucketTest, CeilsAndEndsAtTheLastDistance) {
  EXPECT_EQ(DebertaBucket(129, 256, 512), 129);  // 0.71 up to 1, where floor gives 128
  EXPECT_EQ(DebertaBucket(130, 256, 512), 130);  // 1.42
  EXPECT_EQ(DebertaBucket(131, 256, 512), 131);  // 2.13
  EXPECT_EQ(DebertaBucket(132, 256, 512), 131);  // 2.82
  EXPECT_EQ(DebertaBucket(510, 256, 512), 255);
  EXPECT_EQ(DebertaBucket(511, 256, 512), 255);  // 127 exactly
  EXPECT_EQ(DebertaBucket(512, 256, 512), 256);
  EXPECT_EQ(DebertaBucket(6, 6, 13), 4);  // ln 2 / ln 4 * 2 = 1 exactly
}

TEST(DebertaBucketTest, IsOddAndNeverFalls) {
  for (const auto& [buckets, most] : {std::pair{256, 512}, {32, 64}, {2, 3}, {6, 13}, {64, 40}}) {
    for (std::int64_t r = 0; r < 3 * most; ++r) {
      EXPECT_EQ(DebertaBucket(-r, buckets, most), -DebertaBucket(r, buckets, most));
      EXPECT_GE(DebertaBucket(r + 1, buckets, most), DebertaBucket(r, buckets, most));
    }
  }
}

// The row of key - query = distance, found by the weight that the vectors show.
std::int64_t RowOf(const std::string& spec, std::int64_t distance, bool of_query) {
  const SchemePtr scheme = MakeScheme("deberta:heads=1,head_dim=1,model_dim=1," + spec);
  std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
  for (std::size_t row = 0; row < weights[0].size(); ++row) weights[0][row] = double(row);
  weights[1][0] = 1;
  weights[2][0] = 1;
  const DistanceVectorTables tables = scheme->FillDistanceVectors(weights, {distance, 1});
  return std::int64_t((of_query ? tables.query : tables.key)(0, tables.row[0], 0));
}

// Query - key of 200 is bucket 169 of 256: row 256 + 169, and 256 - 169 for the other direction.
TEST(DebertaTest, KeysBeforeTheQueryLieAboveTheMiddleForBothTerms) {
  const std::string v2 = "max_relative_positions=512,position_buckets=256";
  for (const bool of_query : {false, true}) {
    EXPECT_EQ(RowOf(v2, 0, of_query), 256);
    EXPECT_EQ(RowOf(v2, -1, of_query), 257);
    EXPECT_EQ(RowOf(v2, 1, of_query), 255);
    EXPECT_EQ(RowOf(v2, -200, of_query), 425);
    EXPECT_EQ(RowOf(v2, 200, of_query), 87);
    EXPECT_EQ(RowOf(v2, -383, of_query), 485);
    EXPECT_EQ(RowOf(v2, -511, of_query), 511);
    EXPECT_EQ(RowOf(v2, -512, of_query), 511);
    EXPECT_EQ(RowOf(v2, -5120, of_query), 511);
    EXPECT_EQ(RowOf(v2, 511, of_query), 1);
    EXPECT_EQ(RowOf(v2, 512, of_query), 0);
    EXPECT_EQ(RowOf(v2, 5120, of_query), 0);
  }
}

TEST(DebertaTest, FirstVersionClampsAtTheLastRowOfEachSide) {
  const std::string v1 = "form=v1,max_relative_positions=128";
  for (const bool of_query : {false, true}) {
    EXPECT_EQ(RowOf(v1, 0, of_query), 128);
    EXPECT_EQ(RowOf(v1, -126, of_query), 254);
    EXPECT_EQ(RowOf(v1, -127, of_query), 255);
    EXPECT_EQ(RowOf(v1, -128, of_query), 255);
    EXPECT_EQ(RowOf(v1, -1280, of_query), 255);
    EXPECT_EQ(RowOf(v1, 127, of_query), 1);
    EXPECT_EQ(RowOf(v1, 128, of_query), 0);
    EXPECT_EQ(RowOf(v1, 129, of_query), 0);
    EXPECT_EQ(RowOf(v1, 1280, of_query), 0);
  }
}

TEST(DebertaTest, SoftmaxScaleCountsTheTerms) {
  const auto multiplier = [](const std::string& terms) {
    return MakeScheme("deberta:terms=" + terms)->softmax_multiplier();
  };
  EXPECT_NEAR(multiplier("both"), 0.57735026918962576, 1e-15);
  EXPECT_NEAR(multiplier("content_to_position"), 0.70710678118654757, 1e-15);
  EXPECT_NEAR(multiplier("position_to_content"), 0.70710678118654757, 1e-15);
}

TEST(DebertaTest, OneTermHasItsOwnWeightsAlone) {
  const SchemePtr key = MakeScheme("deberta:terms=content_to_position");
  const SchemePtr query = MakeScheme("deberta:terms=position_to_content");
  ASSERT_EQ(key->weights().size(), 2u);
  ASSERT_EQ(query->weights().size(), 3u);
  EXPECT_EQ(key->weights()[1].name, "key_projection");
  EXPECT_EQ(query->weights()[1].name, "query_projection");
  EXPECT_TRUE(key->FillDistanceVectors(ZeroWeights(*key), {0, 1}).query.empty());
  EXPECT_TRUE(query->FillDistanceVectors(ZeroWeights(*query), {0, 1}).key.empty());
}

TEST(DebertaTest, BucketsDefaultToHalfOfTheDistances) {
  EXPECT_EQ(MakeScheme("deberta:model_dim=7")->weights()[0].shape, (std::vector<Index>{512, 7}));
  EXPECT_EQ(MakeScheme("deberta:model_dim=7,form=v1")->weights()[0].shape,
            (std::vector<Index>{1024, 7}));
  const std::vector<Figure> figures = MakeScheme("deberta")->Figures(384);
  ASSERT_EQ(figures[0].name, "buckets");
  EXPECT_EQ(figures[0].values[200], 169);
  EXPECT_EQ(figures[0].values[383], 229);
}

TEST(DebertaTest, BadParametersAreRefusedByName) {
  EXPECT_EQ(Refusal("deberta:form=v1,position_buckets=32"),
            "deberta: form=v1 has no buckets, got position_buckets=32; form=v2 has");
  EXPECT_EQ(Refusal("deberta:position_buckets=31"),
            "deberta: position_buckets must be even, got 31");
  EXPECT_EQ(Refusal("deberta:position_buckets=256,max_relative_positions=129"),
            "deberta: max_relative_positions must exceed half of position_buckets by 2 or more, "
            "got 129 with 256 buckets; form=v1 takes every distance as it is");
  EXPECT_EQ(Refusal("deberta:position_buckets=256,max_relative_positions=130"), "accepted");
  EXPECT_NE(Refusal("deberta:max_relative_positions=2"), "accepted");
  EXPECT_NE(Refusal("deberta:max_relative_positions=1").find("max_relative_positions"),
            std::string::npos);
  EXPECT_NE(Refusal("deberta:form=v3").find("v2"), std::string::npos);
  EXPECT_NE(Refusal("deberta:terms=c2p").find("content_to_position"), std::string::npos);
  EXPECT_NE(Refusal("deberta:heads=0").find("heads"), std::string::npos);
  EXPECT_NE(Refusal("deberta:head_dim=0").find("head_dim"), std::string::npos);
  EXPECT_NE(Refusal("deberta:model_dim=0").find("model_dim"), std::string::npos);
  EXPECT_NE(Refusal("deberta:init_std=11").find("init_std"), std::string::npos);
}

}  // namespace
}  // namespace sextant
