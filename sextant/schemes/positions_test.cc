// Positions from masks, packed lengths, table rules and grids: what batches and images get wrong.
#include "sextant/schemes/positions.h"

#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Ids = std::vector<std::int64_t>;
using Mask = std::vector<std::uint8_t>;

template <class Make>
std::string Refusal(const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

Ids Axis(const MropePositions& made, Index axis) {
  const auto row = made.positions.view()[axis].span();
  return {row.begin(), row.end()};
}

TEST(PositionsTest, CellsAreCountedRowByRowAlsoBelowZero) {
  const Ids at = {0, 4, 5, 14, -1, -5, -6};
  const GridCell expected[] = {{0, 0}, {0, 4}, {1, 0}, {2, 4}, {-1, 4}, {-1, 0}, {-2, 4}};
  const PositionList list(at);
  for (Index n = 0; n < 7; ++n) {
    const GridCell cell = CellOf(list, n, 5);
    EXPECT_EQ(cell.row, expected[n].row) << n;
    EXPECT_EQ(cell.column, expected[n].column) << n;
  }
  Array<std::int64_t, 2> cells({2, 1});
  cells(0, 0) = 7;
  cells(1, 0) = 9;
  EXPECT_EQ(CellOf(PositionList(cells), 0, 5).row, 7);
  EXPECT_EQ(CellOf(PositionList(cells), 0, 5).column, 9);
}

TEST(PositionsTest, LeftPaddingDoesNotShiftTheTokensAfterIt) {
  EXPECT_EQ(PositionsFromMask(Mask{0, 0, 0, 1, 1, 1, 1}, 1), (Ids{1, 1, 1, 0, 1, 2, 3}));
  EXPECT_EQ(PositionsFromMask(Mask{1, 1, 1, 1, 1, 1, 1}, 1), (Ids{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(PositionsFromMask(Mask{1, 0, 1, 0}, -1), (Ids{0, -1, 1, -1}));
  EXPECT_EQ(PositionsFromMask(Mask{}, 1), Ids{});
  const Ids tokens = {50, 9, 7, 50};
  EXPECT_EQ(MaskFromTokens(tokens, 50), (Mask{0, 1, 1, 0}));
}

// Seven tokens filled, then one at a time: the first decoded token stands at 7, the number of
// tokens seen before it, not at 8 (counted after an update) and not at the rows a cache happens to
// keep.
TEST(PositionsTest, TheTokenAfterSevenStandsAtSevenWhateverTheCacheKeeps) {
  EXPECT_EQ(PositionsFromMask(Mask{1}, 0, 7), Ids{7});
  EXPECT_EQ(PositionsFromMask(Mask{1, 1}, 0, 7), (Ids{7, 8}));
  EXPECT_EQ(PositionsFromMask(Mask{0, 1}, -1, 7), (Ids{-1, 7}));
}

// Prefill and decode read the same tables, in any batch row, for a rule of several axes as well.
TEST(PositionsTest, DecodedTokensTurnAsInThePrefill) {
  for (const std::string spec : {"rope:rotated_dims=16,rule=linear,factor=4",
                                 "rope:rotated_dims=16,axes=interleaved,sections=[4,2,2]"}) {
    const SchemePtr rope = MakeScheme(spec);
    Array<double, 2> whole_cos({10, 8}), whole_sin({10, 8}), cos({1, 8}), sin({1, 8});
    rope->FillRotary({}, PositionList::Range(0, 10), Side::kQuery, whole_cos, whole_sin);
    for (Index step = 7; step < 10; ++step) {
      const Ids at = PositionsFromMask(Mask{1}, 0, step);
      rope->FillRotary({}, PositionList(at, 10), Side::kQuery, cos, sin);
      for (Index i = 0; i < 8; ++i) {
        EXPECT_EQ(cos(0, i), whole_cos(step, i));
        EXPECT_EQ(sin(0, i), whole_sin(step, i));
      }
    }
  }
}

TEST(PositionsTest, MasksOfOtherNumbersAreRefused) {
  EXPECT_EQ(
      Refusal([] {
        PositionsFromMask(Mask{1, 2}, 0);
      }),
      "positions: a mask holds 0 (padding) and 1 (token), got 2; make one from token ids with "
      "MaskFromTokens");
  EXPECT_EQ(Refusal([] { PositionsFromMask(Mask{1}, 0, -1); }),
            "positions: tokens seen before cannot be negative, got -1");
}

TEST(PositionsTest, TheSecondPackedDocumentStartsAnew) {
  const PackedPositions packed = PositionsFromLengths(Ids{0, 20, 40});
  ASSERT_EQ(packed.positions.size(), 40u);
  EXPECT_EQ(packed.positions[19], 19);
  EXPECT_EQ(packed.positions[20], 0);
  EXPECT_EQ(packed.positions[39], 19);
  EXPECT_EQ(packed.sequences[19], 0);
  EXPECT_EQ(packed.sequences[20], 1);
}

TEST(PositionsTest, EmptyDocumentsArePackedAway) {
  const PackedPositions packed = PositionsFromLengths(Ids{0, 2, 2, 3});
  EXPECT_EQ(packed.positions, (Ids{0, 1, 0}));
  EXPECT_EQ(packed.sequences, (std::vector<std::int32_t>{0, 0, 2}));
  EXPECT_TRUE(PositionsFromLengths(Ids{0}).positions.empty());
}

TEST(PositionsTest, LengthsInPlaceOfRunningSumsAreRefused) {
  const std::string rule =
      "positions: starts of packed documents must be running sums from 0 that never fall, up to "
      "2^30, got ";
  const std::string hint = "; lengths 20, 20 are the starts 0, 20, 40";
  EXPECT_EQ(Refusal([] { PositionsFromLengths(Ids{20, 20}); }), rule + "20 first" + hint);
  EXPECT_EQ(Refusal([] { PositionsFromLengths(Ids{0, 20, 15}); }), rule + "15 after 20" + hint);
  EXPECT_EQ(Refusal([] { PositionsFromLengths(Ids{}); }), rule + "none" + hint);
  EXPECT_EQ(Refusal([] {
              PositionsFromLengths(Ids{0, std::int64_t{1} << 40});
            }),
            rule + "1099511627776 after 0" + hint);
}

TEST(PositionsTest, OptReadsTwoRowsOnAndPutsPaddingOnRowOne) {
  EXPECT_EQ(OptRows(Mask{0, 0, 1, 1, 1}, 2050), (Ids{1, 1, 2, 3, 4}));
  EXPECT_EQ(OptRows(Mask(2048, 1), 2050).back(), 2049);
  EXPECT_EQ(
      Refusal([] { OptRows(Mask(2049, 1), 2050); }),
      "OPT rows: token 2049 needs row 2050 of a table of 2050 rows; a table of 2050 rows with "
      "offset 2 serves 2048 tokens");
}

TEST(PositionsTest, RobertaServes512OfIts514RowsAndRefusesToken513) {
  EXPECT_EQ(RobertaRows(Mask{1, 1, 1, 0, 0}, 1, 514), (Ids{2, 3, 4, 1, 1}));
  EXPECT_EQ(RobertaRows(Mask(512, 1), 1, 514).back(), 513);
  EXPECT_EQ(UsablePositions(514, 2), 512);
  EXPECT_EQ(UsablePositions(2050, 2), 2048);
  EXPECT_EQ(UsablePositions(1024, 0), 1024);
  EXPECT_EQ(
      Refusal([] { RobertaRows(Mask(513, 1), 1, 514); }),
      "RoBERTa rows: token 513 needs row 514 of a table of 514 rows; a table of 514 rows with "
      "offset 2 serves 512 tokens");
  // Padding uses no position.
  Mask padded(600, 0);
  std::fill_n(padded.begin(), 512, std::uint8_t{1});
  EXPECT_EQ(RobertaRows(padded, 1, 514).back(), 1);
}

TEST(PositionsTest, RulesOfTablesRefuseWhatCannotBe) {
  EXPECT_EQ(Refusal([] { RobertaRows(Mask{1}, -1, 514); }),
            "RoBERTa rows: pad_id must be from 0 to 2^30 - 1, got -1; RoBERTa's is 1");
  EXPECT_EQ(
      Refusal([] { UsablePositions(2, 2); }),
      "positions: a table of 2 rows with offset 2 serves no position; a table needs its offset "
      "and a row a position: 512 with offset 2 are 514 rows");
  EXPECT_NE(Refusal([] { UsablePositions(2, -1); }), "accepted");
}

// Ten text tokens and an image of 4 x 6 merged patches: what follows is 16 = 10 + max(4, 6), not
// 10 + 24.
TEST(PositionsTest, TextAfterAnImageGoesOnFromItsLongerSideNotFromItsTokens) {
  const MropeBlock blocks[] = {TextBlock{10}, GridBlock{.rows = 4, .columns = 6}, TextBlock{2}};
  const MropePositions made = MropePositionsOf(blocks);
  ASSERT_EQ(made.positions.extent(1), 36);
  const Ids time = Axis(made, 0), rows = Axis(made, 1), columns = Axis(made, 2);
  for (std::size_t n = 0; n < 10; ++n) {
    EXPECT_EQ(time[n], std::int64_t(n));
    EXPECT_EQ(rows[n], std::int64_t(n));
    EXPECT_EQ(columns[n], std::int64_t(n));
  }
  for (std::size_t n = 10; n < 34; ++n) {
    EXPECT_EQ(time[n], 10);
    EXPECT_EQ(rows[n], 10 + std::int64_t(n - 10) / 6);
    EXPECT_EQ(columns[n], 10 + std::int64_t(n - 10) % 6);
  }
  for (std::size_t n : {34, 35}) {
    EXPECT_EQ(time[n], 16 + std::int64_t(n) - 34);
    EXPECT_EQ(rows[n], time[n]);
    EXPECT_EQ(columns[n], time[n]);
  }
  EXPECT_EQ(made.next, 18);
  EXPECT_EQ(made.delta(), 18 - 36);
}

// Qwen2.5-VL: two temporal positions a second, a frame pair each second and a half.
TEST(PositionsTest, FramesOfAVideoStandAtTheirTime) {
  const MropeBlock video[] = {
      TextBlock{5}, GridBlock{.rows = 1, .columns = 2, .frames = 4, .frame_step = 2 * 0.75}};
  const MropePositions timed = MropePositionsOf(video);
  EXPECT_EQ(Axis(timed, 0), (Ids{0, 1, 2, 3, 4, 5, 5, 6, 6, 8, 8, 9, 9}));
  EXPECT_EQ(Axis(timed, 1), (Ids{0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(Axis(timed, 2), (Ids{0, 1, 2, 3, 4, 5, 6, 5, 6, 5, 6, 5, 6}));
  EXPECT_EQ(timed.next, 10);  // one past the last frame, the longest axis
  const MropeBlock plain[] = {GridBlock{.rows = 2, .columns = 1, .frames = 3}};
  EXPECT_EQ(Axis(MropePositionsOf(plain), 0), (Ids{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(MropePositionsOf(plain).next, 3);
}

TEST(PositionsTest, TextAloneIsCountedOnAllAxes) {
  const MropeBlock text[] = {TextBlock{3}, TextBlock{0}, TextBlock{2}};
  const MropePositions made = MropePositionsOf(text);
  for (Index axis = 0; axis < 3; ++axis) EXPECT_EQ(Axis(made, axis), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(made.delta(), 0);
  EXPECT_EQ(MropePositionsOf({}).next, 0);
}

TEST(PositionsTest, BlocksThatCannotBeAreRefused) {
  const auto refusal = [](const MropeBlock& block) {
    return Refusal([&] { MropePositionsOf(std::span(&block, 1)); });
  };
  EXPECT_EQ(refusal(TextBlock{-1}),
            "M-RoPE positions: a text block has from 0 to 2^30 tokens, got -1");
  EXPECT_EQ(refusal(GridBlock{.rows = 0, .columns = 6}),
            "M-RoPE positions: a grid has at least one frame, row and column and at most 2^30 "
            "tokens, got 1 x 0 x 6; rows and columns count merged patches: the patch grid divided "
            "by the merge size");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_NE(refusal(GridBlock{.rows = huge, .columns = huge}), "accepted");
  EXPECT_EQ(refusal(GridBlock{.rows = 1, .columns = 1, .frame_step = -0.5}),
            "M-RoPE positions: frame_step must be a number from 0 to 1e6, got -0.5; it is "
            "tokens_per_second times the seconds between frames");
  const MropeBlock many[] = {TextBlock{std::int64_t{1} << 30}, TextBlock{1}};
  EXPECT_EQ(Refusal([&] { MropePositionsOf(many); }),
            "M-RoPE positions: blocks have more than 2^30 tokens together");
}

}  // namespace
}  // namespace sextant
