// Views: strides, sub-views and constness; arrays: order, zeros and copies.
#include "sextant/core/view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <type_traits>

namespace sextant {
namespace {

TEST(ViewTest, RowMajorStrides) {
  std::vector<int> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0);
  const View<int, 3> view(numbers.data(), {2, 3, 4});
  EXPECT_EQ(view.stride(), (Shape<3>{12, 4, 1}));
  EXPECT_EQ(view.shape(), (Shape<3>{2, 3, 4}));
  EXPECT_EQ(view.elements(), 24);
  int expected = 0;
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 3; ++j) {
      for (Index k = 0; k < 4; ++k) EXPECT_EQ(view(i, j, k), expected++);
    }
  }
}

TEST(ViewTest, GivenStridesSkipMemory) {
  std::vector<int> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0);
  // Columns 1 and 2 of the even rows of a [6, 4] matrix.
  const View<int, 2> view(numbers.data() + 1, {3, 2}, {8, 1});
  EXPECT_EQ(view(0, 0), 1);
  EXPECT_EQ(view(1, 0), 9);
  EXPECT_EQ(view(2, 1), 18);
  view(2, 1) = -7;
  EXPECT_EQ(numbers[18], -7);
}

TEST(ViewTest, FixingTheFirstAxisKeepsTheOtherStrides) {
  std::vector<int> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 0);
  const View<int, 3> view(numbers.data(), {2, 2, 3}, {20, 5, 1});
  const View<int, 2> second = view[1];
  EXPECT_EQ(second.shape(), (Shape<2>{2, 3}));
  EXPECT_EQ(second.stride(), (Shape<2>{5, 1}));
  EXPECT_EQ(second(1, 2), 27);
  const View<int, 1> row = second[1];
  EXPECT_EQ(row.extent(0), 3);
  ASSERT_EQ(row.span().size(), 3u);
  EXPECT_EQ(row.span()[0], 25);
  EXPECT_EQ(&row.span()[2], &view(1, 1, 2));
}

TEST(ViewTest, MutableServesAsConstantAndNotTheOtherWay) {
  static_assert(std::is_convertible_v<View<int, 2>, View<const int, 2>>);
  static_assert(!std::is_convertible_v<View<const int, 2>, View<int, 2>>);
  static_assert(!std::is_convertible_v<View<int, 2>, View<const int, 3>>);
  std::vector<int> numbers(10);
  const View<int, 2> strided(numbers.data(), {2, 2}, {5, 1});
  const View<const int, 2> constant = strided;
  strided(1, 1) = 3;
  EXPECT_EQ(constant(1, 1), 3);
  EXPECT_EQ(constant.stride(), strided.stride());
}

TEST(ViewTest, AnEmptyAxisHasNoElements) {
  const View<int, 3> view(nullptr, {2, 0, 4});
  EXPECT_EQ(view.elements(), 0);
  EXPECT_EQ(view[1].elements(), 0);
  EXPECT_EQ((View<int, 2>().elements()), 0);
  EXPECT_EQ((View<int, 1>().span().size()), 0u);
}

TEST(ViewTest, ElementsMultiplyWithoutNarrowing) {
  EXPECT_EQ(Elements<3>({1 << 20, 1 << 20, 4}), Index{1} << 42);
}

#ifndef NDEBUG
TEST(ViewDeathTest, DebugBuildsCheckIndices) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Array<int, 2> array({2, 3});
  EXPECT_DEATH(array(0, 3) = 1, "");
  EXPECT_DEATH(array(-1, 0) = 1, "");
  EXPECT_DEATH(array.view()[2], "");
}
#endif

TEST(ArrayTest, StartsAtZeroInRowMajorOrder) {
  Array<double, 2> array({3, 4});
  ASSERT_EQ(array.values().size(), 12u);
  for (double value : array.values()) EXPECT_EQ(value, 0);
  array(2, 1) = 5;
  EXPECT_EQ(array.values()[9], 5);
  EXPECT_EQ(array.view()(2, 1), 5);
  EXPECT_FALSE(array.empty());
  EXPECT_TRUE((Array<double, 2>({3, 0}).empty()));
  EXPECT_TRUE((Array<double, 2>().empty()));
}

TEST(ArrayTest, CopiesOwnTheirNumbers) {
  Array<int, 1> first({2});
  Array<int, 1> second = first;
  second(0) = 1;
  EXPECT_EQ(first(0), 0);
  const Array<int, 1>& constant = second;
  EXPECT_EQ(constant(0), 1);
  const View<const int, 1> view = constant;
  EXPECT_EQ(view(0), 1);
}

}  // namespace
}  // namespace sextant
