// Did-you-mean: what counts as one change, how far is too far, and ties.
#include "sextant/core/closest.h"

#include <gtest/gtest.h>

#include <vector>

namespace sextant {
namespace {

const std::vector<std::string> kNames = {"none", "sinusoidal", "learned", "alibi", "rope"};

TEST(ClosestTest, OneChangeOfEachKind) {
  EXPECT_EQ(Closest("ropes", kNames), "rope");   // a letter too many
  EXPECT_EQ(Closest("alib", kNames), "alibi");   // one missing
  EXPECT_EQ(Closest("rofe", kNames), "rope");    // another in its place
  EXPECT_EQ(Closest("rpoe", kNames), "rope");    // two neighbours swapped: one change, not two
  EXPECT_EQ(Closest("alibi", kNames), "alibi");  // none
}

TEST(ClosestTest, MoreThanAThirdOfTheLettersIsTooFar) {
  const std::vector<std::string> names = {"abcdef"};
  EXPECT_EQ(Closest("abcdxy", names), "abcdef");
  EXPECT_EQ(Closest("abcxyz", names), "");
  EXPECT_EQ(Closest("transformer", kNames), "");
  EXPECT_EQ(Closest("sinusodal", kNames), "sinusoidal");
  EXPECT_EQ(Closest("rope", {}), "");
}

TEST(ClosestTest, TheNearestWinsAndTiesGoToTheEarlier) {
  EXPECT_EQ(Closest("abcdef", std::vector<std::string>{"abcdxy", "abcdxf"}), "abcdxf");
  EXPECT_EQ(Closest("bat", std::vector<std::string>{"cat", "hat"}), "cat");
  EXPECT_EQ(Closest("bat", std::vector<std::string>{"hat", "cat"}), "hat");
}

TEST(ClosestTest, VeryLongTextHasNoNeighbour) {
  const std::string name(100, 'a');
  EXPECT_EQ(Closest(name, std::vector<std::string>{name}), "");
  EXPECT_EQ(Closest(std::string(64, 'a'), std::vector<std::string>{std::string(64, 'a')}),
            std::string(64, 'a'));
}

TEST(ClosestTest, HintTextAndJoin) {
  EXPECT_EQ(DidYouMean("alibbi", kNames), "did you mean \"alibi\"?");
  EXPECT_EQ(DidYouMean("zzzzzz", kNames), "");
  EXPECT_EQ(Join(kNames), "none, sinusoidal, learned, alibi, rope");
  EXPECT_EQ(Join(std::vector<std::string>{"a", "b"}, "+"), "a+b");
  EXPECT_EQ(Join({}), "");
}

}  // namespace
}  // namespace sextant
