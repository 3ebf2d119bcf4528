// Sinusoidal positions: the paper's numbers, and the error against a longer format to 2^20.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

Array<double, 2> Rows(const std::string& spec, const Positions& positions) {
  const SchemePtr scheme = MakeScheme(spec);
  Array<double, 2> rows({positions.count(), scheme->model_dim()});
  scheme->FillAdditive({}, positions, rows);
  return rows;
}

double Dot(View<const double, 1> a, View<const double, 1> b) {
  double sum = 0;
  for (Index c = 0; c < a.extent(0); ++c) sum += a(c) * b(c);
  return sum;
}

TEST(SinusoidalTest, TheRowOfPositionTwo) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=8", PositionList::Range(2, 1));
  const double expected[] = {0.9093, -0.4161, 0.1987, 0.9801, 0.0200, 0.9998, 0.0020, 1.0000};
  for (Index c = 0; c < 8; ++c) EXPECT_NEAR(rows(0, c), expected[c], 5e-5) << c;
}

TEST(SinusoidalTest, WavelengthsAreGeometric) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=64", PositionList::Range(1, 1));
  const auto frequency = [&](Index pair) {
    return std::atan2(rows(0, 2 * pair), rows(0, 2 * pair + 1));
  };
  EXPECT_NEAR(frequency(0), 1, 1e-15);
  EXPECT_NEAR(frequency(8), 0.1, 1e-15);
  EXPECT_NEAR(frequency(16), 0.01, 1e-15);
  EXPECT_NEAR(frequency(31), 1.3335e-4, 5e-9);
  EXPECT_NEAR(2 * std::numbers::pi / frequency(31), 47117, 1);
  // The paper's width: exponents i/256, so the last frequency is not 1e-4 as in tensor2tensor.
  const Array<double, 2> wide = Rows("sinusoidal:model_dim=512", PositionList::Range(1, 1));
  EXPECT_NEAR(std::atan2(wide(0, 510), wide(0, 511)), 1.03663e-4, 5e-10);
}

TEST(SinusoidalTest, ProductsDependOnTheOffsetAlone) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=64", PositionList::Range(0, 60));
  const auto product = [&](Index i, Index j) { return Dot(rows.view()[i], rows.view()[j]); };
  EXPECT_NEAR(product(0, 1), 30.9168316616, 5e-11);
  EXPECT_NEAR(product(17, 18), 30.9168316616, 5e-11);
  EXPECT_NEAR(product(0, 1), product(17, 18), 1e-13);
  for (Index offset = 0; offset < 40; ++offset) {
    double expected = 0;
    for (int k = 0; k < 32; ++k) expected += std::cos(double(offset) * std::pow(1e4, -k / 32.0));
    EXPECT_NEAR(product(0, offset), expected, 1e-12) << offset;
    EXPECT_NEAR(product(19, 19 + offset), expected, 1e-12) << offset;
  }
}

TEST(SinusoidalTest, PairsHaveNormOneAndPositionsDiffer) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=64", PositionList::Range(0, 100));
  double smallest = 1e300;
  for (Index i = 0; i < 100; ++i) {
    for (Index c = 0; c < 64; c += 2) {
      EXPECT_NEAR(std::hypot(rows(i, c), rows(i, c + 1)), 1, 1e-15);
    }
    for (Index j = 0; j < i; ++j) {
      const auto a = rows.view()[i], b = rows.view()[j];
      smallest = std::min(smallest, Dot(a, a) + Dot(b, b) - 2 * Dot(a, b));
    }
  }
  EXPECT_GT(smallest, 0.1);
}

TEST(SinusoidalTest, BaseSetsTheLongestWavelength) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=4,base=100", PositionList::Range(3, 1));
  const double expected[] = {std::sin(3.0), std::cos(3.0), std::sin(0.3), std::cos(0.3)};
  for (Index c = 0; c < 4; ++c) EXPECT_NEAR(rows(0, c), expected[c], 1e-15);
}

// Angles are a rounded position times a rounded frequency, so the error grows with the position:
// at most about two roundings of the angle, 2 * 2^20 * 2^-53.
TEST(SinusoidalTest, ErrorToTwoToTheTwenty) {
  double worst = 0, worst_near = 0;
  for (const std::int64_t position :
       {std::int64_t{1}, std::int64_t{4096}, std::int64_t{131071}, std::int64_t{999999},
        std::int64_t{1048575}, std::int64_t{1} << 20}) {
    const Array<double, 2> rows =
        Rows("sinusoidal:model_dim=128", PositionList::Range(position, 1));
    for (int pair = 0; pair < 64; ++pair) {
      const long double angle =
          static_cast<long double>(position) * std::pow(1e4L, -static_cast<long double>(pair) / 64);
      const double error = double(
          std::max(std::abs(static_cast<long double>(rows(0, 2 * pair)) - std::sin(angle)),
                   std::abs(static_cast<long double>(rows(0, 2 * pair + 1)) - std::cos(angle))));
      worst = std::max(worst, error);
      if (position <= 4096) worst_near = std::max(worst_near, error);
    }
  }
  std::printf("sinusoidal: largest error %.2e to position 4096, %.2e to 2^20\n", worst_near, worst);
  EXPECT_LT(worst, 2.4e-10);
  EXPECT_LT(worst_near, 1e-12);
}

TEST(SinusoidalTest, OddWidthIsRefused) {
  try {
    MakeScheme("sinusoidal:model_dim=7");
    FAIL() << "an odd width was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "sinusoidal: model_dim must be even, got 7; did you mean 8?");
  }
}

}  // namespace
}  // namespace sextant
