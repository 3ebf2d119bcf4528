// Axis layouts of rotary schemes: which axis of a position turns each channel pair, and how fast.
//
//   angle of pair i = coordinate[source[i].axis] * inv_freq[source[i].frequency]
//
// "interleaved" and "alternate" speak of axes here, never of which two channels make a pair: that
// is the pairing (halves, adjacent).
//
// Settings that give released models (r: head_dim):
//   Qwen2-VL, Qwen2.5-VL   axes=sections,sections=[16,24,24]     halves     T x16, H x24, W x24
//   GLM-4V                 axes=sections,sections=[8,12,12]      adjacent, rotated_dims=64 of 128
//   HunYuan-VL (XD-RoPE)   axes=sections, four sections          halves     text, W, H, T
//   Qwen3-VL               axes=interleaved,sections=[24,20,20]  halves     THW x20, TTTT
//   Qwen3.5                axes=interleaved,sections=[11,11,10]  halves, a quarter of the head
//   ERNIE-4.5-VL           axes=ernie,sections=[22,22,20]        adjacent   HW x22, T x20
//   Qwen2-VL's ViT         axes=grid                                                    halves
//   Pixtral                axes=grid,axis_frequencies=split                             halves
//   Llama-4's ViT          axes=grid,order=columns_first,offset=1                       adjacent
//   Gemma-4's ViT          axes=grid,order=columns_first,blocks=each_axis,base=100      halves
//   Kimi-VL's MoonViT      axes=grid,order=columns_first,spread=alternate               adjacent
//   DINOv3                 axes=grid,coordinates=unit,base=100                          halves
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sextant/core/parameter.h"
#include "sextant/schemes/scheme.h"

namespace sextant {

// Where the angle of a pair comes from: an axis and a place in the frequency rule's list.
struct PairSource {
  Index axis = 0;
  Index frequency = 0;
};

// Axis 0 turns every pair; other axes are not read.  Su et al. 2021, arXiv 2104.09864.
struct TextAxes {
  static constexpr const char* rule = "text";
  void fields(auto&) {}
};

// A contiguous band of pairs for each axis, lowest axis first: M-RoPE and XD-RoPE.
// Wang et al. 2024, arXiv 2409.12191, section 2.1 (Qwen2-VL).
struct SectionAxes {
  static constexpr const char* rule = "sections";
  std::vector<double> sections;

  void fields(auto& field) {
    field("sections", sections, 0, 2048,
          "pairs of each axis, adding up to rotated_dims / 2: time, rows, columns (3), or text, "
          "columns, rows, time (4, XD-RoPE); []: 1/4, 3/8 and 3/8 of the pairs as in Qwen2-VL");
  }
};

// Axis 0 turns every pair but i % 3 == 1, i < 3 sections[1] (axis 1) and i % 3 == 2,
// i < 3 sections[2] (axis 2), so that each axis has slow and fast pairs.  Qwen3-VL.
struct InterleavedAxes {
  static constexpr const char* rule = "interleaved";
  std::vector<double> sections;

  void fields(auto& field) {
    field("sections", sections, 0, 2048,
          "pairs of time, rows and columns, adding up to rotated_dims / 2; []: 3/8, 5/16 and 5/16 "
          "of the pairs as in Qwen3-VL");
  }
};

// The first pairs alternate rows and columns, the slow last ones turn by time.  ERNIE-4.5-VL.
// Sections are written rows, columns, time as in its configuration; positions keep the order of
// the other layouts: axis 0 is time, 1 rows, 2 columns.
struct ErnieAxes {
  static constexpr const char* rule = "ernie";
  std::vector<double> sections;

  void fields(auto& field) {
    field("sections", sections, 0, 2048,
          "pairs of rows, columns (as many) and time, in this order, adding up to rotated_dims / "
          "2; []: as in ERNIE-4.5-VL, 22 : 22 : 20");
  }
};

enum class GridOrder { kRowsFirst, kColumnsFirst };
enum class GridSpread { kBands, kAlternate };
enum class GridFrequencies { kShared, kSplit };
enum class GridBlocks { kWhole, kEachAxis };
enum class GridCoordinates { kCells, kUnit };

// Half of the pairs turn by the row of a cell, half by its column.  Positions of two axes are (row,
// column); a lone axis counts cells row by row over `width` columns (CellOf).  Channels turn by
// fours: of rotated_dims = 4k + 2 the last two stay still.
struct GridAxes {
  static constexpr const char* rule = "grid";
  static constexpr Choice<GridOrder> kOrders[] = {{"rows_first", GridOrder::kRowsFirst},
                                                  {"columns_first", GridOrder::kColumnsFirst}};
  static constexpr Choice<GridSpread> kSpreads[] = {{"bands", GridSpread::kBands},
                                                    {"alternate", GridSpread::kAlternate}};
  static constexpr Choice<GridFrequencies> kFrequencies[] = {{"shared", GridFrequencies::kShared},
                                                             {"split", GridFrequencies::kSplit}};
  static constexpr Choice<GridBlocks> kBlocks[] = {{"whole", GridBlocks::kWhole},
                                                   {"each_axis", GridBlocks::kEachAxis}};
  static constexpr Choice<GridCoordinates> kCoordinates[] = {{"cells", GridCoordinates::kCells},
                                                             {"unit", GridCoordinates::kUnit}};
  int width = 16;
  int height = 16;
  GridOrder order = GridOrder::kRowsFirst;
  GridSpread spread = GridSpread::kBands;
  GridFrequencies axis_frequencies = GridFrequencies::kShared;
  GridBlocks blocks = GridBlocks::kWhole;
  GridCoordinates coordinates = GridCoordinates::kCells;
  int offset = 0;

  void fields(auto& field) {
    field("width", width, 1, 65536, "columns of the grid");
    field("height", height, 1, 65536, "rows of the grid (read with coordinates=unit)");
    field("order", order, kOrders, "the axis of the first pairs");
    field("spread", spread, kSpreads, "first half and second half, or one pair of each in turn");
    field("axis_frequencies", axis_frequencies, kFrequencies,
          "every axis has the list of rotated_dims / 2 channels, or the first axis the even and "
          "the second the odd places of the full list (Pixtral)");
    field("blocks", blocks, kBlocks,
          "pairs are made in all rotated channels, or in the half of each axis (Gemma-4)");
    field("coordinates", coordinates, kCoordinates,
          "row and column, or 2 pi (2 (row + 1/2) / height - 1) and likewise columns (DINOv3)");
    field("offset", offset, 0, 4096, "added to rows and columns (Llama-4: 1)");
  }
};

using AxisLayout = std::variant<TextAxes, SectionAxes, InterleavedAxes, ErnieAxes, GridAxes>;

// Throws Error where the layout's settings do not go together or do not fit rotated_dims (even),
// saying what is probably meant. The other functions take layouts that passed.
void CheckAxes(std::string_view where, const AxisLayout& layout, int rotated_dims);

// The channels that turn: rotated_dims, or the multiple of 4 below it for grids.
int TurnedDims(const AxisLayout& layout, int rotated_dims);
// The width to ask a frequency rule for: TurnedDims, or half of it for grids whose axes share.
int FrequencyDims(const AxisLayout& layout, int rotated_dims);
// RotaryShape::blocks.
Index AxisBlocks(const AxisLayout& layout);
// A source for each of the TurnedDims / 2 pairs.
std::vector<PairSource> PairSources(const AxisLayout& layout, int rotated_dims);

// Coordinates [axes, n] that sources refer to. A lone axis of positions serves all of them (text),
// or counts cells (grid). Throws Error where positions have another number of axes.
Array<double, 2> AxisCoordinates(std::string_view where, const AxisLayout& layout,
                                 const Positions& positions);

// Whether scores depend on the distance alone where positions have one axis: true for all but grids
// of several columns, whose cells next to each other in number lie rows apart.
bool RelativeInOneAxis(const AxisLayout& layout);

// A letter for each pair, for people and tests: T time, H rows, W columns, P text.
//   Qwen2-VL "TTTTTTTTTTTTTTTTHHH..."   Qwen3-VL "THWTHW...TTTT"
std::string AxisLetters(const AxisLayout& layout, int rotated_dims);

}  // namespace sextant
