// Log-n scaling: the list of Qwen's released code.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

double Scale(const std::string& spec, std::int64_t position) {
  Array<double, 1> scale({1});
  MakeScheme(spec)->FillQueryScale({}, PositionList::Range(position, 1), scale);
  return scale(0);
}

// logn_list of the released code, entry i - 1 for i = 1, 2, ...: log base trained_length of i where
// i is above it, else 1.
TEST(LogNTest, QwensListHasAnEntryForEachPosition) {
  for (const std::int64_t position : {0, 1, 2046, 2047, 2048, 4095, 8191, 32765}) {
    const double i = double(position) + 1;
    const double expected = i > 2048 ? std::log2(i) / 11 : 1;
    EXPECT_NEAR(Scale("log-n", position), expected, 1e-15) << position;
  }
  EXPECT_GT(Scale("log-n", 2048), 1);
  EXPECT_NEAR(Scale("log-n", 4095), 12 / 11.0, 1e-15);
  EXPECT_NEAR(Scale("log-n", (1 << 22) - 1), 2, 1e-15);
}

TEST(LogNTest, FollowsTheModelsContext) {
  Array<double, 1> scale({1});
  MakeScheme("log-n", {{"context", 16}})->FillQueryScale({}, PositionList::Range(255, 1), scale);
  EXPECT_NEAR(scale(0), 2, 1e-15);
}

}  // namespace
}  // namespace sextant
