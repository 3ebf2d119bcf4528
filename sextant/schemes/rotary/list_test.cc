// Frequencies given as a list, and trained ones.
#include "sextant/schemes/rotary/list.h"

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

TEST(GivenFrequenciesTest, TurnAsListed) {
  const std::string spec = "rope:rotated_dims=6,frequencies=given,inv_freq=[2,0,0.25]";
  EXPECT_EQ(InvFreq(spec), (std::vector<double>{2, 0, 0.25}));
  const Table table = Fill(spec, PositionList::Range(3, 1));
  EXPECT_EQ(table.cos(0, 0), std::cos(6.0));
  EXPECT_EQ(table.sin(0, 1), 0);
  EXPECT_EQ(table.sin(0, 2), std::sin(0.75));
}

TEST(GivenFrequenciesTest, AListOfAnotherLengthIsRefused) {
  EXPECT_EQ(Refusal("rope:rotated_dims=6,frequencies=given,inv_freq=[1,0.1]"),
            "rope: frequencies.inv_freq must hold 3 numbers, one for each pair of rotated_dims 6, "
            "got 2");
  EXPECT_EQ(Refusal("rope:rotated_dims=4,frequencies=given,inv_freq=[1,0.1,1,0.1]"),
            "rope: frequencies.inv_freq must hold 2 numbers, one for each pair of rotated_dims 4, "
            "got 4; a table with a number a channel holds each twice: give the first half");
  EXPECT_NE(Refusal("rope:frequencies=given").find("got 0"), std::string::npos);
}

TEST(GivenFrequenciesTest, ANegativeOrEndlessFrequencyIsRefused) {
  for (const char* bad : {"-0.5", "inf", "nan", "20000"}) {
    EXPECT_EQ(Refusal(std::string("rope:rotated_dims=2,frequencies=given,inv_freq=[") + bad + "]")
                  .find("rope: frequencies.inv_freq must be a list of numbers from 0 to 10000"),
              0u)
        << bad;
  }
}

TEST(TrainableFrequenciesTest, StartAsTheDefaultAndFollowTheirWeights) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=8,frequencies=trainable,base=100");
  ASSERT_EQ(scheme->weights().size(), 1u);
  EXPECT_EQ(scheme->weights()[0].name, "inv_freq");
  Random random(1);
  std::vector<std::vector<double>> weights = scheme->InitialWeights(random);
  EXPECT_EQ(weights[0], InvFreq("rope:rotated_dims=8,base=100"));
  weights[0] = {0.5, 0.25, 0, -1};
  const Table table = Fill(*scheme, PositionList::Range(2, 1), Side::kKey, weights);
  EXPECT_EQ(table.cos(0, 0), std::cos(1.0));
  EXPECT_EQ(table.sin(0, 1), std::sin(0.5));
  EXPECT_EQ(table.sin(0, 3), std::sin(-2.0));
}

// d/dw of cos(p w) and sin(p w) by hand.
TEST(TrainableFrequenciesTest, TheirGradientGoesThroughCosineAndSine) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=4,frequencies=trainable");
  const std::vector<std::vector<double>> weights = {{0.3, 0.02}};
  Array<double, 2> d_cos({2, 2}), d_sin({2, 2});
  d_cos(0, 0) = 1, d_cos(1, 1) = 10, d_sin(1, 0) = 100;
  std::vector<std::vector<double>> gradient = {{0.5, 0}};
  const std::vector<std::int64_t> at = {5, 7};
  scheme->BackRotary(weights, PositionList(at), Side::kQuery, d_cos, d_sin, gradient);
  EXPECT_NEAR(gradient[0][0], 0.5 - 5 * std::sin(5 * 0.3) + 100 * 7 * std::cos(7 * 0.3), 1e-11);
  EXPECT_NEAR(gradient[0][1], -10 * 7 * std::sin(7 * 0.02), 1e-12);
}

TEST(TrainableFrequenciesTest, OtherRulesHaveNoWeights) {
  for (const char* spec : {"rope", "rope:frequencies=linear,factor=2"}) {
    EXPECT_TRUE(MakeScheme(spec)->weights().empty());
    EXPECT_FALSE(MakeScheme(spec)->claims().learned);
  }
  EXPECT_TRUE(MakeScheme("rope:frequencies=trainable")->claims().learned);
}

TEST(TrainableFrequenciesTest, AsTrainedRoundsThem) {
  const SchemePtr scheme =
      MakeScheme("rope:rotated_dims=2,frequencies=trainable,numerics=as_trained");
  const std::vector<std::vector<double>> weights = {{0.1}};
  const Table table = Fill(*scheme, PositionList::Range(3, 1), Side::kQuery, weights);
  EXPECT_EQ(table.cos(0, 0), double(std::cos(3 * 0.1f)));
}

}  // namespace
}  // namespace sextant
