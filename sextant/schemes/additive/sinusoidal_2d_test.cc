// Sinusoidal positions of grids, against derivations from the released code of DETR and MAE.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

Array<double, 2> Rows(const std::string& spec, const Positions& positions) {
  const SchemePtr scheme = MakeScheme(spec);
  Array<double, 2> rows({positions.count(), scheme->model_dim()});
  scheme->FillAdditive({}, positions, rows);
  return rows;
}

// PositionEmbeddingSine: channel c of an axis is divided by temperature^(2 (c // 2) / features),
// even channels are sines, odd ones cosines; rows come first.
std::vector<double> Detr(double y, double x, int model_dim) {
  std::vector<double> row;
  const int features = model_dim / 2;
  for (const double coordinate : {y, x}) {
    for (int c = 0; c < features; ++c) {
      const double angle = coordinate / std::pow(1e4, 2.0 * (c / 2) / features);
      row.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return row;
}

// get_1d_sincos_pos_embed_from_grid: omega_k = 10000^-(k / (D / 2)), sines then cosines.
void Append1d(double coordinate, int width, std::vector<double>& row) {
  for (const bool sine : {true, false}) {
    for (int k = 0; k < width / 2; ++k) {
      const double angle = coordinate / std::pow(1e4, k / (width / 2.0));
      row.push_back(sine ? std::sin(angle) : std::cos(angle));
    }
  }
}

void ExpectRow(const Array<double, 2>& rows, Index n, const std::vector<double>& expected) {
  ASSERT_EQ(rows.extent(1), Index(expected.size()));
  for (Index c = 0; c < rows.extent(1); ++c) {
    EXPECT_NEAR(rows(n, c), expected[std::size_t(c)], 1e-14) << "row " << n << ", channel " << c;
  }
}

TEST(Sinusoidal2dTest, DetrDividesCountedCellsByTheGridAndPutsRowsFirst) {
  const double eps = 1e-6, circle = 2 * std::numbers::pi;
  const Array<double, 2> rows =
      Rows("sinusoidal-2d:model_dim=16,width=5,height=3", PositionList::Range(0, 15));
  for (int cell = 0; cell < 15; ++cell) {
    const double y = (cell / 5 + 1) / (3 + eps) * circle, x = (cell % 5 + 1) / (5 + eps) * circle;
    ExpectRow(rows, cell, Detr(y, x, 16));
  }
}

TEST(Sinusoidal2dTest, DetrWithoutNormalizationCountsCellsFromOne) {
  const Array<double, 2> rows =
      Rows("sinusoidal-2d:model_dim=8,width=4,coordinates=cells", PositionList::Range(0, 12));
  for (int cell = 0; cell < 12; ++cell) ExpectRow(rows, cell, Detr(cell / 4 + 1, cell % 4 + 1, 8));
}

TEST(Sinusoidal2dTest, ScaleIsTheCoordinateOfTheLastCell) {
  const Array<double, 2> rows =
      Rows("sinusoidal-2d:model_dim=4,width=2,height=2,scale=3", PositionList::Range(3, 1));
  EXPECT_NEAR(rows(0, 0), std::sin(3.0), 2e-6);
  EXPECT_NEAR(rows(0, 3), std::cos(3.0), 2e-6);
}

TEST(Sinusoidal2dTest, MaePutsColumnsFirstAndSinesBeforeCosines) {
  const Array<double, 2> rows =
      Rows("sinusoidal-2d:form=mae,model_dim=16,width=5", PositionList::Range(0, 15));
  for (int cell = 0; cell < 15; ++cell) {
    std::vector<double> expected;
    Append1d(cell % 5, 8, expected);
    Append1d(cell / 5, 8, expected);
    ExpectRow(rows, cell, expected);
  }
}

TEST(Sinusoidal2dTest, TwoAxesAreRowAndColumn) {
  Array<std::int64_t, 2> cells({2, 1});
  cells(0, 0) = 2;
  cells(1, 0) = 3;
  for (const std::string form : {"detr", "mae"}) {
    const std::string spec = "sinusoidal-2d:model_dim=12,width=5,height=4,form=" + form;
    EXPECT_EQ(Rows(spec, PositionList(cells)).values(),
              Rows(spec, PositionList::Range(13, 1)).values());
  }
}

TEST(Sinusoidal2dTest, ErrorToTwoToTheTwenty) {
  Array<std::int64_t, 2> cells({2, 3});
  cells.values() = {1 << 20, 131071, 999999, 4095, 1 << 20, 131071};
  const Array<double, 2> rows = Rows("sinusoidal-2d:form=mae,model_dim=128", PositionList(cells));
  double worst = 0;
  for (Index n = 0; n < 3; ++n) {
    for (int k = 0; k < 32; ++k) {
      for (const bool column : {true, false}) {
        const long double angle = static_cast<long double>(cells(column ? 1 : 0, n)) *
                                  std::pow(1e4L, -static_cast<long double>(k) / 32);
        const Index start = column ? 0 : 64;
        worst = std::max({worst, double(std::abs(rows(n, start + k) - std::sin(angle))),
                          double(std::abs(rows(n, start + 32 + k) - std::cos(angle)))});
      }
    }
  }
  std::printf("sinusoidal-2d: largest error %.2e to 2^20\n", worst);
  EXPECT_LT(worst, 2.4e-10);
}

TEST(Sinusoidal2dTest, SettingsOutOfRangeAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"sinusoidal-2d:model_dim=14",
       "sinusoidal-2d: model_dim must be a multiple of 4, a sine and a cosine for rows and for "
       "columns, got 14; did you mean 12 or 16?"},
      {"sinusoidal-2d:model_dim=3",
       "sinusoidal-2d: model_dim must be a whole number from 4 to 65536, got 3"},
      {"sinusoidal-2d:base=0",
       "sinusoidal-2d: base must be a number from 1.001 to 1000000000000, got 0"},
      {"sinusoidal-2d:width=0",
       "sinusoidal-2d: width must be a whole number from 1 to 65536, got 0"},
      {"sinusoidal-2d:height=0",
       "sinusoidal-2d: height must be a whole number from 1 to 65536, got 0"},
      {"sinusoidal-2d:form=vit", "sinusoidal-2d: form.rule must be one of detr, mae, got \"vit\""},
      {"sinusoidal-2d:coordinates=unit",
       "sinusoidal-2d: form.coordinates must be one of normalized, cells, got \"unit\""},
      {"sinusoidal-2d:scale=0",
       "sinusoidal-2d: form.scale must be a number from 1e-06 to 1000000, got 0"},
      {"sinusoidal-2d:form=mae,scale=2", "sinusoidal-2d: unknown setting \"scale\""}};
  for (const auto& [spec, message] : cases) {
    try {
      MakeScheme(spec);
      ADD_FAILURE() << spec << " was accepted";
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(message)) << error.what();
    }
  }
}

}  // namespace
}  // namespace sextant
