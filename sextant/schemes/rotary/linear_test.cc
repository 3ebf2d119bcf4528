// Powers of one base: as they are, divided, and for the first pairs alone.
#include "sextant/schemes/rotary/linear.h"

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

const std::vector<std::size_t> kPairs = {0, 1, 7, 16, 23, 31};

// base^(-2i/64) to 40 digits, base 5e5.
TEST(FrequenciesTest, DefaultIsAPowerOfTheBase) {
  ExpectPairs(InvFreq("rope:rotated_dims=64,base=500000"), kPairs,
              {1, 0.66360123769608844, 0.056669621445291048, 0.001414213562373095,
               8.0142947222479796e-5, 3.0138581521391711e-6});
}

TEST(FrequenciesTest, LinearDividesEveryFrequency) {
  ExpectPairs(InvFreq("rope:rotated_dims=64,frequencies=linear,base=500000,factor=8"), kPairs,
              {0.125, 0.082950154712011055, 0.007083702680661381, 0.00017677669529663688,
               1.0017868402809974e-5, 3.7673226901739639e-7});
}

// rotary_dim 64 of head_dim 256, base 1e7: the exponent's width is 64. With 256 it would be
// .881683, .365174 and .020169.
TEST(FrequenciesTest, PartialRotationDividesExponentsByItsOwnWidthNotTheHeads) {
  ExpectPairs(InvFreq("rope:rotated_dims=64,base=1e7"), {1, 8, 31},
              {.604296, .0177828, 1.654817e-7}, 2e-6);
}

// GLM: half of a head of 128 turns.
TEST(FrequenciesTest, HalfAHeadIsNotTheFirstHalfOfAWholeHeadsFrequencies) {
  EXPECT_NEAR(InvFreq("rope:rotated_dims=64")[1], .749894, 5e-7);
  EXPECT_NEAR(InvFreq("rope:rotated_dims=128")[1], .865964, 5e-7);
}

// Gemma 4's global layers: a quarter of the pairs, by the width of the whole head.
TEST(FrequenciesTest, ProportionalKeepsTheWholeWidthInTheExponentAndStillsTheRest) {
  const std::vector<double> inv_freq =
      InvFreq("rope:rotated_dims=64,frequencies=proportional,base=1e6,fraction=0.25");
  ASSERT_EQ(inv_freq.size(), 32u);
  ExpectPairs(inv_freq, {0, 1, 2}, {1, 0.64938163157621132, 0.42169650342858225});
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(inv_freq[i] > 0, i < 8) << i;
  const std::vector<double> divided =
      InvFreq("rope:rotated_dims=64,frequencies=proportional,base=1e6,fraction=0.25,factor=2");
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(divided[i], inv_freq[i] / 2);
}

TEST(FrequenciesTest, ProportionalRoundsItsPairsDown) {
  const std::vector<double> inv_freq =
      InvFreq("rope:rotated_dims=6,frequencies=proportional,fraction=0.6");  // int(1.8) = 1
  EXPECT_GT(inv_freq[0], 0);
  EXPECT_EQ(inv_freq[1], 0);
}

// A buffer never filled starts with 6.9e-18: the first entry tells.
TEST(FrequenciesTest, TheFirstFrequencyIsExactlyOneUnlessTheRuleDividesIt) {
  const std::string rope = "rope:rotated_dims=64,original_length=4096,frequencies=";
  for (const char* rule : {"llama3", "yarn,factor=4", "yarn,factor=40,ramp_ends=exact", "dynamic",
                           "ntk_by_parts,factor=8", "longrope,factor=32"}) {
    for (const char* numerics : {"exact", "as_trained"}) {
      EXPECT_EQ(InvFreq(rope + rule + ",numerics=" + numerics, 9000)[0], 1) << rule;
    }
  }
  EXPECT_EQ(InvFreq("rope")[0], 1);
  EXPECT_EQ(InvFreq("rope:frequencies=ntk,alpha=8")[0], 1);
  EXPECT_EQ(InvFreq("rope:frequencies=linear,factor=8")[0], 1 / 8.0);
  EXPECT_EQ(InvFreq("rope:frequencies=linear,factor=5")[0], 1 / 5.0);
  EXPECT_EQ(InvFreq("rope:rotated_dims=4,frequencies=longrope,original_length=9,"
                    "short_factors=[1.5,2],long_factors=[3,4]")[0],
            1 / 1.5);
}

TEST(FrequenciesTest, FrequenciesArePositiveAndFallAndEndAtTheSlowest) {
  for (const char* rule : {"default", "llama3", "yarn,factor=16", "dynamic", "ntk_mixed,factor=4",
                           "ntk_fixed,factor=4", "ntk_by_parts,factor=4", "dynamic_yarn"}) {
    const std::string length = std::string(rule).find("ntk_") == 0 ? "" : ",original_length=2048";
    const std::vector<double> inv_freq =
        InvFreq(std::string("rope:rotated_dims=128,frequencies=") + rule +
                    (std::string(rule) == "default"            ? ""
                     : std::string(rule).starts_with("ntk_by") ? ",original_length=2048"
                                                               : length),
                8192);
    for (std::size_t i = 1; i < inv_freq.size(); ++i) {
      EXPECT_GT(inv_freq[i], 0) << rule;
      EXPECT_LT(inv_freq[i], inv_freq[i - 1]) << rule << " " << i;
    }
  }
}

TEST(FrequenciesTest, ABaseThatMakesNotANumberIsRefusedByName) {
  for (const char* base : {"0", "nan", "1", "inf", "-10000"}) {
    const std::string refusal = Refusal(std::string("rope:base=") + base);
    EXPECT_EQ(refusal.find("rope: frequencies.base must be a number from 1.001"), 0u) << refusal;
    EXPECT_NE(refusal.find("got"), std::string::npos);
  }
}

TEST(FrequenciesTest, AFactorBelowOneIsRefused) {
  for (const char* rule : {"linear", "ntk_fixed", "ntk_mixed", "dynamic", "ntk_by_parts", "yarn",
                           "llama3", "longrope", "proportional"}) {
    const std::string refusal = Refusal(std::string("rope:frequencies=") + rule + ",factor=0.25");
    EXPECT_EQ(refusal, "rope: frequencies.factor must be a number from 1 to 1000000, got 0.25")
        << rule;
  }
}

TEST(FrequenciesTest, AProportionOutsideOfZeroToOneIsRefused) {
  const std::string proportional = "rope:rotated_dims=64,frequencies=proportional,fraction=";
  EXPECT_EQ(Refusal(proportional + "0"),
            "rope: frequencies.fraction must leave a pair of 64 channels to turn, got 0; the "
            "smallest fraction is 0.03125; for no rotation at all use the scheme none");
  EXPECT_EQ(Refusal(proportional + "1.5"),
            "rope: frequencies.fraction must be a number from 0 to 1, got 1.5");
  EXPECT_EQ(Refusal(proportional + "0.03125"), "accepted");
}

TEST(FrequenciesTest, AnOriginalLengthThatNothingStatesIsRefused) {
  for (const char* rule : {"dynamic", "dynamic_linear", "ntk_by_parts", "yarn", "dynamic_yarn",
                           "llama3", "longrope"}) {
    const std::string spec = std::string("rope:frequencies=") + rule;
    EXPECT_EQ(Refusal(spec).find("rope: frequencies.original_length must be stated, got 0; give "
                                 "the positions the model was trained on"),
              0u)
        << Refusal(spec);
    EXPECT_EQ(Refusal(spec + ",original_length=2048"), "accepted");
    const SchemePtr followed = MakeScheme(spec, {{"context", 4096}});
    bool found = false;
    for (const Parameter& parameter : followed->parameters()) {
      if (parameter.path != "frequencies.original_length") continue;
      found = parameter.value == ParameterValue(std::int64_t{4096});
    }
    EXPECT_TRUE(found) << rule;
  }
}

}  // namespace
}  // namespace sextant
