// CoPE: counts and interpolation by hand, hidden keys, and the last position.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// The score whose gate is `gate`.
double ScoreOf(double gate) { return std::log(gate / (1 - gate)); }

// One query of one channel, 1, so that the bias is the table interpolated at the count.
struct Case {
  explicit Case(const std::vector<double>& gates)
      : query({1, 1}),
        key({Index(gates.size()), 1}),
        scores({1, Index(gates.size())}),
        visible({1, Index(gates.size())}),
        keys(PositionList::Range(0, Index(gates.size()))) {
    query(0, 0) = 1;
    for (std::size_t j = 0; j < gates.size(); ++j) {
      scores(0, Index(j)) = ScoreOf(gates[j]);
      visible(0, Index(j)) = 1;
    }
  }
  std::vector<double> Bias(const std::string& spec, const Lists& table) const {
    Array<double, 2> bias(scores.shape());
    MakeScheme(spec)->FillContextual(table, Input(), bias);
    return bias.values();
  }
  ContextualInput Input() const { return {0, query, key, scores, visible, last, keys}; }

  Array<double, 2> query, key, scores;
  Array<std::uint8_t, 2> visible;
  PositionList keys, last = PositionList::Range(3, 1);
};

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t n = 0; n < got.size(); ++n) EXPECT_NEAR(got[n], expected[n], 1e-13) << n;
}

TEST(CopeTest, CountsRunFromTheLastKeyToTheKeyItself) {
  // Gates .5 .9 .2 .7 count 2.3 1.8 .9 .7 from the key on.
  ExpectNear(Case({.5, .9, .2, .7})
                 .Bias("cope:head_dim=1,max_positions=8", {{0, 10, 20, 30, 40, 50, 60, 70}}),
             {23, 18, 9, 7});
  // A table that is not straight: between rows 2 and 3, 1 and 2, 0 and 1.
  ExpectNear(
      Case({.5, .9, .2, .7}).Bias("cope:head_dim=1,max_positions=8", {{1, 4, -2, 8, 0, 0, 0, 0}}),
      {-2 * .7 + 8 * .3, 4 * .2 - 2 * .8, 1 * .1 + 4 * .9, 1 * .3 + 4 * .7});
}

TEST(CopeTest, CountsStopAtTheLastPosition) {
  ExpectNear(Case({.5, .9, .2, .7}).Bias("cope:head_dim=1,max_positions=2", {{3, 5}}),
             {5, 5, 3 * .1 + 5 * .9, 3 * .3 + 5 * .7});
  ExpectNear(Case({.5, .9}).Bias("cope:head_dim=1,max_positions=1", {{3}}), {3, 3});
}

// sigmoid(-inf) is 0, but a mask applied after the gate would count .9 and .7 here.
TEST(CopeTest, HiddenKeysAreMaskedBeforeTheGateSoTheFutureIsNotCounted) {
  Case at({.5, .9, .2, .7});
  at.visible(0, 3) = at.visible(0, 1) = 0;
  const std::vector<double> bias =
      at.Bias("cope:head_dim=1,max_positions=8", {{0, 10, 20, 30, 40, 50, 60, 70}});
  EXPECT_NEAR(bias[0], 7, 1e-13);
  EXPECT_NEAR(bias[2], 2, 1e-13);
}

TEST(CopeTest, TheQueryReadsTheTable) {
  Case at({.5});
  at.query = Array<double, 2>({1, 2});
  at.key = Array<double, 2>({1, 2});
  at.query.values() = {2, -3};
  ExpectNear(at.Bias("cope:head_dim=2,max_positions=3", {{1, 1, 4, 2, 0, 0}}),
             {.5 * (2 - 3) + .5 * (8 - 6)});
}

TEST(CopeTest, GradientsByHand) {
  const Case at({.5, .9});  // counts 1.4 and .9
  Array<double, 2> d_bias({1, 2}), d_query({1, 1}), d_key({2, 1}), d_scores({1, 2});
  d_bias.values() = {2, 3};
  Lists gradients = {{0, 0, 0}};
  MakeScheme("cope:head_dim=1,max_positions=3")
      ->BackContextual({Lists{{1, 4, -2}}}, at.Input(), d_bias,
                       {d_query, d_key, d_scores, gradients});
  ExpectNear(gradients[0], {3 * .1, 2 * .6 + 3 * .9, 2 * .4});
  // A gate is counted at its own key and all before it: key 0 by itself, key 1 at both.
  const double d0 = 2 * (-2 - 4), d1 = 3 * (4 - 1);
  ExpectNear(d_scores.values(), {d0 * .25, (d0 + d1) * .09});
  ExpectNear(d_query.values(), {2 * (4 * .6 - 2 * .4) + 3 * (1 * .1 + 4 * .9)});
  // Past the last position a count moves nothing.
  Lists capped = {{0}};
  Array<double, 2> d_capped({1, 2});
  MakeScheme("cope:head_dim=1,max_positions=1")
      ->BackContextual({Lists{{5}}}, at.Input(), d_bias, {d_query, d_key, d_capped, capped});
  EXPECT_EQ(d_capped.values(), (std::vector<double>{0, 0}));
  ExpectNear(capped[0], {5});
}

TEST(CopeTest, OtherHeadsAreErrors) {
  try {
    Case({.5}).Bias("cope:head_dim=4", {std::vector<double>(256)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cope: head_dim 4 must be that of the queries and keys, 1; set head_dim=1");
  }
}

}  // namespace
}  // namespace sextant
