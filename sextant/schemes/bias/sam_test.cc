// Decomposed relative positions: both terms by hand, and the window's edge.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// head_dim 2 over a grid of 2 x 3. Rows [3, 2] and columns [5, 2] of differences -1..1 and -2..2.
const char* const kSpec = "sam:head_dim=2,height=2,width=3";
const Lists kTables = {{1, 2, 3, 4, 5, 6}, {.1, .2, .3, .4, .5, .6, .7, .8, .9, 1}};

struct Case {
  Case(Index queries, Index keys)
      : query({queries, 2}), key({keys, 2}), scores({queries, keys}), visible({queries, keys}) {
    visible.values().assign(visible.values().size(), 1);
  }
  ContextualInput Input(const Positions& queries, const Positions& keys) const {
    return {0, query, key, scores, visible, queries, keys};
  }
  Array<double, 2> query, key, scores;
  Array<std::uint8_t, 2> visible;
};

TEST(SamTest, TheUnscaledQueryReadsAVectorForEachAxis) {
  const SchemePtr scheme = MakeScheme(kSpec);
  Case at(1, 6);
  at.query.values() = {10, -1};
  // The query at row 1, column 0 and all six cells.
  const PositionList query = PositionList::Range(3, 1), keys = PositionList::Range(0, 6);
  Array<double, 2> bias({1, 6});
  scheme->FillContextual(kTables, at.Input(query, keys), bias);
  const double expected[] = {
      10 * 5 - 6 + 10 * .5 - .6,  // row difference 1, column difference 0
      10 * 5 - 6 + 10 * .3 - .4,  // 1, -1
      10 * 5 - 6 + 10 * .1 - .2,  // 1, -2
      10 * 3 - 4 + 10 * .5 - .6,  // 0, 0
      10 * 3 - 4 + 10 * .3 - .4,  //
      10 * 3 - 4 + 10 * .1 - .2,
  };
  for (Index j = 0; j < 6; ++j) EXPECT_NEAR(bias(0, j), expected[j], 1e-13) << j;
}

TEST(SamTest, RowsAndColumnsMaySpellThePositions) {
  const SchemePtr scheme = MakeScheme(kSpec);
  Case at(6, 6);
  Random random(2);
  for (double& value : at.query.values()) value = random.Normal();
  Array<std::int64_t, 2> cells({2, 6});
  cells.values() = {0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2};
  const PositionList grid(cells), line = PositionList::Range(0, 6);
  Array<double, 2> of_grid({6, 6}), of_line({6, 6});
  scheme->FillContextual(kTables, at.Input(grid, grid), of_grid);
  scheme->FillContextual(kTables, at.Input(line, line), of_line);
  EXPECT_EQ(of_grid.values(), of_line.values());
}

TEST(SamTest, GradientsByHand) {
  const SchemePtr scheme = MakeScheme(kSpec);
  Case at(1, 2);
  at.query.values() = {10, -1};
  const PositionList query = PositionList::Range(3, 1), keys = PositionList::Range(3, 2);
  Array<double, 2> d_bias({1, 2}), d_query({1, 2}), d_key({2, 2}), d_scores({1, 2});
  d_bias.values() = {2, 3};
  Lists gradients = ZeroWeights(*scheme);
  scheme->BackContextual(kTables, at.Input(query, keys), d_bias,
                         {d_query, d_key, d_scores, gradients});
  EXPECT_EQ(gradients[0], (std::vector<double>{0, 0, 50, -5, 0, 0}));
  EXPECT_EQ(gradients[1], (std::vector<double>{0, 0, 30, -3, 20, -2, 0, 0, 0, 0}));
  EXPECT_NEAR(d_query(0, 0), 2 * 3.5 + 3 * 3.3, 1e-14);
  EXPECT_NEAR(d_query(0, 1), 2 * 4.6 + 3 * 4.4, 1e-14);
  EXPECT_EQ(d_key.values(), std::vector<double>(4));
}

TEST(SamTest, StartsAtZeroAsReleased) {
  Random random(1);
  for (const auto& table : MakeScheme("sam")->InitialWeights(random)) {
    EXPECT_EQ(table, std::vector<double>(table.size()));
  }
}

std::string Refusal(const std::string& spec, const Positions& keys) {
  Case at(1, keys.count());
  Array<double, 2> bias({1, keys.count()});
  const SchemePtr scheme = MakeScheme(spec);
  try {
    scheme->FillContextual(ZeroWeights(*scheme), at.Input(PositionList::Range(0, 1), keys), bias);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SamTest, PositionsOutsideAndOtherHeadsAreErrors) {
  EXPECT_EQ(Refusal(kSpec, PositionList::Range(5, 1)), "accepted");
  EXPECT_TRUE(Refusal(kSpec, PositionList::Range(6, 1))
                  .starts_with("sam: position 6 is outside the window of 2 x 3 cells"));
  EXPECT_EQ(Refusal("sam:head_dim=4", PositionList::Range(0, 1)),
            "sam: head_dim 4 must be that of the queries and keys, 2; set head_dim=2");
}

}  // namespace
}  // namespace sextant
