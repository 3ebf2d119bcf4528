// Numbers and lists as readers see them.
#include "lab/report/number_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sextant::lab {
namespace {

TEST(NumberText, HasTrueSigns) {
  EXPECT_EQ(FixedText(-0.25, 2), "\u22120.25");
  EXPECT_EQ(FixedText(-0.0001, 2), "0.00");
  EXPECT_EQ(FixedText(1234567, 1), "1.23e+06");
  EXPECT_EQ(SignedText(0.25, 2), "+0.25");
  EXPECT_EQ(SignedText(-0.25, 2), "\u22120.25");
  EXPECT_EQ(SignedText(0.0001, 2), "0.00");
}

TEST(NumberText, PartsThousands) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(1048576), "1,048,576");
  EXPECT_EQ(CountText(-12345), "\u221212,345");
}

TEST(NumberText, ShowsEstimatesByTheirInterval) {
  EXPECT_EQ(EstimateText({.mean = 2.6612, .low = 2.6492, .high = 2.6732, .count = 3}),
            "2.661 \u00b1 0.012");
  EXPECT_EQ(EstimateText({.mean = 4.9, .low = 4.68, .high = 5.12, .count = 3}), "4.90 \u00b1 0.22");
  EXPECT_EQ(EstimateText({.mean = 2.6612, .count = 1}), "2.661");
  EXPECT_EQ(DifferenceText({.mean = -0.212, .low = -0.25, .high = -0.174, .count = 3}),
            "\u22120.212 [\u22120.250, \u22120.174]");
  EXPECT_EQ(DifferenceText({.mean = 0.5, .count = 1}), "+0.500 (one seed)");
}

TEST(NumberText, JoinsNames) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  EXPECT_EQ(JoinNames({}, 3), "");
  EXPECT_EQ(JoinNames(std::span(names).first(1), 3), "a");
  EXPECT_EQ(JoinNames(std::span(names).first(2), 3), "a and b");
  EXPECT_EQ(JoinNames(std::span(names).first(3), 3), "a, b and c");
  EXPECT_EQ(JoinNames(names, 3), "a, b, c and 1 more");
  EXPECT_EQ(Counted(1, "seed"), "1 seed");
  EXPECT_EQ(Counted(2, "seed"), "2 seeds");
}

}  // namespace
}  // namespace sextant::lab
