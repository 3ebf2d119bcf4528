// No positions: no hook, no weight, no setting.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

TEST(NoneTest, OffersNothing) {
  const SchemePtr none = MakeScheme("none");
  ASSERT_FALSE(HookNames().empty());
  for (const HookName& hook : HookNames()) EXPECT_FALSE(none->offers(hook.hook)) << hook.name;
  EXPECT_TRUE(none->weights().empty());
  EXPECT_TRUE(none->parameters().empty());
  EXPECT_TRUE(ZeroWeights(*none).empty());
}

TEST(NoneTest, TakesNoSettings) {
  try {
    MakeScheme("none:heads=8");
    FAIL() << "a setting was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "none: unknown setting \"heads\"; it has no settings");
  }
}

}  // namespace
}  // namespace sextant
