// Drift: the expected cosines that public bug reports were recomputed with.
#include "sextant/probe/drift.h"

#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

std::vector<double> Between(const std::string& one, const std::string& other,
                            const std::vector<std::int64_t>& positions) {
  return ExpectedCosines(*MakeScheme("rope:rotated_dims=128," + one),
                         *MakeScheme("rope:rotated_dims=128," + other), PositionList(positions),
                         128);
}

void ExpectCosines(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 5.1e-4) << i;
}

TEST(DriftTest, TheOtherPairingDecaysFromPositionOneOn) {
  // The traces of the matrices themselves; sampling a few random vectors gives .686 at 5 and .416
  // at 20, as a report has it.
  ExpectCosines(Between("pairing=halves", "pairing=adjacent", {0, 1, 2, 5, 20, 100}),
                {1, .946, .850, .680, .409, .194});
}

TEST(DriftTest, ALostBaseIsSeenOnlyFarOut) {
  ExpectCosines(Between("base=10000", "base=1000000", {1, 10, 100, 1000, 8000}),
                {.998, .841, .468, .215, .040});
  ExpectCosines(Between("base=1000000", "base=10000000", {1, 10, 100, 1000, 8000}),
                {1.000, .980, .673, .490, .252});
}

TEST(DriftTest, ASchemeAgreesWithItselfWhateverItsMagnitude) {
  ExpectCosines(Between("base=10000", "base=10000", {0, 77}), {1, 1});
  EXPECT_THROW(
      ExpectedCosines(*MakeScheme("alibi"), *MakeScheme("rope"), PositionList::Range(0, 1), 64),
      Error);
}

}  // namespace
}  // namespace sextant
