// Learned positions: rows, offsets, the end of the table, and the gradient.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

// A table whose entry (row, channel) is 100 row + channel.
std::vector<std::vector<double>> Numbered(const Scheme& scheme) {
  std::vector<std::vector<double>> weights = ZeroWeights(scheme);
  const Index width = scheme.model_dim();
  for (std::size_t i = 0; i < weights[0].size(); ++i) {
    weights[0][i] = double(100 * (Index(i) / width) + Index(i) % width);
  }
  return weights;
}

std::string Refusal(const std::string& spec, std::int64_t position) {
  const SchemePtr scheme = MakeScheme(spec);
  Array<double, 2> rows({1, scheme->model_dim()});
  try {
    scheme->FillAdditive(Numbered(*scheme), PositionList::Range(position, 1), rows);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LearnedTest, TheTableHasARowForEachPositionAndTheOffset) {
  EXPECT_EQ(MakeScheme("learned:model_dim=768,positions=1024")->weights()[0].shape,
            (std::vector<Index>{1024, 768}));  // GPT-2
  EXPECT_EQ(MakeScheme("learned:model_dim=768,positions=512,offset=2")->weights()[0].shape,
            (std::vector<Index>{514, 768}));  // RoBERTa
  EXPECT_EQ(MakeScheme("learned", {{"model_dim", 12}, {"context", 40}})->weights()[0].shape,
            (std::vector<Index>{40, 12}));
}

TEST(LearnedTest, RowsAreReadInAnyOrder) {
  const SchemePtr scheme = MakeScheme("learned:model_dim=3,positions=6");
  const std::vector<std::int64_t> at = {5, 0, 2, 2};
  Array<double, 2> rows({4, 3});
  scheme->FillAdditive(Numbered(*scheme), PositionList(at), rows);
  const double expected[4][3] = {{500, 501, 502}, {0, 1, 2}, {200, 201, 202}, {200, 201, 202}};
  for (Index n = 0; n < 4; ++n) {
    for (Index c = 0; c < 3; ++c) EXPECT_EQ(rows(n, c), expected[n][c]);
  }
}

TEST(LearnedTest, OffsetSkipsRows) {
  const SchemePtr scheme = MakeScheme("learned:model_dim=1,positions=512,offset=2");
  const std::vector<std::int64_t> at = {0, 511};
  Array<double, 2> rows({2, 1});
  scheme->FillAdditive(Numbered(*scheme), PositionList(at), rows);
  EXPECT_EQ(rows(0, 0), 200);
  EXPECT_EQ(rows(1, 0), 51300);
}

TEST(LearnedTest, ScaleMultipliesRowsAndTheirGradients) {
  const SchemePtr scheme = MakeScheme("learned:model_dim=2,positions=3,scale=0.25");
  Array<double, 2> rows({1, 2});
  scheme->FillAdditive(Numbered(*scheme), PositionList::Range(2, 1), rows);
  EXPECT_EQ(rows(0, 0), 50);
  EXPECT_EQ(rows(0, 1), 50.25);
  std::vector<std::vector<double>> gradients = ZeroWeights(*scheme);
  Array<double, 2> d_rows({1, 2});
  d_rows.values() = {4, 8};
  scheme->BackAdditive(ZeroWeights(*scheme), PositionList::Range(1, 1), d_rows, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{0, 0, 1, 2, 0, 0}));
  EXPECT_THROW(MakeScheme("learned:scale=0"), Error);
}

// Position ids from 0 given to RoBERTa's rows are not an error: the same row two too low is read,
// silently. With the offset the first token reads row 2, and the 513th has none.
TEST(LearnedTest, RobertaReadsRowTwoFirstAndRefusesToken513) {
  const SchemePtr roberta = MakeScheme("learned:model_dim=1,positions=512,offset=2");
  const SchemePtr unshifted = MakeScheme("learned:model_dim=1,positions=514");
  Array<double, 2> right({1, 1}), low({1, 1});
  roberta->FillAdditive(Numbered(*roberta), PositionList::Range(0, 1), right);
  unshifted->FillAdditive(Numbered(*unshifted), PositionList::Range(0, 1), low);
  EXPECT_EQ(right(0, 0), 200);
  EXPECT_EQ(low(0, 0), 0);
  EXPECT_EQ(Refusal("learned:model_dim=1,positions=512,offset=2", 511), "accepted");
  EXPECT_TRUE(Refusal("learned:model_dim=1,positions=512,offset=2", 512)
                  .starts_with("learned: position 512 is outside the table of 512 positions"));
}

TEST(LearnedTest, PastTheEndIsAnErrorThatNamesTheLimit) {
  EXPECT_EQ(Refusal("learned:model_dim=2,positions=1024", 1023), "accepted");
  EXPECT_TRUE(Refusal("learned:model_dim=2,positions=1024", 1024)
                  .starts_with("learned: position 1024 is outside the table of 1024 positions "
                               "(0 to 1023); "));
  // Positions, not rows, are what is limited: 514 rows serve 512 positions.
  EXPECT_EQ(Refusal("learned:model_dim=2,positions=512,offset=2", 511), "accepted");
  EXPECT_TRUE(Refusal("learned:model_dim=2,positions=512,offset=2", 512)
                  .starts_with("learned: position 512 is outside the table of 512 positions"));
}

TEST(LearnedTest, NegativePositionsAreErrorsEvenWithAnOffset) {
  EXPECT_TRUE(Refusal("learned:model_dim=2,positions=4", -1)
                  .starts_with("learned: position -1 is outside the table of 4 positions"));
  EXPECT_TRUE(Refusal("learned:model_dim=2,positions=4,offset=2", -1)
                  .starts_with("learned: position -1 is outside"));
}

TEST(LearnedTest, GradientsOfARowReadTwiceAddUp) {
  const SchemePtr scheme = MakeScheme("learned:model_dim=2,positions=3,offset=1");
  std::vector<std::vector<double>> gradients = ZeroWeights(*scheme);
  gradients[0][2] = 1;  // maps back add to what is there
  const std::vector<std::int64_t> at = {0, 2, 0};
  Array<double, 2> d_rows({3, 2});
  d_rows.values() = {1, 2, 10, 20, 100, 200};
  scheme->BackAdditive(ZeroWeights(*scheme), PositionList(at), d_rows, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{0, 0, 102, 202, 0, 0, 10, 20}));
}

TEST(LearnedTest, InitialValuesHaveTheStatedSpread) {
  const SchemePtr scheme = MakeScheme("learned:model_dim=100,positions=100,init_std=0.5");
  Random random(1);
  const std::vector<std::vector<double>> weights = scheme->InitialWeights(random);
  ASSERT_EQ(weights.size(), 1u);
  ASSERT_EQ(weights[0].size(), 10000u);
  double square = 0;
  for (double value : weights[0]) square += value * value;
  EXPECT_NEAR(square / 10000, 0.25, 0.25 * 5 * 0.01414);
}

}  // namespace
}  // namespace sextant
