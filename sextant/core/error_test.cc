// Errors: the text of each form, and which kinds are which.
#include "sextant/core/error.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

TEST(ErrorTest, TextNamesPlaceAndRule) {
  const Error error("rope", "rotated_dims must be even, got 63");
  EXPECT_STREQ(error.what(), "rope: rotated_dims must be even, got 63");
  EXPECT_EQ(error.where(), "rope");
  EXPECT_EQ(error.rule(), "rotated_dims must be even, got 63");
  EXPECT_EQ(error.hint(), "");
}

TEST(ErrorTest, HintFollowsTheRule) {
  const Error error("rope", "is odd", "make it even");
  EXPECT_STREQ(error.what(), "rope: is odd; make it even");
  EXPECT_EQ(error.hint(), "make it even");
}

TEST(ErrorTest, WithoutAPlaceTheTextIsTheRule) {
  EXPECT_STREQ(Error("", "is odd").what(), "is odd");
  EXPECT_STREQ(Error("", "is odd", "make it even").what(), "is odd; make it even");
}

TEST(ErrorTest, FileErrorsAreErrorsAndAreToldApart) {
  const UnreadableInput unreadable("a.json", "is not valid JSON", "save it again");
  EXPECT_STREQ(unreadable.what(), "a.json: is not valid JSON; save it again");
  EXPECT_THROW(throw unreadable, Error);
  EXPECT_THROW(throw UnwritableOutput("a.json", "is read-only"), Error);
  EXPECT_THROW(throw Error("a", "b"), std::runtime_error);
  const Error& base = unreadable;
  EXPECT_NE(dynamic_cast<const UnreadableInput*>(&base), nullptr);
  EXPECT_EQ(dynamic_cast<const UnwritableOutput*>(&base), nullptr);
}

}  // namespace
}  // namespace sextant
