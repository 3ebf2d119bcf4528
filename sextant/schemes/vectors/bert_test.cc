// BERT's relative keys: which vector each distance takes, both terms, and the end of the table.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::vector<double>> RandomWeights(const Scheme& scheme) {
  Random random(7);
  return NormalWeights(scheme.weights(), 1, random);
}

// distance = query - key, row = distance + M - 1, as released: M = 4, so 7 rows.
TEST(BertTest, RowsRunAgainstShawsOrder) {
  const SchemePtr scheme = MakeScheme("bert:head_dim=3,max_positions=4");
  EXPECT_EQ(scheme->weights()[0].shape, (std::vector<Index>{7, 3}));
  const DistanceVectorTables tables = scheme->FillDistanceVectors(RandomWeights(*scheme), {-3, 7});
  EXPECT_EQ(tables.row, (std::vector<std::int32_t>{6, 5, 4, 3, 2, 1, 0}));
}

// scores = (q . k + sum_d q_d E[l - r + M - 1]_d (+ sum_d k_d E[..]_d)) / sqrt(head_dim), written
// out as the released einsums do: "bhld,lrd->bhlr" and "bhrd,lrd->bhlr".
void ExpectReleasedScores(const std::string& spec, bool with_keys) {
  constexpr Index kHeads = 2, kLength = 5, kDim = 3, kMax = 6;
  const SchemePtr scheme = MakeScheme(spec);
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  Random random(8);
  Array<double, 3> q({kHeads, kLength, kDim}), k(q.shape()), v(q.shape());
  for (Array<double, 3>* x : {&q, &k, &v}) {
    for (double& value : x->values()) value = random.Normal();
  }
  const PositionList at = PositionList::Range(0, kLength);
  const AttentionOutput output = ReferenceAttention(*scheme, weights, {q, k, v, at, at, {}, 0});
  for (Index h = 0; h < kHeads; ++h) {
    for (Index l = 0; l < kLength; ++l) {
      for (Index r = 0; r < kLength; ++r) {
        double expected = 0;
        for (Index d = 0; d < kDim; ++d) {
          const double e = weights[0][std::size_t((l - r + kMax - 1) * kDim + d)];
          expected += q(h, l, d) * k(h, r, d) + q(h, l, d) * e;
          if (with_keys) expected += k(h, r, d) * e;
        }
        EXPECT_NEAR(output.scores(h, l, r), expected / std::sqrt(3.0), 1e-13);
      }
    }
  }
}

TEST(BertTest, RelativeKeyAddsTheQuerysTermBeforeScaling) {
  ExpectReleasedScores("bert:head_dim=3,max_positions=6", false);
}
TEST(BertTest, RelativeKeyQueryAddsTheKeysTermFromTheSameTable) {
  ExpectReleasedScores("bert:head_dim=3,max_positions=6,terms=keys_and_queries", true);
}

TEST(BertTest, DistancePastTheTableIsAnErrorNotAnIndexOutOfRange) {
  const SchemePtr scheme = MakeScheme("bert:head_dim=2,max_positions=128");
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme);
  EXPECT_NO_THROW(scheme->FillDistanceVectors(weights, {-127, 255}));
  for (std::int64_t distance : {-300, -129, -128, 128, 129, 1280}) {
    EXPECT_EQ(ErrorOf([&] {
                scheme->FillDistanceVectors(weights, {distance, 1});
              }),
              "bert: has vectors for distances up to 127 either way, got distance " +
                  std::to_string(distance) +
                  "; raise max_positions and train it, or use shaw, which clips");
  }
  EXPECT_THROW(scheme->FillDistanceVectors(weights, {0, 300}), Error);
  EXPECT_THROW(scheme->FillDistanceVectors(weights, {-299, 300}), Error);
}

TEST(BertTest, OnePositionHasOneVector) {
  const SchemePtr scheme = MakeScheme("bert:head_dim=2,max_positions=1");
  EXPECT_EQ(scheme->weights()[0].shape, (std::vector<Index>{1, 2}));
  EXPECT_EQ(scheme->FillDistanceVectors(RandomWeights(*scheme), {0, 1}).row,
            (std::vector<std::int32_t>{0}));
  EXPECT_TRUE(scheme->FillDistanceVectors(RandomWeights(*scheme), {0, 0}).row.empty());
}

TEST(BertTest, BothTermsSendGradientsToTheOneTable) {
  const SchemePtr scheme = MakeScheme("bert:head_dim=1,max_positions=2,terms=keys_and_queries");
  DistanceVectorTables d_tables;
  d_tables.key = Array<double, 3>({1, 3, 1});
  d_tables.query = Array<double, 3>({1, 3, 1});
  d_tables.key.values() = {1, 2, 3};
  d_tables.query.values() = {10, 20, 30};
  std::vector<std::vector<double>> gradients = {{100, 200, 300}};
  scheme->BackDistanceVectors(ZeroWeights(*scheme), {-1, 3}, d_tables, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{111, 222, 333}));
}

TEST(BertTest, BadParametersAreRefusedByName) {
  const auto error = [](const std::string& spec) { return ErrorOf([&] { MakeScheme(spec); }); };
  EXPECT_NE(error("bert:max_positions=0").find("max_positions"), std::string::npos);
  EXPECT_NE(error("bert:max_positions=65537").find("65537"), std::string::npos);
  EXPECT_NE(error("bert:head_dim=0").find("head_dim"), std::string::npos);
  EXPECT_NE(error("bert:terms=values").find("keys_and_queries"), std::string::npos);
  EXPECT_NE(error("bert:init_std=-1").find("init_std"), std::string::npos);
}

}  // namespace
}  // namespace sextant
