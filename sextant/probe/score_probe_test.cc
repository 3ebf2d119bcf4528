// The probe's readouts and the four terms, against numbers of the lecture.
#include "sextant/probe/score_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

ScoreProbe Probe(std::string_view spec, const ProbeSettings& settings = {}) {
  return ProbeScores(*MakeScheme(spec, ProbeShape(settings.head_dim)), settings);
}

std::vector<TermProbe> Terms(std::string_view spec, const ProbeSettings& settings = {}) {
  return ProbeTerms(*MakeScheme(spec, ProbeShape(settings.head_dim)), settings);
}

TEST(ScoreProbe, NoneIsExactlyConstant) {
  const ScoreProbe probe = Probe("none");
  EXPECT_EQ(probe.range, 0);
  EXPECT_EQ(probe.anchor_spread, 0);
  EXPECT_EQ(probe.norm_ratio, 1);
  EXPECT_TRUE(probe.relative);
  const std::vector<double> q = SeededQuery(64, 1), k = SeededKey(64, 1);
  double dot = 0;
  for (std::size_t c = 0; c < q.size(); ++c) dot += q[c] * k[c];
  EXPECT_NEAR(probe.scores(0, 2, 31), dot / 8, 1e-14);
}

TEST(ScoreProbe, RelativeSchemesAreRelativeToRounding) {
  for (const char* spec : {"rope", "rope:pairing=adjacent", "alibi", "t5:direction=bidirectional",
                           "shaw", "transformer-xl", "transformer-xl:heads=4", "rope+alibi"}) {
    const ScoreProbe probe = Probe(spec);
    EXPECT_GT(probe.range, 0) << spec;
    EXPECT_LE(probe.anchor_spread, 1e-12 * probe.range) << spec;
    EXPECT_TRUE(probe.relative) << spec;
    EXPECT_NEAR(probe.norm_ratio, 1, 1e-12) << spec;
  }
}

// Each head adds its own number, the same to every key after the query.
TEST(ScoreProbe, KeysAfterTheQueryShareACausalBucket) {
  const ScoreProbe probe = Probe("t5");
  ASSERT_EQ(probe.scores.extent(0), 8);
  EXPECT_NE(probe.scores(0, 0, 0), probe.scores(1, 0, 0));
  EXPECT_EQ(probe.range, 0);
  EXPECT_EQ(probe.anchor_spread, 0);
  EXPECT_TRUE(probe.relative);
}

TEST(ScoreProbe, AddedRowsAreNotRelative) {
  const ScoreProbe sinusoidal = Probe("sinusoidal");
  EXPECT_GT(sinusoidal.anchor_spread, 0.3 * sinusoidal.range);
  EXPECT_LT(sinusoidal.anchor_spread, sinusoidal.range);
  EXPECT_FALSE(sinusoidal.relative);
  EXPECT_NE(sinusoidal.norm_ratio, 1);
  const ScoreProbe learned = Probe("learned");
  EXPECT_GT(learned.anchor_spread, 0.3 * learned.range);
  EXPECT_FALSE(learned.relative);
}

TEST(ScoreProbe, AlibiFallsByItsSlopes) {
  const ScoreProbe probe = Probe("alibi"), none = Probe("none");
  ASSERT_EQ(probe.scores.shape(), (Shape<3>{8, 3, 32}));
  for (Index o = 0; o < 32; ++o) {
    EXPECT_NEAR(probe.scores(0, 1, o), none.scores(0, 1, o) - 0.5 * double(o), 1e-13);
    EXPECT_NEAR(probe.scores(7, 1, o), none.scores(0, 1, o) - double(o) / 256, 1e-13);
  }
  EXPECT_NEAR(probe.range, 15.5, 1e-12);
}

TEST(ScoreProbe, SameVectorsForEveryScheme) {
  EXPECT_EQ(Probe("rope").scores(0, 0, 0), Probe("none").scores(0, 0, 0));
  EXPECT_EQ(SeededQuery(8, 5), SeededQuery(8, 5));
  EXPECT_NE(SeededQuery(8, 5), SeededQuery(8, 6));
  EXPECT_NE(SeededQuery(8, 5), SeededKey(8, 5));
}

TEST(ScoreProbe, EndsWithTheTable) {
  EXPECT_NO_THROW(Probe("learned:positions=56"));
  try {
    Probe("learned:positions=55");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("position 55 is outside the table of 55"),
              std::string::npos)
        << error.what();
  }
}

TEST(ScoreProbe, RefusesSettingsOutOfRange) {
  EXPECT_THROW(Probe("none", {.head_dim = 0}), Error);
  EXPECT_THROW(Probe("none", {.offsets = 0}), Error);
  EXPECT_THROW(Probe("none", {.offsets = 4097}), Error);
  EXPECT_THROW(Probe("none", {.anchors = {}}), Error);
  EXPECT_THROW(Probe("none", {.anchors = {-1}}), Error);
  EXPECT_THROW(Probe("sinusoidal:model_dim=8"), Error);
  EXPECT_THROW(Probe("learned:positions=16777216"), Error);
}

// Sum over the 32 frequencies of cos(w), seed documents: 30.9168316616.
TEST(TermProbe, OnlyPositionWithPositionDependsOnTheOffsetAlone) {
  const std::vector<TermProbe> terms = Terms("sinusoidal", {.anchors = {0, 17}});
  ASSERT_EQ(terms.size(), 4u);
  EXPECT_STREQ(terms[0].name, "content_content");
  EXPECT_EQ(terms[0].anchor_spread, 0);
  EXPECT_STREQ(terms[1].name, "content_position");
  EXPECT_FALSE(terms[1].relative);
  EXPECT_STREQ(terms[2].name, "position_content");
  EXPECT_FALSE(terms[2].relative);
  EXPECT_STREQ(terms[3].name, "position_position");
  EXPECT_TRUE(terms[3].relative);
  EXPECT_NEAR(8 * terms[3].scores(0, 1), 30.9168316616, 5e-11);
  EXPECT_NEAR(8 * terms[3].scores(1, 1), 30.9168316616, 5e-11);
  EXPECT_NEAR(8 * terms[3].scores(0, 0), 32, 1e-13);
}

TEST(TermProbe, SumToTheScore) {
  for (const char* spec : {"sinusoidal", "learned", "hybrid"}) {
    const ScoreProbe probe = Probe(spec);
    const std::vector<TermProbe> terms = Terms(spec);
    ASSERT_EQ(terms.size(), 4u) << spec;
    for (Index a = 0; a < 3; ++a) {
      for (Index o = 0; o < 32; ++o) {
        double sum = 0;
        for (const TermProbe& term : terms) sum += term.scores(a, o);
        EXPECT_NEAR(sum, probe.scores(0, a, o), 1e-12) << spec;
      }
    }
  }
}

// The key's content is the same at every offset, so only its position makes a term vary by offset.
TEST(TermProbe, CrossTermsAreNotSwapped) {
  const std::vector<TermProbe> terms = Terms("sinusoidal");
  for (Index a = 0; a < 3; ++a) {
    for (Index o = 1; o < 32; ++o) {
      EXPECT_EQ(terms[2].scores(a, o), terms[2].scores(a, 0));
      EXPECT_NE(terms[1].scores(a, o), terms[1].scores(a, 0));
    }
  }
  EXPECT_EQ(terms[1].scores(0, 24), terms[1].scores(2, 0));
}

TEST(TermProbe, LeaveABiasOut) {
  EXPECT_EQ(Terms("sinusoidal+alibi")[3].scores(1, 5), Terms("sinusoidal")[3].scores(1, 5));
}

TEST(TermProbe, OnlyWhereRowsAreAddedAndNothingTurns) {
  for (const char* spec : {"none", "rope", "alibi", "shaw", "sinusoidal+rope"}) {
    EXPECT_TRUE(Terms(spec).empty()) << spec;
  }
}

}  // namespace
}  // namespace sextant
