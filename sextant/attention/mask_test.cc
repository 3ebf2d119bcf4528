// Masks: each condition alone, all together, and spans that do not fit.
#include "sextant/attention/mask.h"

#include <gtest/gtest.h>

#include "sextant/core/error.h"

namespace sextant {
namespace {

// Rows of '1' and '0', one a query.
std::vector<std::string> Rows(const AttentionMask& mask, const Positions& queries,
                              const Positions& keys) {
  const Array<std::uint8_t, 2> visible = VisibleKeys(mask, queries, keys);
  std::vector<std::string> rows;
  for (Index i = 0; i < queries.count(); ++i) {
    std::string& row = rows.emplace_back();
    for (Index j = 0; j < keys.count(); ++j) row += visible(i, j) ? '1' : '0';
  }
  return rows;
}

using Strings = std::vector<std::string>;
const PositionList kFour = PositionList::Range(0, 4);

TEST(MaskTest, WithoutConditionsEveryKeyIsSeen) {
  EXPECT_EQ(Rows({}, kFour, kFour), Strings(4, "1111"));
}

TEST(MaskTest, CausalComparesPositionsNotIndices) {
  EXPECT_EQ(Rows({.causal = true}, kFour, kFour), (Strings{"1000", "1100", "1110", "1111"}));
  const std::vector<std::int64_t> mixed = {3, 0, 2, 1};
  EXPECT_EQ(Rows({.causal = true}, PositionList(mixed), kFour),
            (Strings{"1111", "1000", "1110", "1100"}));
  EXPECT_EQ(Rows({.causal = true}, PositionList::Range(1 << 20, 2), kFour), Strings(2, "1111"));
}

TEST(MaskTest, AWindowReachesBothWaysAndExcludesItsWidth) {
  EXPECT_EQ(Rows({.window = 1}, kFour, kFour), (Strings{"1000", "0100", "0010", "0001"}));
  EXPECT_EQ(Rows({.window = 2}, kFour, kFour), (Strings{"1100", "1110", "0111", "0011"}));
  EXPECT_EQ(Rows({.causal = true, .window = 2}, kFour, kFour),
            (Strings{"1000", "1100", "0110", "0011"}));
}

TEST(MaskTest, PaddedKeysAreNotSeen) {
  const std::vector<std::uint8_t> valid = {0, 1, 255, 0};
  EXPECT_EQ(Rows({.key_valid = valid}, kFour, kFour), Strings(4, "0110"));
  EXPECT_EQ(Rows({.causal = true, .key_valid = valid}, kFour, kFour),
            (Strings{"0000", "0100", "0110", "0110"}));
}

TEST(MaskTest, PackedSequencesSeeTheirOwnKeys) {
  const std::vector<std::int32_t> keys = {0, 0, 7, 7}, queries = {7, 0};
  EXPECT_EQ(
      Rows({.query_sequence = queries, .key_sequence = keys}, PositionList::Range(0, 2), kFour),
      (Strings{"0011", "1100"}));
}

TEST(MaskTest, SpansThatDoNotFitAreRefused) {
  const std::vector<std::uint8_t> valid(3, 1);
  const std::vector<std::int32_t> three(3), four(4);
  EXPECT_THROW(VisibleKeys({.key_valid = valid}, kFour, kFour), Error);
  EXPECT_THROW(VisibleKeys({.query_sequence = four}, kFour, kFour), Error);
  EXPECT_THROW(VisibleKeys({.key_sequence = four}, kFour, kFour), Error);
  EXPECT_THROW(VisibleKeys({.query_sequence = four, .key_sequence = three}, kFour, kFour), Error);
  EXPECT_THROW(VisibleKeys({.query_sequence = three, .key_sequence = four}, kFour, kFour), Error);
  EXPECT_THROW(VisibleKeys({.window = -1}, kFour, kFour), Error);
}

TEST(MaskTest, NoQueriesOrNoKeysHaveNoSequences) {
  const PositionList none = PositionList::Range(0, 0);
  const std::vector<std::int32_t> four(4);
  EXPECT_EQ(VisibleKeys({.key_sequence = four}, none, kFour).shape(), (Shape<2>{0, 4}));
  EXPECT_EQ(VisibleKeys({.query_sequence = four}, kFour, none).shape(), (Shape<2>{4, 0}));
}

TEST(MaskTest, CellsHideOneByOne) {
  Array<std::uint8_t, 2> cells({2, 3});
  cells.values() = {1, 0, 1, 1, 1, 0};
  AttentionMask mask;
  mask.cells = cells;
  const PositionList queries = PositionList::Range(5, 2), keys = PositionList::Range(4, 3);
  EXPECT_EQ(VisibleKeys(mask, queries, keys).values(), cells.values());
  mask.causal = true;
  EXPECT_EQ(VisibleKeys(mask, queries, keys).values(),
            (std::vector<std::uint8_t>{1, 0, 0, 1, 1, 0}));
  EXPECT_THROW(VisibleKeys(mask, keys, keys), Error);
}

}  // namespace
}  // namespace sextant
