// Swin V2: log-spaced coordinates and the bias by hand, also at a window larger than trained.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// Two hidden units that pass the row's and the column's coordinate where positive, one head.
const Lists kCoordinates = {{1, 0, 0, 1}, {0, 0}, {1, -2}};

double BiasAt(const std::string& spec, Index query, Index key) {
  Array<double, 3> bias({1, 1, 1});
  MakeScheme(spec)->FillTileBias(kCoordinates, PositionList::Range(query, 1),
                                 PositionList::Range(key, 1), bias);
  return bias(0, 0, 0);
}

double Sixteen(double x) { return 16 / (1 + std::exp(-x)); }

TEST(SwinV2Test, CoordinatesAreLogSpacedWithinTheWindow) {
  const std::string spec = "swin-v2:heads=1,hidden_dim=2,height=8,width=5";
  EXPECT_EQ(BiasAt(spec, 7, 7), 8);
  // 35 -> row 7, column 0: the edge, log2(1 + 8) / 3 = 1.0566.
  EXPECT_NEAR(BiasAt(spec, 35, 0), Sixteen(std::log2(9.0) / 3), 1e-13);
  EXPECT_NEAR(std::log2(9.0) / 3, 1.0566, 5e-5);
  // Row 1 of 8: 8 / 7; column 2 of 5: 8 * 2 / 4.
  EXPECT_NEAR(BiasAt(spec, 7, 0), Sixteen(std::log2(1 + 8.0 / 7) / 3 - 2 * std::log2(5.0) / 3),
              1e-13);
  // Negative coordinates are stopped by these units.
  EXPECT_NEAR(BiasAt(spec, 0, 7), 8, 1e-13);
}

TEST(SwinV2Test, ALargerWindowKeepsTheCoordinatesOfTheTrainedOne) {
  const std::string trained = "swin-v2:heads=1,hidden_dim=2,height=8,width=8";
  const std::string larger =
      "swin-v2:heads=1,hidden_dim=2,height=16,width=16,trained_height=8,trained_width=8";
  EXPECT_EQ(BiasAt(larger, 3 * 16 + 2, 0), BiasAt(trained, 3 * 8 + 2, 0));
  const std::string forgotten = "swin-v2:heads=1,hidden_dim=2,height=16,width=16";
  EXPECT_GT(std::abs(BiasAt(forgotten, 3 * 16 + 2, 0) - BiasAt(trained, 3 * 8 + 2, 0)), 0.5);
  EXPECT_NEAR(BiasAt(larger, 15 * 16, 0), Sixteen(std::log2(1 + 8 * 15.0 / 7) / 3), 1e-13);
}

TEST(SwinV2Test, TheLastLayerHasNoBias) {
  const std::vector<WeightInfo> weights = MakeScheme("swin-v2:heads=6")->weights();
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].shape, (std::vector<Index>{512, 2}));
  EXPECT_EQ(weights[1].shape, (std::vector<Index>{512}));
  EXPECT_EQ(weights[2].shape, (std::vector<Index>{6, 512}));
}

}  // namespace
}  // namespace sextant
