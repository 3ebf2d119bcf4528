// Rules that change the base, fixed and by length.
#include "sextant/schemes/rotary/ntk.h"

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

const std::vector<std::size_t> kPairs = {0, 1, 7, 16, 23, 31};

double Base(const std::string& spec, std::int64_t length = 1) {
  return FigureOf(spec, "base", length).at(0);
}

// Expected lists of this file: the formulas of the headers to 40 digits.
TEST(NtkTest, AlphaBecomesABase) {
  const std::string spec = "rope:rotated_dims=128,frequencies=ntk,alpha=";
  EXPECT_NEAR(Base(spec + "2"), 20221.26, 5e-3);
  EXPECT_NEAR(Base(spec + "4"), 40889.94, 5e-3);
  EXPECT_NEAR(Base(spec + "8"), 82684.62, 5e-3);
  EXPECT_NEAR(Base(spec + "93.057"), 1e6, 10);
  ExpectPairs(InvFreq("rope:rotated_dims=64,frequencies=ntk,alpha=8"), kPairs,
              {1, 0.70124223447900108, 0.083382796136525768, 0.0034189207888159807,
               0.00028507917514077278, 1.666901790204155e-5});
}

TEST(NtkTest, TheSlowestPairIsStretchedByAlphaAndTheFastestNot) {
  const std::vector<double> plain = InvFreq("rope:rotated_dims=64");
  const std::vector<double> ntk = InvFreq("rope:rotated_dims=64,frequencies=ntk,alpha=8");
  EXPECT_EQ(ntk[0], plain[0]);
  EXPECT_NEAR(ntk[31], plain[31] / 8, 1e-20);
}

TEST(NtkTest, FixedDividesTheSlowestByTheFactorAndTheFastestALittle) {
  ExpectPairs(InvFreq("rope:rotated_dims=64,frequencies=ntk_fixed,factor=8"), kPairs,
              {0.93708381705514995, 0.65850166259577641, 0.079291658756862169,
               0.0033130916078993532, 0.00028033834799253466, 1.666901790204155e-5});
}

TEST(NtkTest, MixedSpreadsTheFactorOverThePairs) {
  ExpectPairs(InvFreq("rope:rotated_dims=64,frequencies=ntk_mixed,factor=8"), kPairs,
              {0.78792132327703445, 0.51922397366192573, 0.055628510774850834,
               0.0024649321570308739, 0.00023470694088019421, 1.666901790204155e-5});
}

TEST(NtkTest, ByPartsBlendsKeptNtkAndLinear) {
  const std::vector<std::size_t> pairs = {0, 1, 7, 9, 12, 16, 18, 19, 20, 21, 22, 23, 31};
  const std::string spec =
      "rope:rotated_dims=64,frequencies=ntk_by_parts,factor=4,original_length=2048";
  ExpectPairs(InvFreq(spec), pairs,
              {1, 0.74989420933245583, 0.1333521432163324, 0.074989420933245583,
               0.028339663432716807, 0.0061670820112578727, 0.0025142981697068732,
               0.0018029990138537891, 0.001125474857286817, 0.0007042810192228844,
               0.0004445698525097307, 0.00033338035804083101, 3.3338035804083101e-5});
  ExpectPairs(InvFreq(spec + ",ntk_factor=0.5,extrapolation_factor=0.75"), pairs,
              {0.90625, 0.67549214205408269, 0.11637016277821134, 0.064853332334341514,
               0.023561940792623933, 0.0048769610894313477, 0.001960075741341373,
               0.0014286201362126224, 0.0009580221361644559, 0.00064856222281914911,
               0.0004445698525097307, 0.00033338035804083101, 3.3338035804083101e-5});
}

TEST(NtkTest, OnePairHasNoSlowest) {
  for (const char* rule :
       {"ntk", "dynamic,original_length=99", "ntk_by_parts,original_length=99"}) {
    EXPECT_EQ(Refusal(std::string("rope:rotated_dims=2,frequencies=") + rule),
              "rope: this rule needs rotated_dims of at least 4 because its exponent is d / (d - "
              "2), got 2; one pair alone has no slowest pair to stretch: use frequencies=linear");
  }
}

TEST(NtkTest, AlphaAndExponentOutOfRangeAreRefused) {
  EXPECT_EQ(Refusal("rope:frequencies=ntk,alpha=0.5"),
            "rope: frequencies.alpha must be a number from 1 to 1000000, got 0.5");
  EXPECT_EQ(Refusal("rope:frequencies=dynamic,alpha=0,original_length=9"),
            "rope: frequencies.alpha must be a number from 1 to 1000000, got 0");
  EXPECT_EQ(Refusal("rope:frequencies=ntk_mixed,mixed_b=0"),
            "rope: frequencies.mixed_b must be a number from 0.01 to 2, got 0");
  for (const char* name : {"ntk_factor", "extrapolation_factor"}) {
    EXPECT_EQ(
        Refusal(std::string("rope:frequencies=ntk_by_parts,original_length=2048,") + name + "=1.5"),
        std::string("rope: frequencies.") + name + " must be a number from 0 to 1, got 1.5");
  }
}

TEST(NtkTest, ByPartsOverLessThanOneTurnIsRefused) {
  EXPECT_NE(Refusal("rope:frequencies=ntk_by_parts,original_length=4")
                .find("no pair lies between the ends of the ramp"),
            std::string::npos);
}

const char kDynamic[] = "rope:rotated_dims=128,frequencies=dynamic,factor=2,original_length=4096";

TEST(DynamicNtkTest, TheBaseStaysToTheTrainedLengthAndGrowsFromTheNextPosition) {
  for (const std::int64_t length : {0, 1, 2048, 4095, 4096}) {
    EXPECT_EQ(Base(kDynamic, length), 10000) << length;
    EXPECT_EQ(InvFreq(kDynamic, length), InvFreq("rope:rotated_dims=128")) << length;
  }
  EXPECT_NEAR(Base(kDynamic, 4097), 10004.96, 5e-3);
  EXPECT_NEAR(Base(kDynamic, 8192), 30527.74, 5e-3);
  EXPECT_NEAR(Base(kDynamic, 16384), 72195.86, 5e-3);
}

// Serving code put the longest length in place of the current one: 3108.22 for every request, and
// below the trained length a negative number to a fractional power.
TEST(DynamicNtkTest, TheBaseIsNoConstantAndNeverComplexBelowTheTrainedLength) {
  const std::string spec =
      "rope:rotated_dims=64,base=1000,frequencies=dynamic,factor=2,original_length=2048";
  EXPECT_EQ(Base(spec, 512), 1000);
  EXPECT_EQ(Base(spec, 2048), 1000);
  EXPECT_NEAR(Base(spec, 2049), 1000 * std::pow(1.0009765625, 64 / 62.0), 1e-9);
  EXPECT_NEAR(Base(spec, 4096), 3108.22, 5e-3);
  EXPECT_NEAR(Base(spec, 8192), 7453.48, 5e-3);
  double last = 0;
  for (std::int64_t length = 1; length < 20000; length += 97) {
    EXPECT_GE(Base(spec, length), last);
    last = Base(spec, length);
    for (double frequency : InvFreq(spec, length)) EXPECT_TRUE(std::isfinite(frequency));
  }
}

// Short prompt, long prompt, the same short prompt: the third answer is the first, bit for bit.
TEST(DynamicNtkTest, NothingIsRememberedAfterALongSequence) {
  const SchemePtr scheme = MakeScheme(kDynamic);
  const std::vector<std::int64_t> at = {0, 5, 99};
  const Table before = Fill(*scheme, PositionList(at, 100));
  const Table during = Fill(*scheme, PositionList(at, 8192));
  const Table after = Fill(*scheme, PositionList(at, 100));
  EXPECT_EQ(after.cos.values(), before.cos.values());
  EXPECT_EQ(after.sin.values(), before.sin.values());
  EXPECT_NE(during.cos.values(), before.cos.values());
}

// A key kept from a short length beside queries of a longer one: what its angles are off by.
TEST(DynamicNtkTest, KeysCachedUnderTheOldBaseAreOffByManyTurns) {
  const std::vector<double> old = InvFreq(kDynamic, 4096), now = InvFreq(kDynamic, 8192);
  EXPECT_NEAR(4095 * (now[8] - old[8]), -168.6, 0.1);
  EXPECT_NEAR(4095 * (now[32] - old[32]), -17.5, 0.1);
  EXPECT_NEAR(4095 * (now[63] - old[63]), -0.315, 1e-3);
}

TEST(DynamicNtkTest, ListsBetweenLengths) {
  ExpectPairs(
      InvFreq("rope:rotated_dims=64,frequencies=dynamic,factor=2,original_length=2048", 5000),
      kPairs,
      {1, 0.71778648489792111, 0.098167320644456648, 0.0049650591744353711, 0.00048740655599549829,
       3.4344213947063476e-5});
}

// HunYuan's checkpoints say "dynamic" and mean this: Hugging Face and vLLM both keep the base.
TEST(DynamicNtkTest, AlphaFixesTheBaseAtEveryLength) {
  const std::string spec =
      "rope:rotated_dims=64,frequencies=dynamic,alpha=1000,factor=2,original_length=32768";
  for (const std::int64_t length : {1, 32768, 32769, 262144}) {
    ExpectPairs(InvFreq(spec, length), kPairs,
                {1, 0.60010301185627575, 0.028027260181185182, 0.00028288694346259692,
                 7.9285459662864265e-6, 1.333521432163324e-7});
  }
}

TEST(DynamicNtkTest, DynamicLinearSqueezesTheWholeSequenceIntoTheTrainedLength) {
  const std::string spec = "rope:rotated_dims=64,frequencies=dynamic_linear,original_length=2048";
  ExpectPairs(InvFreq(spec, 5000), kPairs,
              {0.4096, 0.30715666814257391, 0.054621037861409752, 0.004096, 0.00054621037861409752,
               5.4621037861409752e-5});
  EXPECT_EQ(InvFreq(spec, 2048), InvFreq("rope:rotated_dims=64"));
}

}  // namespace
}  // namespace sextant
