// Nearest tokens after adding, by hand and against a direct search.
#include "sextant/probe/nearest_neighbour.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant {
namespace {

TEST(NearestNeighbour, ByHand) {
  Array<double, 2> tokens({2, 2}), positions({2, 2});
  tokens.values() = {1, 0, 0, 1};
  positions.values() = {0.1, 0, 0, 3};
  for (Nearness nearness : {Nearness::kCosine, Nearness::kEuclidean}) {
    const NearestNeighbour found = NearestAfterAdding(tokens, positions, 2, nearness);
    EXPECT_EQ(found.pairs, 4);
    EXPECT_EQ(found.itself, 3);
    EXPECT_EQ(found.share, 0.75);
    EXPECT_EQ(found.token, 0);
    EXPECT_EQ(found.position, 1);
    EXPECT_EQ(found.taken_for, 1);
  }
}

TEST(NearestNeighbour, SmallPositionsChangeNothing) {
  Random random(3);
  Array<double, 2> tokens({50, 16}), positions({20, 16});
  for (double& value : tokens.values()) value = random.Normal();
  for (double& value : positions.values()) value = 0.02 * random.Normal();
  const NearestNeighbour found = NearestAfterAdding(tokens, positions, 50, Nearness::kCosine);
  EXPECT_EQ(found.share, 1);
  EXPECT_EQ(found.token, -1);
}

double Far(const Array<double, 2>& tokens, const std::vector<double>& x, Index u,
           Nearness nearness) {
  double dot = 0, norm = 0, squares = 0;
  for (Index c = 0; c < Index(x.size()); ++c) {
    const double value = x[std::size_t(c)];
    dot += value * tokens(u, c);
    norm += tokens(u, c) * tokens(u, c);
    squares += (value - tokens(u, c)) * (value - tokens(u, c));
  }
  return nearness == Nearness::kEuclidean ? squares : -dot / std::sqrt(norm);
}

TEST(NearestNeighbour, AgreesWithDirectSearch) {
  Random random(4);
  Array<double, 2> tokens({40, 8}), positions({10, 8});
  for (double& value : tokens.values()) value = random.Normal();
  for (double& value : positions.values()) value = random.Normal();
  for (Nearness nearness : {Nearness::kCosine, Nearness::kEuclidean}) {
    Index itself = 0;
    for (Index t = 0; t < 30; ++t) {
      for (Index p = 0; p < 10; ++p) {
        std::vector<double> x(8);
        for (Index c = 0; c < 8; ++c) x[std::size_t(c)] = tokens(t, c) + positions(p, c);
        Index nearest = 0;
        for (Index u = 1; u < 40; ++u) {
          if (Far(tokens, x, u, nearness) < Far(tokens, x, nearest, nearness)) nearest = u;
        }
        itself += nearest == t ? 1 : 0;
      }
    }
    const NearestNeighbour found = NearestAfterAdding(tokens, positions, 30, nearness);
    EXPECT_EQ(found.pairs, 300);
    EXPECT_EQ(found.itself, itself);
    EXPECT_LT(found.share, 1);
    EXPECT_GT(found.share, 0.1);
  }
}

TEST(NearestNeighbour, RefusesShapesThatDoNotFit) {
  const Array<double, 2> tokens({3, 4}), narrow({2, 3}), none({0, 4}), positions({2, 4});
  EXPECT_THROW(NearestAfterAdding(tokens, narrow, 3, Nearness::kCosine), Error);
  EXPECT_THROW(NearestAfterAdding(tokens, none, 3, Nearness::kCosine), Error);
  EXPECT_THROW(NearestAfterAdding(tokens, positions, 4, Nearness::kCosine), Error);
  EXPECT_THROW(NearestAfterAdding(tokens, positions, 0, Nearness::kCosine), Error);
}

}  // namespace
}  // namespace sextant
