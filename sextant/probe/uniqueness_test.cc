// The closest two positions of each scheme.
#include "sextant/probe/uniqueness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

Uniqueness Closest(std::string_view spec, Index positions = 100) {
  return ClosestPositions(*MakeScheme(spec, ProbeShape(64)), {}, positions);
}

// |PE(i) - PE(j)|^2 = 2 (32 - sum cos(w (i - j))), smallest for neighbours: 2 (32 - 30.9168316616).
TEST(Uniqueness, OfSinusoidalNeighbours) {
  const Uniqueness closest = Closest("sinusoidal");
  EXPECT_EQ(closest.measured_on, Fingerprint::kEncodedKey);
  EXPECT_NEAR(closest.smallest_distance, std::sqrt(2 * (32 - 30.9168316616)), 1e-9);
  EXPECT_EQ(closest.first, 0);
  EXPECT_EQ(closest.second, 1);
}

TEST(Uniqueness, EveryEncodedPositionIsItsOwn) {
  for (const char* spec : {"learned", "rope", "hybrid", "alibi", "transformer-xl"}) {
    EXPECT_GT(Closest(spec).smallest_distance, 1e-6) << spec;
  }
}

TEST(Uniqueness, OfSchemesThatCannotTell) {
  const Uniqueness none = Closest("none");
  EXPECT_EQ(none.measured_on, Fingerprint::kScores);
  EXPECT_EQ(none.smallest_distance, 0);
  EXPECT_EQ(none.first, 0);
  EXPECT_EQ(none.second, 1);
  // From position 99, the keys farther than the clip of 16 share a vector: 0 and 1 do, 83 and 84
  // do not.
  EXPECT_LT(Closest("shaw").smallest_distance, 1e-12);
  EXPECT_GT(Closest("shaw:clip=99").smallest_distance, 1e-6);
  EXPECT_EQ(Closest("t5").smallest_distance, 0);
}

TEST(Uniqueness, RefusesCountsOutOfRange) {
  EXPECT_THROW(Closest("none", 1), Error);
  EXPECT_THROW(Closest("none", 4097), Error);
  EXPECT_THROW(Closest("learned:positions=99"), Error);
}

}  // namespace
}  // namespace sextant
