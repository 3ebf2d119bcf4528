// Axis layouts: which axis turns which pair in released models, derived from their own formulas.
#include "sextant/schemes/rotary/axes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int n = 0; n < times; ++n) repeated += text;
  return repeated;
}

std::string Interleaved(std::vector<double> sections, int rotated_dims) {
  return AxisLetters(InterleavedAxes{std::move(sections)}, rotated_dims);
}

std::string Sectioned(std::vector<double> sections, int rotated_dims) {
  return AxisLetters(SectionAxes{std::move(sections)}, rotated_dims);
}

struct Table {
  RotaryShape shape;
  Array<double, 2> cos, sin;
};

Table Fill(const std::string& spec, const Positions& positions) {
  const SchemePtr scheme = MakeScheme(spec);
  const RotaryShape shape = scheme->rotary_shape();
  Table table{shape, Array<double, 2>({positions.count(), shape.rotated_dims / 2}), {}};
  table.sin = Array<double, 2>(table.cos.shape());
  scheme->FillRotary({}, positions, Side::kQuery, table.cos, table.sin);
  return table;
}

// One token at the given place on each axis.
PositionList At(const std::vector<std::int64_t>& place) {
  Array<std::int64_t, 2> positions({Index(place.size()), 1});
  positions.values() = place;
  return PositionList(std::move(positions));
}

void ExpectAngles(const std::string& spec, const Positions& positions, Index n,
                  const std::vector<double>& angles) {
  const Table table = Fill(spec, positions);
  ASSERT_EQ(table.cos.extent(1), Index(angles.size())) << spec;
  for (std::size_t i = 0; i < angles.size(); ++i) {
    EXPECT_NEAR(table.cos(n, Index(i)), std::cos(angles[i]), 1e-13) << spec << ", pair " << i;
    EXPECT_NEAR(table.sin(n, Index(i)), std::sin(angles[i]), 1e-13) << spec << ", pair " << i;
  }
}

// theta^-(k / width) for k = 0, 2, ..., as all released code has it.
std::vector<double> Frequencies(double theta, int width) {
  std::vector<double> frequencies;
  for (int k = 0; k < width; k += 2) frequencies.push_back(1 / std::pow(theta, double(k) / width));
  return frequencies;
}

void ExpectRefused(const std::string& spec, const std::string& message) {
  try {
    MakeScheme(spec);
    ADD_FAILURE() << spec << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

TEST(AxesTest, SectionsAreBandsOfTimeRowsAndColumns) {
  EXPECT_EQ(Sectioned({16, 24, 24}, 128), Repeat("T", 16) + Repeat("H", 24) + Repeat("W", 24));
  EXPECT_EQ(Sectioned({8, 12, 12}, 64), Repeat("T", 8) + Repeat("H", 12) + Repeat("W", 12));
  EXPECT_EQ(Sectioned({}, 128), Sectioned({16, 24, 24}, 128));
  EXPECT_EQ(Sectioned({16, 16, 16, 16}, 128),
            Repeat("P", 16) + Repeat("W", 16) + Repeat("H", 16) + Repeat("T", 16));
}

TEST(AxesTest, InterleavedRepeatsTimeRowsColumnsAndEndsOnTime) {
  EXPECT_EQ(Interleaved({24, 20, 20}, 128), Repeat("THW", 20) + "TTTT");
  EXPECT_EQ(Interleaved({11, 11, 10}, 64), Repeat("THW", 10) + "TH");
  EXPECT_EQ(Interleaved({}, 128), Interleaved({24, 20, 20}, 128));
  EXPECT_EQ(AxisLetters(ErnieAxes{{22, 22, 20}}, 128), Repeat("HW", 22) + Repeat("T", 20));
  EXPECT_EQ(AxisLetters(ErnieAxes{}, 128), Repeat("HW", 22) + Repeat("T", 20));
}

// Text cannot tell the layouts apart, so a port with the wrong one passes every test of text.
TEST(AxesTest, BandsAndInterleavedAgreeOnlyOnTwentyOnePairsAndOnAllText) {
  const std::string bands = Sectioned({24, 20, 20}, 128);
  const std::string interleaved = Interleaved({24, 20, 20}, 128);
  int agree = 0;
  for (std::size_t i = 0; i < 64; ++i) agree += bands[i] == interleaved[i];
  EXPECT_EQ(agree, 21);
  const PositionList text = PositionList::Range(0, 40);
  const Table one = Fill("rope:rotated_dims=128", text);
  for (const std::string axes : {"sections,sections=[24,20,20]", "interleaved,sections=[24,20,20]",
                                 "ernie,sections=[22,22,20]", "sections,sections=[16,16,16,16]"}) {
    const Table table = Fill("rope:rotated_dims=128,axes=" + axes, text);
    EXPECT_EQ(table.cos.values(), one.cos.values()) << axes;
    EXPECT_EQ(table.sin.values(), one.sin.values()) << axes;
  }
}

TEST(AxesTest, EqualAxesAreTextAndOtherwiseEachBandHasItsOwn) {
  const std::vector<double> w = Frequencies(1e6, 128);
  const std::string spec = "rope:rotated_dims=128,base=1000000,axes=sections,sections=[16,24,24]";
  std::vector<double> text, image;
  for (std::size_t i = 0; i < 64; ++i) {
    text.push_back(37 * w[i]);
    image.push_back((i < 16 ? 10 : i < 40 ? 13 : 15) * w[i]);
  }
  ExpectAngles(spec, At({37, 37, 37}), 0, text);
  ExpectAngles(spec, At({10, 13, 15}), 0, image);
}

// llama.cpp sends pairs 61 and 62 to a fourth axis that is 0 in text; Qwen3-VL turns them by time.
TEST(AxesTest, PairsPastTheLastColumnTurnByTimeInInterleaved) {
  const std::vector<double> w = Frequencies(5e6, 128);
  std::vector<double> angles;
  for (std::size_t i = 0; i < 64; ++i) angles.push_back(4000 * w[i]);
  for (std::size_t k = 1; k < 60; k += 3) angles[k] = 21 * w[k];   // slice(1, 60, 3): rows
  for (std::size_t k = 2; k < 60; k += 3) angles[k] = 300 * w[k];  // slice(2, 60, 3): columns
  EXPECT_EQ(angles[61], 4000 * w[61]);
  EXPECT_EQ(angles[62], 4000 * w[62]);
  ExpectAngles("rope:rotated_dims=128,base=5000000,axes=interleaved,sections=[24,20,20]",
               At({4000, 21, 300}), 0, angles);
}

// ERNIE-4.5-VL: the frequencies before the last 20 alternate rows and columns.
TEST(AxesTest, ErnieWritesTimeLastInSectionsAndFirstInPositions) {
  const std::vector<double> w = Frequencies(5e5, 128);
  std::vector<double> angles;
  for (std::size_t k = 0; k < 22; ++k) {
    angles.push_back(7 * w[2 * k]);       // freq_h: even places of inv_freq[:44]
    angles.push_back(11 * w[2 * k + 1]);  // freq_w: odd places
  }
  for (std::size_t k = 44; k < 64; ++k) angles.push_back(5 * w[k]);
  ExpectAngles("rope:rotated_dims=128,base=500000,pairing=adjacent,axes=ernie,sections=[22,22,20]",
               At({5, 7, 11}), 0, angles);
}

TEST(AxesTest, FourSectionsAreTextColumnsRowsTime) {
  const std::vector<double> w = Frequencies(1e4, 16);
  std::vector<double> angles;
  const double place[] = {100, 3, 2, 1};
  for (std::size_t i = 0; i < 8; ++i) angles.push_back(place[i / 2] * w[i]);
  ExpectAngles("rope:rotated_dims=16,axes=sections,sections=[2,2,2,2]", At({100, 3, 2, 1}), 0,
               angles);
}

// Pixtral: rows have the even places of the whole list, columns the odd ones, rows first.
TEST(AxesTest, PixtralSplitsOneListBetweenRowsAndColumns) {
  const std::vector<double> w = Frequencies(1e4, 64);
  std::vector<double> angles;
  for (std::size_t k = 0; k < 32; k += 2) angles.push_back(3 * w[k]);
  for (std::size_t k = 1; k < 32; k += 2) angles.push_back(9 * w[k]);
  ExpectAngles("rope:rotated_dims=64,axes=grid,axis_frequencies=split", At({3, 9}), 0, angles);
  const PositionList raster = PositionList::Range(3 * 64 + 9, 1);
  ExpectAngles("rope:rotated_dims=64,axes=grid,axis_frequencies=split,width=64", raster, 0, angles);
}

// Qwen2-VL's ViT, head of 80: VisionRotaryEmbedding(40) gives 20 frequencies to rows and columns.
TEST(AxesTest, Qwen2VisionGivesRowsAndColumnsTheSameFrequencies) {
  std::vector<double> angles;
  for (const double place : {5.0, 8.0}) {
    for (int k = 0; k < 40; k += 2) angles.push_back(place / std::pow(1e4, k / 40.0));
  }
  ExpectAngles("rope:rotated_dims=80,axes=grid", At({5, 8}), 0, angles);
}

// Llama-4's ViT: x = cell % side + 1, then y = cell / side + 1; the class token turns by nothing.
TEST(AxesTest, Llama4VisionCountsFromOneColumnsFirstAndLeavesTheClassTokenStill) {
  const std::string spec =
      "rope:rotated_dims=88,pairing=adjacent,axes=grid,order=columns_first,offset=1,width=24";
  const int cell = 110, side = 24;
  std::vector<double> angles;
  for (const int place : {cell % side + 1, cell / side + 1}) {
    for (const double frequency : Frequencies(1e4, 44)) angles.push_back(place * frequency);
  }
  ExpectAngles(spec, PositionList::Range(cell, 1), 0, angles);
  ExpectAngles(spec, At({-1, -1}), 0, std::vector<double>(44, 0.0));
}

// Gemma-4's ViT: cos and sin of [f, f] for x, then for y, each rotated in its own half of the head.
TEST(AxesTest, Gemma4VisionTurnsEachHalfOfTheHeadByItself) {
  const std::string spec =
      "rope:rotated_dims=72,base=100,axes=grid,order=columns_first,blocks=each_axis";
  const std::vector<double> w = Frequencies(100, 36);
  std::vector<double> angles;
  for (const double place : {13.0, 4.0}) {
    for (const double frequency : w) angles.push_back(place * frequency);
  }
  ExpectAngles(spec, At({4, 13}), 0, angles);
  const RotaryShape shape = MakeScheme(spec)->rotary_shape();
  EXPECT_EQ(shape.blocks, 2);
  for (Index pair : {0, 17, 18, 35}) {
    const Index first = pair < 18 ? pair : 36 + pair - 18;
    EXPECT_EQ(ChannelsOf(shape, pair).read0, first);
    EXPECT_EQ(ChannelsOf(shape, pair).read1, first + 18);
  }
  EXPECT_EQ(MakeScheme("rope:rotated_dims=72,axes=grid")->rotary_shape().blocks, 1);
}

// MoonViT: theta^-(4k / d) for columns and rows in turn.
TEST(AxesTest, KimiAlternatesColumnsAndRows) {
  std::vector<double> angles;
  for (int k = 0; k < 72; k += 4) {
    const double frequency = 1 / std::pow(1e4, k / 72.0);
    angles.push_back(6 * frequency);
    angles.push_back(2 * frequency);
  }
  ExpectAngles(
      "rope:rotated_dims=72,pairing=adjacent,axes=grid,order=columns_first,spread=alternate",
      At({2, 6}), 0, angles);
}

// DINOv3: patch centres in [-1, 1] times 2 pi, frequencies 100^-(4k / d), rows then columns.
TEST(AxesTest, DinoTurnsByThePlaceInTheImageNotByTheCell) {
  const int rows = 14, columns = 20;
  std::vector<double> angles;
  for (const double centre : {(3 + 0.5) / rows, (17 + 0.5) / columns}) {
    for (int k = 0; k < 16; ++k) {
      const double frequency = 1 / std::pow(100, k * 4 / 64.0);
      angles.push_back(2 * std::numbers::pi * (2 * centre - 1) * frequency);
    }
  }
  const std::string spec =
      "rope:rotated_dims=64,base=100,axes=grid,coordinates=unit,height=14,width=20";
  ExpectAngles(spec, At({3, 17}), 0, angles);
  ExpectAngles(spec, PositionList::Range(3 * columns + 17, 1), 0, angles);
}

TEST(AxesTest, GridsTurnChannelsByFours) {
  EXPECT_EQ(MakeScheme("rope:rotated_dims=6,axes=grid")->rotary_shape().rotated_dims, 4);
  EXPECT_EQ(MakeScheme("rope:rotated_dims=8,axes=grid")->rotary_shape().rotated_dims, 8);
  EXPECT_EQ(FrequencyDims(GridAxes{}, 8), 4);
  EXPECT_EQ(FrequencyDims(GridAxes{.axis_frequencies = GridFrequencies::kSplit}, 8), 8);
  EXPECT_EQ(FrequencyDims(SectionAxes{}, 8), 8);
}

TEST(AxesTest, GridsAreNotRelativeToTheNumberOfTheCell) {
  EXPECT_FALSE(MakeScheme("rope:axes=grid")->claims().relative);
  EXPECT_TRUE(MakeScheme("rope:axes=grid,width=1")->claims().relative);
  EXPECT_TRUE(MakeScheme("rope:axes=sections")->claims().relative);
  EXPECT_TRUE(MakeScheme("rope:axes=interleaved")->claims().relative);
}

TEST(AxesTest, SectionsThatDoNotAddUpSayWhatIsMeant) {
  const std::string bands =
      "rope: axes.sections must be whole numbers that add up to the 64 pairs of rotated_dims=128 "
      "(time, rows, columns), got ";
  ExpectRefused("rope:rotated_dims=128,axes=sections,sections=[32,48,48]",
                bands + "[32,48,48]; sections count pairs, not channels: did you mean [16,24,24]?");
  ExpectRefused("rope:rotated_dims=128,axes=sections,sections=[0.25,0.375,0.375]",
                bands +
                    "[0.25,0.375,0.375]; sections count pairs, not shares of them: did you mean "
                    "[16,24,24]?");
  ExpectRefused("rope:rotated_dims=128,axes=sections,sections=[8,12,12]",
                bands + "[8,12,12]; these sections fit rotated_dims=64");
  ExpectRefused("rope:rotated_dims=128,axes=interleaved,sections=[24.5,20,20]",
                bands +
                    "[24.5,20,20]; released models of 64 pairs have [16,24,24] (sections), "
                    "[24,20,20] (interleaved) or [22,22,20] (ernie)");
  ExpectRefused("rope:rotated_dims=128,axes=sections,sections=[64,0]",
                "rope: axes.sections must name 3 or 4 axes, got [64,0]; for rows and columns alone "
                "use axes=grid");
  ExpectRefused("rope:rotated_dims=128,axes=sections,sections=[64]",
                "rope: axes.sections must name 3 or 4 axes, got [64]; for one axis use axes=text");
  ExpectRefused("rope:rotated_dims=128,axes=sections,sections=[1,1,1,1,1,1,1,1,1,1]",
                "rope: axes.sections must name 3 or 4 axes, got [1,1,1,1,1,1,1,1] and 2 more; for "
                "one axis use axes=text");
  ExpectRefused(
      "rope:rotated_dims=128,axes=interleaved,sections=[16,16,16,16]",
      "rope: axes.sections must name 3 axes (time, rows, columns), got [16,16,16,16]; four "
      "axes are laid out by axes=sections");
  ExpectRefused("rope:axes=sections,sections=[-1,0,33]",
                "rope: axes.sections must be a list of numbers from 0 to 2048, got -1");
}

TEST(AxesTest, BandsGivenToInterleavedAreRefused) {
  ExpectRefused("rope:rotated_dims=128,axes=interleaved,sections=[16,24,24]",
                "rope: axes=interleaved has room for 21 pairs of rows among 64, got axes.sections "
                "[16,24,24]; contiguous bands like Qwen2-VL's [16,24,24] are axes=sections");
  ExpectRefused(
      "rope:rotated_dims=128,axes=interleaved,sections=[21,21,22]",
      "rope: axes=interleaved has room for 21 pairs of columns among 64, got axes.sections "
      "[21,21,22]; contiguous bands like Qwen2-VL's [16,24,24] are axes=sections");
}

TEST(AxesTest, ErnieInTheOrderOfOthersIsRefused) {
  ExpectRefused(
      "rope:rotated_dims=128,axes=ernie,sections=[20,22,22]",
      "rope: axes=ernie alternates rows and columns, so their sections must be equal, got "
      "axes.sections [20,22,22]; time stands last: did you mean [22,22,20]?");
  ExpectRefused(
      "rope:rotated_dims=128,axes=ernie,sections=[20,24,20]",
      "rope: axes=ernie alternates rows and columns, so their sections must be equal, got "
      "axes.sections [20,24,20]; the order is rows, columns, time, like [22,22,20]");
}

TEST(AxesTest, GridSettingsThatCannotBeAreRefused) {
  ExpectRefused("rope:rotated_dims=2,axes=grid",
                "rope: axes=grid needs at least 4 rotated channels, a pair for rows and a pair for "
                "columns, got rotated_dims=2; set rotated_dims to a multiple of 4");
  ExpectRefused("rope:axes=grid,blocks=each_axis,spread=alternate",
                "rope: axes.blocks=each_axis keeps each axis in a half of its own, got "
                "axes.spread=alternate, which mixes them; use spread=bands (Gemma-4), or "
                "blocks=whole (Kimi)");
  ExpectRefused("rope:axes=grid,width=0",
                "rope: axes.width must be a whole number from 1 to 65536, got 0");
  ExpectRefused("rope:axes=grid,height=0",
                "rope: axes.height must be a whole number from 1 to 65536, got 0");
  ExpectRefused("rope:axes=grid,offset=-1",
                "rope: axes.offset must be a whole number from 0 to 4096, got -1");
  for (const std::string setting :
       {"order", "spread", "axis_frequencies", "blocks", "coordinates"}) {
    EXPECT_THROW(MakeScheme("rope:axes=grid," + setting + "=none"), Error) << setting;
  }
  EXPECT_THROW(MakeScheme("rope:axes=mrope"), Error);
}

TEST(AxesTest, PositionsOfOtherAxesAreRefused) {
  const auto refusal = [](const std::string& axes, const std::vector<std::int64_t>& place) {
    try {
      Fill("rope:rotated_dims=16,axes=" + axes, At(place));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("sections,sections=[2,2,2,2]", {1, 2, 3}),
            "rope: axes.sections name 4 axes, got positions of 3; give a row of positions for each "
            "axis, or one row for text");
  EXPECT_EQ(refusal("interleaved", {9, 1, 2, 3}),
            "rope: axes.sections name 3 axes, got positions of 4; leave out rows that are no axis, "
            "like the text row some programs keep beside time, rows and columns");
  EXPECT_EQ(refusal("grid", {1, 2, 3}),
            "rope: axes=grid reads positions of 2 axes (row, column) or 1 (cells row by row), got "
            "3; time, rows and columns are axes=sections, interleaved or ernie");
  EXPECT_EQ(refusal("text", {1, 2, 3}), "accepted");
}

}  // namespace
}  // namespace sextant
