// Principal directions of tables whose directions are known.
#include "sextant/probe/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant {
namespace {

// Rows +-3 along one axis and +-1 along another, about the mean (5, 5): squares 18 and 2.
TEST(Spectrum, ByHand) {
  Array<double, 2> table({4, 2});
  table.values() = {8, 5, 2, 5, 5, 6, 5, 4};
  const Spectrum spectrum = SpectrumOf(table);
  ASSERT_EQ(spectrum.singular_values.size(), 2u);
  EXPECT_NEAR(spectrum.singular_values[0], std::sqrt(18.0), 1e-14);
  EXPECT_NEAR(spectrum.singular_values[1], std::sqrt(2.0), 1e-14);
  EXPECT_NEAR(std::abs(spectrum.directions(0, 0)), 1, 1e-14);
  EXPECT_EQ(spectrum.holding_90, 1);
  EXPECT_EQ(spectrum.holding_99, 2);

  Array<double, 2> diagonal({2, 2});
  diagonal.values() = {1, 1, -1, -1};
  EXPECT_NEAR(ShareWithin(spectrum, 1, diagonal), 0.5, 1e-14);
  EXPECT_NEAR(ShareWithin(spectrum, 2, diagonal), 1, 1e-14);
  EXPECT_EQ(ShareWithin(spectrum, 0, diagonal), 0);
}

Array<double, 2> LowRank(Index rows, Index width, Index rank) {
  Random random(9);
  Array<double, 2> left({rows, rank}), right({rank, width}), table({rows, width});
  for (double& value : left.values()) value = random.Normal();
  for (double& value : right.values()) value = random.Normal();
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < width; ++c) {
      for (Index i = 0; i < rank; ++i) table(r, c) += left(r, i) * right(i, c);
    }
  }
  return table;
}

TEST(Spectrum, RebuildsTallAndWideTables) {
  for (const Shape<2> shape : {Shape<2>{30, 12}, Shape<2>{12, 30}}) {
    const Array<double, 2> table = LowRank(shape[0], shape[1], 5);
    const Spectrum spectrum = SpectrumOf(table);
    ASSERT_EQ(spectrum.singular_values.size(), 12u);
    double squares = 0, sum = 0;
    for (Index c = 0; c < shape[1]; ++c) {
      double mean = 0;
      for (Index r = 0; r < shape[0]; ++r) mean += table(r, c) / double(shape[0]);
      for (Index r = 0; r < shape[0]; ++r) squares += (table(r, c) - mean) * (table(r, c) - mean);
    }
    for (double value : spectrum.singular_values) sum += value * value;
    EXPECT_NEAR(sum, squares, 1e-10 * squares);
    EXPECT_GT(spectrum.singular_values[4], 0.1);
    EXPECT_LT(spectrum.singular_values[5], 1e-6 * spectrum.singular_values[0]);
    EXPECT_LE(spectrum.holding_99, 5);
    EXPECT_NEAR(ShareWithin(spectrum, 5, table), 1, 1e-12);
    for (Index i = 0; i < 5; ++i) {
      for (Index j = 0; j < 5; ++j) {
        double dot = 0;
        for (Index c = 0; c < shape[1]; ++c) {
          dot += spectrum.directions(i, c) * spectrum.directions(j, c);
        }
        EXPECT_NEAR(dot, i == j ? 1 : 0, 1e-12);
      }
    }
  }
}

TEST(Spectrum, OfATableWithoutVariance) {
  Array<double, 2> table({3, 2});
  const Spectrum spectrum = SpectrumOf(table);
  EXPECT_EQ(spectrum.singular_values[0], 0);
  EXPECT_EQ(spectrum.holding_90, 0);
  EXPECT_EQ(ShareWithin(spectrum, 1, table), 0);
}

TEST(Spectrum, RefusesWhatItCannotMeasure) {
  EXPECT_THROW(SpectrumOf(Array<double, 2>({0, 3})), Error);
  Array<double, 2> table({3, 2});
  const Spectrum spectrum = SpectrumOf(table);
  EXPECT_THROW(ShareWithin(spectrum, 3, table), Error);
  EXPECT_THROW(ShareWithin(spectrum, 1, Array<double, 2>({3, 3})), Error);
  table(1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(SpectrumOf(table), Error);
}

}  // namespace
}  // namespace sextant
