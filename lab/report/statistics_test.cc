// Student's quantiles against published tables; means and paired differences by hand.
#include "lab/report/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

struct TableRow {
  double degrees;
  double t;
};

TEST(StudentQuantile, MatchesThePublishedTable) {
  const TableRow rows[] = {{1, 12.706},   {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},
                           {6, 2.447},    {7, 2.365},  {8, 2.306},  {9, 2.262},  {10, 2.228},
                           {15, 2.131},   {20, 2.086}, {30, 2.042}, {60, 2.000}, {120, 1.980},
                           {1000, 1.962}, {1e7, 1.960}};
  for (const TableRow& row : rows) {
    EXPECT_NEAR(StudentQuantile(0.975, row.degrees), row.t, 5.0001e-4) << row.degrees;
  }
}

TEST(StudentQuantile, MatchesClosedFormsOfOneTwoAndFourDegrees) {
  const double pi = std::acos(-1.0);
  for (double p : {0.6, 0.9, 0.95, 0.975, 0.995, 0.9999}) {
    EXPECT_NEAR(StudentQuantile(p, 1), std::tan(pi * (p - 0.5)), 1e-9 * std::tan(pi * (p - 0.5)));
    EXPECT_NEAR(StudentQuantile(p, 2), (2 * p - 1) / std::sqrt(2 * p * (1 - p)), 1e-9);
    const double q = 2 * std::sqrt(p * (1 - p));
    const double four = 2 * std::sqrt(std::cos(std::acos(q) / 3) / q - 1);
    EXPECT_NEAR(StudentQuantile(p, 4), four, 1e-8);
  }
}

TEST(StudentQuantile, UndoesTheProbabilityForEveryDegree) {
  double before = 1e9;
  for (int degrees = 1; degrees <= 1000; ++degrees) {
    const double t = StudentQuantile(0.975, degrees);
    EXPECT_NEAR(StudentProbability(t, degrees), 0.975, 1e-12) << degrees;
    EXPECT_LT(t, before);
    before = t;
  }
}

TEST(StudentQuantile, IsSymmetricAndRefusesNonsense) {
  EXPECT_NEAR(StudentQuantile(0.5, 7), 0, 1e-12);
  EXPECT_EQ(StudentQuantile(0.025, 3), -StudentQuantile(0.975, 3));
  EXPECT_THROW(StudentQuantile(0, 3), Error);
  EXPECT_THROW(StudentQuantile(1, 3), Error);
  EXPECT_THROW(StudentQuantile(0.5, 0), Error);
  EXPECT_THROW(StudentQuantile(std::nan(""), 3), Error);
}

TEST(MeanWithInterval, IsTheOneOfTheTextbook) {
  // s^2 = (1 + 0 + 1) / 2 = 1, so the half width is t / sqrt(3).
  const Estimate estimate = MeanWithInterval(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(estimate.mean, 2);
  EXPECT_NEAR(estimate.HalfWidth(), 4.302652729911275 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(estimate.low + estimate.high, 4, 1e-12);
  EXPECT_EQ(estimate.least, 1);
  EXPECT_EQ(estimate.greatest, 3);
  EXPECT_EQ(estimate.count, 3u);
}

TEST(MeanWithInterval, HasNoIntervalForOneValue) {
  const Estimate estimate = MeanWithInterval(std::vector<double>{2.5});
  EXPECT_EQ(estimate.mean, 2.5);
  EXPECT_FALSE(estimate.HasInterval());
  EXPECT_TRUE(std::isnan(estimate.low));
  EXPECT_TRUE(std::isnan(estimate.high));
}

TEST(MeanWithInterval, HasAnEmptyIntervalForEqualValues) {
  const Estimate estimate = MeanWithInterval(std::vector<double>{4, 4});
  EXPECT_TRUE(estimate.HasInterval());
  EXPECT_EQ(estimate.low, 4);
  EXPECT_EQ(estimate.high, 4);
}

TEST(MeanWithInterval, RefusesNoValueAndNonFiniteOnes) {
  EXPECT_THROW(MeanWithInterval(std::vector<double>{}), Error);
  EXPECT_THROW(MeanWithInterval(std::vector<double>{1, std::nan("")}), Error);
}

TEST(PairedDifference, UsesTheCommonSeedsAlone) {
  const std::vector<SeedValue> values = {{1, 2.0}, {2, 2.4}, {3, 9.0}};
  const std::vector<SeedValue> baseline = {{4, 7.0}, {2, 3.0}, {1, 2.5}};
  const Estimate estimate = PairedDifference(values, baseline);
  EXPECT_EQ(estimate.count, 2u);
  EXPECT_NEAR(estimate.mean, -0.55, 1e-12);
  // Differences -0.5 and -0.6: s = 0.1 / sqrt(2), half width = 12.706 * 0.05.
  EXPECT_NEAR(estimate.HalfWidth(), 12.706204736432095 * 0.05, 1e-9);
}

TEST(PairedDifference, IsNarrowWhereSeedsMoveBothSidesAlike) {
  const std::vector<SeedValue> values = {{1, 2.0}, {2, 3.0}, {3, 4.0}};
  const std::vector<SeedValue> baseline = {{1, 2.1}, {2, 3.1}, {3, 4.1}};
  EXPECT_LT(PairedDifference(values, baseline).high, -0.09);
  EXPECT_GT(MeanWithInterval(values).HalfWidth(), 2);
}

TEST(PairedDifference, RefusesStrangers) {
  const std::vector<SeedValue> values = {{1, 2.0}};
  const std::vector<SeedValue> baseline = {{2, 2.1}};
  EXPECT_THROW(PairedDifference(values, baseline), Error);
}

}  // namespace
}  // namespace sextant::lab
