// BERT's relative keys: which vector each distance takes, and the end of the table.
#include <gtest/gtest.h>

#include <functional>

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
