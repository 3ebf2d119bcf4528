// Learned bias by distance: which column each distance reads, on one side and on both.
#include <gtest/gtest.h>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// The bias of each head where entry (head, column) is 100 head + column.
Array<double, 2> Bias(const std::string& spec, Distances distances) {
  const SchemePtr scheme = MakeScheme(spec);
  Lists weights = ZeroWeights(*scheme);
  const std::vector<Index> shape = scheme->weights()[0].shape;
  for (Index i = 0; i < shape[0] * shape[1]; ++i) {
    weights[0][std::size_t(i)] = double(100 * (i / shape[1]) + i % shape[1]);
  }
  Array<double, 2> bias({shape[0], distances.count});
  scheme->FillDistanceBias(weights, distances, bias);
  return bias;
}

TEST(LearnedBiasTest, CausalColumnsCountBackwardsFromTheQuery) {
  EXPECT_EQ(Bias("learned-bias:heads=2,max_distance=2", {-4, 7}).values(),
            (std::vector<double>{2, 2, 2, 1, 0, 0, 0, 102, 102, 102, 101, 100, 100, 100}));
}

TEST(LearnedBiasTest, BidirectionalColumnsRunFromTheFarthestKeyBefore) {
  EXPECT_EQ(Bias("learned-bias:heads=2,max_distance=2,direction=bidirectional", {-4, 9}).values(),
            (std::vector<double>{0, 0, 0, 1, 2, 3, 4, 4, 4,  //
                                 100, 100, 100, 101, 102, 103, 104, 104, 104}));
}

// max_distance - 1, max_distance, one more and far beyond, and none at all.
TEST(LearnedBiasTest, DistancesPastTheLastShareItsNumber) {
  for (std::int64_t most : {0, 1, 5, 128}) {
    const std::string size = std::to_string(most);
    for (std::int64_t distance : {most - 1, most, most + 1, 10 * most + 1}) {
      const double column = double(distance < 0 ? 0 : distance > most ? most : distance);
      EXPECT_EQ(Bias("learned-bias:heads=1,max_distance=" + size, {-distance, 1})(0, 0), column);
    }
  }
}

TEST(LearnedBiasTest, TheGradientOfANumberIsTheSumOverItsDistances) {
  const SchemePtr scheme = MakeScheme("learned-bias:heads=1,max_distance=2");
  Lists gradients = {{10, 0, 0}};
  Array<double, 2> d_bias({1, 6});
  d_bias.values() = {1, 2, 4, 8, 16, 32};  // distances -4 .. 1
  scheme->BackDistanceBias(ZeroWeights(*scheme), {-4, 6}, d_bias, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{10 + 16 + 32, 8, 1 + 2 + 4}));
}

TEST(LearnedBiasTest, TablesAreSharedOrPerLayer) {
  EXPECT_EQ(MakeScheme("learned-bias")->weights()[0].scope, WeightScope::kModel);
  EXPECT_EQ(MakeScheme("learned-bias:scope=per_layer")->weights()[0].scope, WeightScope::kLayer);
}

}  // namespace
}  // namespace sextant
