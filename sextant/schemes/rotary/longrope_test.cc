// LongRoPE: two lists, the length where they change, the magnitude.
#include "sextant/schemes/rotary/longrope.h"

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

const std::string kPhi =
    "rope:rotated_dims=8,frequencies=longrope,factor=32,original_length=4096,short_factors=[1,1.25,"
    "2,3],long_factors=[1.5,4,20,60]";

double Magnitude(const std::string& spec, std::int64_t length = 1) {
  return FigureOf(spec, "attention_factor", length).at(0);
}

TEST(LongRopeTest, ListsChangeOnePositionPastTheOriginalLengthNotAtIt) {
  const std::vector<double> short_list = {1, 0.1 / 1.25, 0.01 / 2, 0.001 / 3};
  const std::vector<double> long_list = {1 / 1.5, 0.1 / 4, 0.01 / 20, 0.001 / 60};
  for (const std::int64_t length : {0, 1, 4095, 4096}) {
    ExpectPairs(InvFreq(kPhi, length), {0, 1, 2, 3}, short_list);
  }
  for (const std::int64_t length : {4097, 131072}) {
    ExpectPairs(InvFreq(kPhi, length), {0, 1, 2, 3}, long_list);
  }
}

TEST(LongRopeTest, TheMagnitudeIsOfBothLists) {
  EXPECT_NEAR(Magnitude(kPhi), 1.190238, 5e-7);
  EXPECT_NEAR(Magnitude(kPhi, 4097), 1.190238, 5e-7);
  EXPECT_NEAR(std::pow(Magnitude(kPhi), 2), 1.416667, 5e-7);
  EXPECT_NEAR(Magnitude("rope:frequencies=longrope,factor=16,original_length=8192"), 1.143544,
              5e-7);
  EXPECT_EQ(Magnitude("rope:frequencies=longrope,original_length=4096"), 1);
  EXPECT_FALSE(MakeScheme(kPhi)->claims().keeps_norms);
}

TEST(LongRopeTest, AGivenFactorReplacesTheRuleAndAnMscaleThatOfItsList) {
  EXPECT_EQ(Magnitude(kPhi + ",attention_factor=1.1"), 1.1);
  const std::string both = kPhi + ",attention_factor=1.1,long_mscale=1.3";
  EXPECT_EQ(Magnitude(both, 4096), 1.1);
  EXPECT_EQ(Magnitude(both, 4097), 1.3);
  EXPECT_EQ(Magnitude(kPhi + ",short_mscale=1.2", 4096), 1.2);
  EXPECT_FALSE(MakeScheme(kPhi + ",attention_factor=1,long_mscale=1.3")->claims().keeps_norms);
  EXPECT_TRUE(MakeScheme(kPhi + ",attention_factor=1")->claims().keeps_norms);
}

TEST(LongRopeTest, NoListMeansOnes) {
  EXPECT_EQ(InvFreq("rope:rotated_dims=8,frequencies=longrope,original_length=64,long_factors=[2,2,"
                    "2,2]",
                    64),
            InvFreq("rope:rotated_dims=8,frequencies=longrope,original_length=64"));
}

// head_dim 96 has lists of 48.
TEST(LongRopeTest, ListsOfAnotherLengthAreRefused) {
  const std::string spec = "rope:rotated_dims=96,frequencies=longrope,original_length=4096,";
  EXPECT_EQ(Refusal(spec + ListOf("short_factors", 48) + "," + ListOf("long_factors", 48)),
            "accepted");
  for (const char* name : {"short_factors", "long_factors"}) {
    EXPECT_EQ(Refusal(spec + ListOf(name, 64)),
              std::string("rope: frequencies.") + name +
                  " must hold 48 numbers, one for each pair of rotated_dims 96, got 64; a list of "
                  "64 fits rotated_dims=128 (head_dim times partial_rotary_factor)");
    for (const double bad : {0.0, -1.0}) {
      EXPECT_EQ(Refusal(spec + ListOf(name, 48, bad)),
                std::string("rope: frequencies.") + name +
                    " must be a list of numbers from 0.001 to 1000000, got " + ToText(bad));
    }
  }
}

TEST(LongRopeTest, ALogarithmOfOneIsRefused) {
  EXPECT_EQ(Refusal("rope:frequencies=longrope,factor=2,original_length=1")
                .find("rope: frequencies.original_length must be at least 2"),
            0u);
}

TEST(LongRopeTest, MagnitudesOutOfRangeAreRefused) {
  for (const char* name : {"attention_factor", "short_mscale", "long_mscale"}) {
    EXPECT_EQ(Refusal(std::string("rope:frequencies=longrope,original_length=64,") + name + "=-1"),
              std::string("rope: frequencies.") + name + " must be a number from 0 to 100, got -1");
  }
}

}  // namespace
}  // namespace sextant
