// Wavelengths measured on tables, against those of the formula.
#include "sextant/probe/wavelengths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

// d = 64, base 1e4: 2 pi * 10^(4 i / 32).
void ExpectLectureNumbers(const std::vector<TurningPair>& pairs) {
  ASSERT_EQ(pairs.size(), 32u);
  EXPECT_NEAR(pairs[0].wavelength, 6.283185307, 1e-8);
  EXPECT_NEAR(pairs[8].wavelength, 62.83185307, 1e-7);
  EXPECT_NEAR(pairs[16].wavelength, 628.3185307, 1e-6);
  EXPECT_NEAR(pairs[31].wavelength, 47117.1, 0.5);
  EXPECT_NEAR(pairs[31].frequency, 1.3335e-4, 1e-8);
}

TEST(Wavelengths, OfSinusoidalAndRope) {
  ExpectLectureNumbers(TurningPairs(*MakeScheme("sinusoidal")));
  ExpectLectureNumbers(TurningPairs(*MakeScheme("rope")));
  ExpectLectureNumbers(TurningPairs(*MakeScheme("rope:pairing=adjacent")));
  ExpectLectureNumbers(TurningPairs(*MakeScheme("hybrid")));
}

TEST(Wavelengths, FollowTheFrequencyRule) {
  const auto pairs = TurningPairs(*MakeScheme("rope:rule=linear,factor=4"));
  EXPECT_NEAR(pairs[0].frequency, 0.25, 1e-15);
  EXPECT_NEAR(pairs[0].wavelength, 8 * std::numbers::pi, 1e-13);
}

TEST(Wavelengths, EmptyWhereNothingTurns) {
  for (const char* spec : {"none", "learned", "learned:positions=2", "alibi", "t5", "shaw"}) {
    EXPECT_TRUE(TurningPairs(*MakeScheme(spec)).empty()) << spec;
  }
}

}  // namespace
}  // namespace sextant
