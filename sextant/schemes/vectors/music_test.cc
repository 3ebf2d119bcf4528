// Music Transformer's vectors: the released padding and skewing written out, and its far end.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

std::vector<std::vector<double>> CountedWeights(const Scheme& scheme) {
  std::vector<std::vector<double>> weights = ZeroWeights(scheme);
  for (std::size_t i = 0; i < weights[0].size(); ++i) weights[0][i] = 1.0 + double(i);
  return weights;
}

// The released way for one channel and a query of ones: pad the table in front to the length (or
// cut its front), rel[l][m] = E[m], pad a column in front, read as [length + 1, length], drop the
// first row.
std::vector<std::vector<double>> Skewed(const std::vector<double>& table, std::size_t length) {
  std::vector<double> used(length);
  for (std::size_t m = 0; m < length; ++m) {
    const std::size_t from_end = length - m;
    used[m] = from_end > table.size() ? 0 : table[table.size() - from_end];
  }
  std::vector<double> flat;
  for (std::size_t l = 0; l < length; ++l) {
    flat.push_back(0);
    flat.insert(flat.end(), used.begin(), used.end());
  }
  std::vector<std::vector<double>> rows;
  for (std::size_t l = 0; l < length; ++l) {
    rows.emplace_back(flat.begin() + std::ptrdiff_t((l + 1) * length),
                      flat.begin() + std::ptrdiff_t((l + 2) * length));
  }
  return rows;
}

TEST(MusicTest, VectorsAreThoseTheReleasedSkewFinds) {
  for (const std::size_t length : {1u, 3u, 5u, 6u, 7u, 12u}) {
    const SchemePtr scheme = MakeScheme("music:heads=1,head_dim=1,max_distance=6");
    const std::vector<std::vector<double>> weights = CountedWeights(*scheme);
    const std::vector<std::vector<double>> skewed = Skewed(weights[0], length);
    const std::int64_t n = std::int64_t(length);
    const DistanceVectorTables tables = scheme->FillDistanceVectors(weights, {1 - n, n});
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const Index row = tables.row[std::size_t(j - i + n - 1)];
        EXPECT_EQ(tables.key(0, row, 0), skewed[std::size_t(i)][std::size_t(j)])
            << length << " " << i << " " << j;
      }
    }
  }
}

// K = 128 vectors serve the distances 0 .. 127 into the past.
TEST(MusicTest, DistancesPastTheTableAreZeroOrTheFarthest) {
  const SchemePtr zero = MakeScheme("music:heads=1,head_dim=1,max_distance=128");
  const SchemePtr farthest =
      MakeScheme("music:heads=1,head_dim=1,max_distance=128,beyond=farthest");
  const std::vector<std::vector<double>> weights = CountedWeights(*zero);
  const auto at = [&](const Scheme& scheme, std::int64_t key_minus_query) {
    const DistanceVectorTables tables = scheme.FillDistanceVectors(weights, {key_minus_query, 1});
    return tables.key(0, tables.row[0], 0);
  };
  for (const SchemePtr& scheme : {zero, farthest}) {
    EXPECT_EQ(at(*scheme, 0), 128);
    EXPECT_EQ(at(*scheme, -1), 127);
    EXPECT_EQ(at(*scheme, -126), 2);
    EXPECT_EQ(at(*scheme, -127), 1);
    EXPECT_EQ(at(*scheme, 1), 0);
    EXPECT_EQ(at(*scheme, 300), 0);
  }
  for (std::int64_t behind : {128, 129, 300, 1280}) {
    EXPECT_EQ(at(*zero, -behind), 0);
    EXPECT_EQ(at(*farthest, -behind), 1);
  }
}

TEST(MusicTest, OneVectorServesTheQueryItselfAlone) {
  const SchemePtr scheme = MakeScheme("music:heads=1,head_dim=1,max_distance=1");
  const DistanceVectorTables tables = scheme->FillDistanceVectors(CountedWeights(*scheme), {-2, 4});
  std::vector<double> found;
  for (std::int32_t row : tables.row) found.push_back(tables.key(0, row, 0));
  EXPECT_EQ(found, (std::vector<double>{0, 0, 1, 0}));
}

TEST(MusicTest, HeadsHaveTheirOwnVectorsUnlessShared) {
  EXPECT_EQ(MakeScheme("music:heads=3,head_dim=2,max_distance=5")->weights()[0].shape,
            (std::vector<Index>{3, 5, 2}));
  const SchemePtr shared = MakeScheme("music:heads=3,head_dim=2,max_distance=5,sharing=shared");
  EXPECT_EQ(shared->weights()[0].shape, (std::vector<Index>{1, 5, 2}));
  EXPECT_EQ(shared->FillDistanceVectors(CountedWeights(*shared), {0, 1}).key.extent(0), 1);
}

TEST(MusicTest, DistancesWithoutAVectorSendNoGradient) {
  const SchemePtr scheme = MakeScheme("music:heads=1,head_dim=1,max_distance=2");
  DistanceVectorTables d_tables;
  d_tables.key = Array<double, 3>({1, 3, 1});
  d_tables.key.values() = {1, 2, 1000};
  std::vector<std::vector<double>> gradients = {{10, 20}};
  scheme->BackDistanceVectors(ZeroWeights(*scheme), {-4, 6}, d_tables, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{11, 22}));
}

TEST(MusicTest, BadParametersAreRefusedByName) {
  EXPECT_EQ(Refusal("music:max_distance=0"),
            "music: max_distance must be a whole number from 1 to 65536, got 0");
  EXPECT_NE(Refusal("music:heads=0").find("heads"), std::string::npos);
  EXPECT_NE(Refusal("music:head_dim=0").find("head_dim"), std::string::npos);
  EXPECT_NE(Refusal("music:beyond=error").find("farthest"), std::string::npos);
  EXPECT_NE(Refusal("music:sharing=2").find("by_head"), std::string::npos);
  EXPECT_NE(Refusal("music:init_std=11").find("init_std"), std::string::npos);
}

}  // namespace
}  // namespace sextant
