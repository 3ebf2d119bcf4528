// YaRN: ramp, both corrections of scores, and what is refused.
#include "sextant/schemes/rotary/yarn.h"

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

const char kQwen[] =
    "rope:rotated_dims=128,frequencies=yarn,base=1e6,factor=4,original_length=32768";
const char kGptOss[] =
    "rope:rotated_dims=64,frequencies=yarn,base=150000,factor=32,original_length=4096,ramp_ends="
    "exact";
const std::string kDeepSeek =
    "rope:rotated_dims=64,pairing=adjacent_to_halves,frequencies=yarn,factor=40,original_length="
    "4096";

double One(const std::string& spec, const char* name, std::int64_t length = 1) {
  return FigureOf(spec, name, length).at(0);
}

void ExpectEnds(const std::vector<double>& ends, double low, double high, double tolerance) {
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_NEAR(ends[0], low, tolerance);
  EXPECT_NEAR(ends[1], high, tolerance);
}

TEST(YarnTest, Qwen25) {
  ExpectEnds(FigureOf(kQwen, "ramp_ends"), 23.5959476083, 39.6508807104, 1e-9);
  ExpectEnds(FigureOf(kQwen, "ramp_range"), 23, 40, 0);
  EXPECT_NEAR(One(kQwen, "attention_factor"), 1.138629, 5e-7);
  EXPECT_EQ(One(kQwen, "softmax_multiplier"), 1);
  ExpectPairs(InvFreq(kQwen), {32, 63}, {6.029412e-4, 3.102344e-7}, 2e-7);
  const std::vector<double> ramp = FigureOf(kQwen, "ramp"),
                            plain = InvFreq("rope:rotated_dims=128,base=1e6");
  ASSERT_EQ(ramp.size(), 64u);
  EXPECT_EQ(ramp[23], 0);
  EXPECT_NEAR(ramp[32], 9 / 17.0, 1e-15);
  EXPECT_EQ(ramp[40], 1);
  EXPECT_NEAR(InvFreq(kQwen)[23], plain[23], 1e-18);
  EXPECT_NEAR(InvFreq(kQwen)[40], plain[40] / 4, 1e-20);
}

// The formula to 40 digits.
TEST(YarnTest, GptOssHasRampEndsBetweenPairs) {
  const std::vector<std::size_t> pairs = {0, 1, 7, 16, 23, 31, 9, 17};
  ExpectEnds(FigureOf(kGptOss, "ramp_ends"), 8.09277911551, 17.3980245016, 1e-10);
  ExpectEnds(FigureOf(kGptOss, "ramp_range"), 8.09277911551, 17.3980245016, 1e-10);
  EXPECT_NEAR(One(kGptOss, "attention_factor"), 1.346574, 5e-7);
  ExpectPairs(
      InvFreq(kGptOss), pairs,
      {1, 0.68904430588816327, 0.073744568210260814, 0.00045648391922324017, 5.9502392614916047e-6,
       3.0235114281192144e-7, 0.031705696184663766, 0.00012931870124506272},
      2e-14);
}

TEST(YarnTest, RoundedRampEndsWhereExactOnesAreMeantAreOffByThreeQuartersAtPair17) {
  const std::string rounded = std::string(kGptOss).substr(0, std::string(kGptOss).rfind(','));
  ExpectEnds(FigureOf(rounded, "ramp_range"), 8, 18, 0);
  const std::vector<double> right = InvFreq(kGptOss), wrong = InvFreq(rounded);
  double largest = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    largest = std::max(largest, std::abs(wrong[i] / right[i] - 1));
  }
  EXPECT_NEAR(largest, 0.7627, 1e-4);
  EXPECT_NEAR(wrong[17] / right[17] - 1, largest, 1e-15);
}

// The clamp is at d - 1 channels: at d / 2 - 1 pairs the ramps of long contexts would be cut.
TEST(YarnTest, RampEndIsClampedToTheLastChannelNotTheLastPair) {
  const std::string spec = "rope:frequencies=yarn,factor=8,original_length=131072,rotated_dims=";
  ExpectEnds(FigureOf(spec + "64", "ramp_ends"), 22.513, 34.555, 1e-3);
  ExpectEnds(FigureOf(spec + "64", "ramp_range"), 22, 35, 0);
  ExpectEnds(FigureOf(spec + "128", "ramp_ends"), 45.027, 69.109, 1e-3);
  ExpectEnds(FigureOf(spec + "128", "ramp_range"), 45, 70, 0);
  EXPECT_NEAR(FigureOf(spec + "64", "ramp")[31], 9 / 13.0, 1e-15);  // clamped to 31 it would be 1
  // Raw ends 7.98 and 20.02, -17.3 and 2.7, -4.0 and 15.97: clamped below 0 and past channel 7.
  ExpectEnds(
      FigureOf("rope:rotated_dims=32,base=100,frequencies=yarn,original_length=2000", "ramp_range"),
      7, 21, 0);
  ExpectEnds(
      FigureOf("rope:rotated_dims=8,base=2,frequencies=yarn,original_length=10", "ramp_range"), 0,
      3, 0);
  ExpectEnds(
      FigureOf("rope:rotated_dims=8,base=2,frequencies=yarn,original_length=100", "ramp_range"), 0,
      7, 0);
}

TEST(YarnTest, RampEndsRoundOutwardsOverWidthsAndLengths) {
  for (const int width : {16, 64, 80, 128, 256}) {
    for (const int length : {2048, 4096, 8192, 32768, 131072}) {
      const std::string spec =
          "rope:frequencies=yarn,factor=4,rotated_dims=" + std::to_string(width) +
          ",original_length=" + std::to_string(length);
      // r turns over L0 at pair d ln(L0 / (2 pi r)) / (2 ln base).
      const double low = width * std::log(length / (64 * M_PI)) / (2 * std::log(1e4));
      const double high = width * std::log(length / (2 * M_PI)) / (2 * std::log(1e4));
      ExpectEnds(FigureOf(spec, "ramp_ends"), low, high, 1e-10);
      ExpectEnds(FigureOf(spec, "ramp_range"), std::max(std::floor(low), 0.0),
                 std::min(std::ceil(high), width - 1.0), 0);
      ExpectEnds(FigureOf(spec + ",ramp_ends=exact", "ramp_range"), std::max(low, 0.0),
                 std::min(high, width - 1.0), 1e-10);
    }
  }
}

TEST(YarnTest, EqualRampEndsAreAStepNotZeroOverZero) {
  // Seven turns over 4096 positions: both ends at pair 15.75.
  const std::string spec =
      "rope:rotated_dims=64,frequencies=yarn,factor=4,original_length=4096,ramp_ends=exact,"
      "beta_fast=7,beta_slow=7";
  const std::vector<double> ramp = FigureOf(spec, "ramp");
  for (std::size_t i = 0; i < ramp.size(); ++i) {
    EXPECT_TRUE(ramp[i] == 0 || ramp[i] == 1) << i << " " << ramp[i];
    EXPECT_GE(ramp[i], i == 0 ? 0 : ramp[i - 1]);
  }
  EXPECT_EQ(ramp[15], 0);
  EXPECT_EQ(ramp[16], 1);
}

TEST(YarnTest, OriginalLengthTimesFactorIsNotTheOriginalLength) {
  // Qwen with 131072, the stretched length, in place of 32768: the ramp moves from 23..40
  // to 30..47.
  ExpectEnds(FigureOf("rope:rotated_dims=128,frequencies=yarn,base=1e6,factor=4,original_length="
                      "131072",
                      "ramp_range"),
             30, 47, 0);
  // DeepSeek-V3 with 163840: from 10..23 to 23..36.
  ExpectEnds(FigureOf(kDeepSeek, "ramp_range"), 10, 23, 0);
  ExpectEnds(FigureOf("rope:rotated_dims=64,frequencies=yarn,factor=40,original_length=163840",
                      "ramp_range"),
             23, 36, 0);
}

TEST(YarnTest, TheAttentionFactorOfEachFactor) {
  const std::pair<int, double> expected[] = {{4, 1.138629},  {8, 1.207944},  {16, 1.277259},
                                             {32, 1.346574}, {36, 1.358352}, {40, 1.368888},
                                             {64, 1.415888}};
  for (const auto& [factor, magnitude] : expected) {
    const std::string spec =
        "rope:frequencies=yarn,original_length=4096,factor=" + std::to_string(factor);
    EXPECT_NEAR(One(spec, "attention_factor"), magnitude, 5e-7) << factor;
  }
  EXPECT_EQ(One("rope:frequencies=yarn,original_length=4096", "attention_factor"), 1);
}

// DeepSeek: cos and sin keep 1, and the softmax scale takes the square. Applying 1.3689 to cos and
// sin, or nothing at all, is the usual port.
TEST(YarnTest, DeepSeeksSecondCorrectionIsOfTheSoftmaxNotOfCosineAndSine) {
  const std::string v3 = kDeepSeek + ",mscale=1,mscale_all_dim=1,softmax=deepseek";
  EXPECT_EQ(One(v3, "attention_factor"), 1);
  EXPECT_NEAR(One(v3, "softmax_multiplier"), 1.873854, 5e-7);
  EXPECT_NEAR(MakeScheme(v3)->softmax_multiplier() / std::sqrt(192), 0.135234, 5e-7);
  const std::string lite = kDeepSeek + ",mscale=0.707,mscale_all_dim=0.707,softmax=deepseek";
  EXPECT_EQ(One(lite, "attention_factor"), 1);
  EXPECT_NEAR(One(lite, "softmax_multiplier"), 1.589626, 5e-7);
  EXPECT_NEAR(MakeScheme(lite)->softmax_multiplier() / std::sqrt(192), 0.114721, 5e-7);
  const std::string kimi =
      "rope:rotated_dims=64,base=50000,frequencies=yarn,factor=64,original_length=4096,mscale=1,"
      "mscale_all_dim=1,softmax=deepseek";
  EXPECT_NEAR(One(kimi, "softmax_multiplier"), 2.004740, 5e-7);
  // Position 2 of the table: cosines of magnitude 1.
  const Table table = Fill(v3, PositionList::Range(2, 1));
  for (Index i = 0; i < 32; ++i) {
    EXPECT_NEAR(std::hypot(table.cos(0, i), table.sin(0, i)), 1, 1e-15);
  }
  EXPECT_TRUE(MakeScheme(v3)->claims().keeps_norms);
}

TEST(YarnTest, TheSoftmaxIsLeftAloneUnlessAskedFor) {
  const std::string plain = kDeepSeek + ",mscale=1,mscale_all_dim=1";
  EXPECT_EQ(MakeScheme(plain)->softmax_multiplier(), 1);
  EXPECT_EQ(MakeScheme(kDeepSeek + ",softmax=deepseek")->softmax_multiplier(), 1);
}

TEST(YarnTest, MscaleCountsOnlyBesideMscaleAllDim) {
  const double by_rule = 0.1 * std::log(40.0) + 1;
  EXPECT_NEAR(One(kDeepSeek + ",mscale=0.707", "attention_factor"), by_rule, 1e-15);
  EXPECT_NEAR(One(kDeepSeek + ",mscale_all_dim=0.707", "attention_factor"), by_rule, 1e-15);
  EXPECT_NEAR(One(kDeepSeek + ",mscale=1,mscale_all_dim=0.5", "attention_factor"),
              by_rule / (0.05 * std::log(40.0) + 1), 1e-15);
}

// 0.8782488562869419 = 1 / 1.138629436: a multiplier that elsewhere makes the factor 1.
TEST(YarnTest, AGivenAttentionFactorReplacesTheRuleAndDoesNotMultiplyIt) {
  EXPECT_EQ(One(std::string(kQwen) + ",attention_factor=0.8782488562869419", "attention_factor"),
            0.8782488562869419);
  EXPECT_EQ(One(kDeepSeek + ",attention_factor=1,mscale=1,mscale_all_dim=0.5", "attention_factor"),
            1);
}

TEST(YarnTest, TheMagnitudeIsAFactorOnCosineAndSine) {
  const Table table = Fill(kQwen, PositionList::Range(7, 1));
  const double magnitude = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(table.cos(0, 0), magnitude * std::cos(7.0), 1e-15);
  EXPECT_NEAR(table.sin(0, 0), magnitude * std::sin(7.0), 1e-15);
  EXPECT_FALSE(MakeScheme(kQwen)->claims().keeps_norms);
}

// An explicit factor counts, whatever longest length stands beside it: 4, not 40960 / 32768.
TEST(YarnTest, TheFactorIsWhatIsGiven) {
  EXPECT_NEAR(InvFreq(kQwen)[63], 3.102344e-7, 1e-13);
  EXPECT_NEAR(
      InvFreq(
          "rope:rotated_dims=128,frequencies=yarn,base=1e6,factor=1.25,original_length=32768")[63],
      9.927502e-7, 1e-13);
}

TEST(YarnTest, ExtrapolationFactorSaysHowMuchIsKept) {
  const std::string none = std::string(kQwen) + ",extrapolation_factor=0";
  const std::vector<double> linear =
      InvFreq("rope:rotated_dims=128,frequencies=linear,base=1e6,factor=4");
  ExpectPairs(InvFreq(none), {0, 20, 32, 63}, {linear[0], linear[20], linear[32], linear[63]});
}

// The formula to 40 digits, factor 5000 / 2048.
TEST(YarnTest, DynamicYarnTakesItsFactorFromTheLength) {
  const std::string spec = "rope:rotated_dims=64,frequencies=dynamic_yarn,original_length=2048";
  ExpectPairs(InvFreq(spec, 5000), {0, 1, 7, 16, 23, 31},
              {1, 0.74989420933245583, 0.1333521432163324, 0.0063667692307692308,
               0.00054621037861409752, 5.4621037861409752e-5});
  EXPECT_NEAR(One(spec, "attention_factor", 5000), 0.1 * std::log(5000 / 2048.0) + 1, 1e-15);
  EXPECT_EQ(One(spec, "attention_factor", 2048), 1);
  ExpectPairs(InvFreq(spec, 2048), {1, 16, 31}, {0.74989420933245583, 0.01, 1.333521432163324e-4});
  EXPECT_FALSE(MakeScheme(spec)->claims().keeps_norms);
}

TEST(YarnTest, SwappedBetasAreRefused) {
  for (const char* rule : {"yarn", "dynamic_yarn"}) {
    EXPECT_EQ(
        Refusal(std::string("rope:original_length=4096,beta_fast=1,beta_slow=32,frequencies=") +
                rule),
        "rope: frequencies.beta_fast must be at least beta_slow, got 1 and 32; they look "
        "swapped: fast pairs turn more often over the original length");
  }
}

TEST(YarnTest, ARampWithoutPairsIsRefusedRatherThanTurnedAround) {
  EXPECT_EQ(Refusal("rope:rotated_dims=64,frequencies=yarn,original_length=4")
                .find("rope: no pair lies between the ends of the ramp"),
            0u);
  EXPECT_NE(
      Refusal("rope:rotated_dims=64,frequencies=yarn,original_length=4").find("trained length"),
      std::string::npos);
  EXPECT_NE(Refusal("rope:rotated_dims=64,base=2,frequencies=yarn,original_length=1000000000")
                .find("is the base right?"),
            std::string::npos);
}

TEST(YarnTest, NumbersOutOfRangeAreRefused) {
  const std::string yarn = "rope:frequencies=yarn,original_length=4096,";
  const std::pair<const char*, const char*> bad[] = {
      {"beta_fast=0", "beta_fast must be a number from 0.01"},
      {"beta_slow=-1", "beta_slow must be a number from 0.01"},
      {"attention_factor=-1", "attention_factor must be a number from 0 to 100"},
      {"mscale=11", "mscale must be a number from 0 to 10"},
      {"mscale_all_dim=-0.1", "mscale_all_dim must be a number from 0 to 10"},
      {"extrapolation_factor=2", "extrapolation_factor must be a number from 0 to 1"},
      {"original_length=-1", "original_length is given twice"},
      {"ramp_ends=truncated", "ramp_ends must be one of rounded, exact"},
      {"softmax=v3", "softmax must be one of plain, deepseek"}};
  for (const auto& [setting, message] : bad) {
    EXPECT_EQ(Refusal(yarn + setting).find(std::string("rope: frequencies.") + message), 0u)
        << Refusal(yarn + setting);
  }
  EXPECT_EQ(Refusal("rope:frequencies=yarn,original_length=-1")
                .find("rope: frequencies.original_length must be a whole number from 0"),
            0u);
}

}  // namespace
}  // namespace sextant
