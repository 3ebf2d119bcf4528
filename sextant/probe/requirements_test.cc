// The four requirements of each scheme.
#include "sextant/probe/requirements.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

RequirementReport Measure(std::string_view spec, const ProbeSettings& settings = {}) {
  return MeasureRequirements(*MakeScheme(spec, ProbeShape(settings.head_dim)), settings);
}

struct Expected {
  const char* spec;
  int told_apart;  // of 32
  std::int64_t largest;
  bool bounded, decays;
};

TEST(Requirements, OfEveryScheme) {
  constexpr std::int64_t kTried = 1 << 20;
  // T5's causal buckets of distances 0..31: 0..15 alone, then three edges below 32 (16 (128/16)^
  // (i/16) = 18.2, 20.7, 23.6, 26.9, 30.6 start buckets 17..21): 16 + 6. Shaw clips at 16: 0..16.
  const Expected expected[] = {
      {"none", 1, kTried, true, false},   {"sinusoidal", 32, kTried, true, true},
      {"learned", 32, 1023, true, false}, {"hybrid", 32, 1023, true, true},
      {"shaw", 17, kTried, true, false},  {"transformer-xl", 32, kTried, true, false},
      {"t5", 22, kTried, true, false},    {"alibi", 32, kTried, false, true},
      {"rope", 32, kTried, true, true},
  };
  for (const Expected& scheme : expected) {
    const std::vector<Requirement> all = Measure(scheme.spec).requirements;
    ASSERT_EQ(all.size(), 4u);
    EXPECT_STREQ(all[0].name, "tells_apart");
    EXPECT_EQ(all[0].number, scheme.told_apart) << scheme.spec;
    EXPECT_EQ(all[0].holds, scheme.told_apart == 32) << scheme.spec;
    EXPECT_STREQ(all[1].name, "any_length");
    EXPECT_EQ(all[1].number, double(scheme.largest)) << scheme.spec;
    EXPECT_EQ(all[1].holds, scheme.largest == kTried) << scheme.spec;
    EXPECT_STREQ(all[2].name, "bounded");
    EXPECT_EQ(all[2].holds, scheme.bounded) << scheme.spec << " " << all[2].number;
    EXPECT_STREQ(all[3].name, "decays");
    EXPECT_EQ(all[3].holds, scheme.decays) << scheme.spec << " " << all[3].number;
  }
}

TEST(Requirements, OfNoneAreExact) {
  const std::vector<Requirement> none = Measure("none").requirements;
  EXPECT_LE(none[2].number, 1);
  EXPECT_EQ(none[3].number, 0);
}

// At distance 1024 the steepest slope costs 512; 8 is near what content can reach.
TEST(Requirements, AlibiGrowsPastContent) {
  const double ratio = Measure("alibi").requirements[2].number;
  EXPECT_GT(ratio, 40);
  EXPECT_LT(ratio, 100);
  EXPECT_EQ(Measure("alibi").requirements[3].number, -1);
}

TEST(Requirements, SaysThatWeightsAreUntrained) {
  EXPECT_EQ(Measure("rope").note, "");
  EXPECT_NE(Measure("t5").note.find("initial values, drawn from seed 1"), std::string::npos);
}

TEST(Requirements, FindTheEndOfATable) {
  for (std::int64_t positions : {40, 41, 1000}) {
    const SchemePtr scheme = MakeScheme("learned:positions=" + std::to_string(positions));
    EXPECT_EQ(LargestPosition(MakeSubject(*scheme, 1), 64), positions - 1);
  }
  // The bound is measured as far as the table goes.
  EXPECT_NE(Measure("learned:positions=60").requirements[2].meaning.find("distance 59"),
            std::string::npos);
  EXPECT_THROW(Measure("learned:positions=31"), Error);
}

TEST(Requirements, FindTheEndOfAWindowOfImageCells) {
  for (const char* name : {"swin", "swin-v2", "sam"}) {
    const SchemePtr scheme = MakeScheme(std::string(name) + ":height=3,width=14");
    EXPECT_EQ(LargestPosition(MakeSubject(*scheme, 1), 64), 41) << name;
  }
  EXPECT_EQ(LargestPosition(MakeSubject(*MakeScheme("cope"), 1), 64), 1 << 20);
}

TEST(Requirements, RankCorrelation) {
  EXPECT_EQ(RankCorrelation(std::array{1.0, 2.0, 5.0}), 1);
  EXPECT_EQ(RankCorrelation(std::array{9.0, 2.0, -5.0}), -1);
  EXPECT_EQ(RankCorrelation(std::array{4.0, 4.0, 4.0}), 0);
  EXPECT_EQ(RankCorrelation(std::array{4.0}), 0);
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(5 * 4.5).
  EXPECT_NEAR(RankCorrelation(std::array{1.0, 2.0, 2.0, 3.0}), 4.5 / std::sqrt(5 * 4.5), 1e-15);
}

}  // namespace
}  // namespace sextant
