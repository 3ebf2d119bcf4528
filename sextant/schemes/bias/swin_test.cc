// Swin: the index of the released code, the two spellings of positions, and the window's edge.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// All cells of a window as rows and columns.
Array<std::int64_t, 2> Cells(Index height, Index width) {
  Array<std::int64_t, 2> cells({2, height * width});
  for (Index n = 0; n < height * width; ++n) {
    cells(0, n) = n / width;
    cells(1, n) = n % width;
  }
  return cells;
}

Array<double, 3> Numbered(const SchemePtr& scheme, const Positions& at) {
  Lists weights = ZeroWeights(*scheme);
  for (std::size_t n = 0; n < weights[0].size(); ++n) weights[0][n] = double(n);
  Array<double, 3> bias({scheme->bias_heads(), at.count(), at.count()});
  scheme->FillTileBias(weights, at, at, bias);
  return bias;
}

// relative_position_index by its own steps: differences shifted to start at 0, rows times
// 2 width - 1, summed.
TEST(SwinTest, TheTablesRowIsRelativePositionIndex) {
  for (const auto& [height, width] : {std::pair<Index, Index>{2, 2}, {2, 3}, {7, 7}, {4, 1}}) {
    const SchemePtr scheme = MakeScheme("swin:heads=1,height=" + std::to_string(height) +
                                        ",width=" + std::to_string(width));
    EXPECT_EQ(scheme->weights()[0].shape,
              (std::vector<Index>{(2 * height - 1) * (2 * width - 1), 1}));
    const Array<double, 3> bias =
        Numbered(scheme, PositionList(Cells(height, width), height * width));
    for (Index i = 0; i < height * width; ++i) {
      for (Index j = 0; j < height * width; ++j) {
        Index rows = i / width - j / width, columns = i % width - j % width;
        rows += height - 1;
        columns += width - 1;
        rows *= 2 * width - 1;
        EXPECT_EQ(bias(0, i, j), double(rows + columns)) << height << "x" << width;
      }
    }
  }
  // The 2 x 2 window of the paper's figure: the corners of its 3 x 3 table.
  const Array<double, 3> small =
      Numbered(MakeScheme("swin:heads=1,height=2,width=2"), PositionList(Cells(2, 2), 4));
  EXPECT_EQ(small.values(), (std::vector<double>{4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4}));
}

TEST(SwinTest, ALoneAxisCountsTheCellsRowByRow) {
  const SchemePtr scheme = MakeScheme("swin:heads=2,height=3,width=4");
  EXPECT_EQ(Numbered(scheme, PositionList::Range(0, 12)).values(),
            Numbered(scheme, PositionList(Cells(3, 4), 12)).values());
}

std::string Refusal(const std::string& spec, const Positions& at) {
  try {
    Numbered(MakeScheme(spec), at);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SwinTest, PositionsOutsideTheWindowAreErrorsThatNameThem) {
  EXPECT_EQ(Refusal("swin:height=3,width=4", PositionList::Range(11, 1)), "accepted");
  EXPECT_TRUE(Refusal("swin:height=3,width=4", PositionList::Range(12, 1))
                  .starts_with("swin: position 12 is outside the window of 3 x 4 cells (0 to 11, "
                               "row by row); give height and width"));
  EXPECT_TRUE(Refusal("swin:height=3,width=4", PositionList::Range(-1, 1))
                  .starts_with("swin: position -1 is outside the window"));
  Array<std::int64_t, 2> cell({2, 1});
  cell(0, 0) = 1;
  cell(1, 0) = 4;
  EXPECT_TRUE(Refusal("swin:height=3,width=4", PositionList(cell, 12))
                  .starts_with("swin: row 1, column 4 is outside the window of 3 x 4 cells"));
}

TEST(SwinTest, EveryCellAtADifferenceAddsToItsGradient) {
  const SchemePtr scheme = MakeScheme("swin:heads=1,height=2,width=2");
  Lists gradients = ZeroWeights(*scheme);
  gradients[0][4] = 0.5;
  Array<double, 3> d_bias({1, 4, 4});
  d_bias.values().assign(16, 1);
  scheme->BackTileBias(ZeroWeights(*scheme), PositionList::Range(0, 4), PositionList::Range(0, 4),
                       d_bias, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{1, 2, 1, 2, 4.5, 2, 1, 2, 1}));
}

}  // namespace
}  // namespace sextant
