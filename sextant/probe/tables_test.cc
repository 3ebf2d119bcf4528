// Tables, slopes and buckets, against published numbers.
#include "sextant/probe/tables.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

SchemeTables Tables(std::string_view spec, std::vector<std::int64_t> positions,
                    Distances distances = {0, 1}) {
  return FillTables(*MakeScheme(spec), {std::move(positions), distances});
}

TEST(Tables, SinusoidalRowTwo) {
  const SchemeTables tables = Tables("sinusoidal:model_dim=8", {2});
  constexpr double kExpected[] = {0.9093, -0.4161, 0.1987, 0.9801, 0.0200, 0.9998, 0.0020, 1.0000};
  ASSERT_EQ(tables.rows.shape(), (Shape<2>{1, 8}));
  for (Index c = 0; c < 8; ++c) EXPECT_NEAR(tables.rows(0, c), kExpected[c], 5e-5);
  EXPECT_EQ(tables.pairs.size(), 4u);
  EXPECT_TRUE(tables.bias.empty());
}

TEST(Tables, RopeTurnsQueriesAndKeysAlike) {
  const SchemeTables tables = Tables("rope:rotated_dims=4", {0, 3});
  EXPECT_NEAR(tables.cos(1, 0), std::cos(3.0), 1e-15);
  EXPECT_NEAR(tables.sin(1, 1), std::sin(0.03), 1e-15);
  EXPECT_TRUE(tables.key_cos.empty());
}

TEST(Tables, AlibiSlopes) {
  const std::vector<double> six = Tables("alibi:heads=6", {}).slopes;
  EXPECT_EQ(six, (std::vector<double>{.25, .0625, .015625, .00390625, .5, .125}));
  const std::vector<double> twelve = Tables("alibi:heads=12", {}).slopes;
  constexpr double kExpected[] = {.5,       .25,       .125,    .0625,   .03125,  .015625,
                                  .0078125, .00390625, .707107, .353553, .176777, .088388};
  ASSERT_EQ(twelve.size(), 12u);
  for (std::size_t h = 0; h < 12; ++h) EXPECT_NEAR(twelve[h], kExpected[h], 5e-7);
  EXPECT_TRUE(Tables("alibi", {}).buckets.empty());
}

int LectureBucket(std::int64_t distance) {
  const std::int64_t n = std::abs(distance);
  constexpr std::int64_t kFrom[] = {8, 12, 16, 23, 32, 46, 64, 91};
  int bucket = static_cast<int>(std::min<std::int64_t>(n, 7));
  for (std::int64_t from : kFrom) bucket += n >= from ? 1 : 0;
  return distance > 0 ? bucket + 16 : bucket;
}

TEST(Tables, T5Buckets) {
  const SchemeTables tables = Tables("t5:direction=bidirectional", {}, {-300, 601});
  ASSERT_EQ(tables.buckets.size(), 601u);
  for (std::int64_t distance = -300; distance <= 300; ++distance) {
    EXPECT_EQ(tables.buckets[std::size_t(distance + 300)], LectureBucket(distance)) << distance;
  }
  EXPECT_TRUE(tables.slopes.empty());
  EXPECT_EQ(tables.bias.shape(), (Shape<2>{8, 601}));
  EXPECT_EQ(tables.bias(3, 0), tables.bias(3, 100));
}

TEST(Tables, BucketsOfACompositionAreItsPartsOwn) {
  const SchemeTables both = Tables("rope+t5", {0}, {-20, 21});
  EXPECT_EQ(both.buckets, Tables("t5", {0}, {-20, 21}).buckets);
  EXPECT_FALSE(both.cos.empty());
  const SchemeTables mixed = Tables("alibi+t5", {0}, {-20, 21});
  EXPECT_TRUE(mixed.slopes.empty());
  EXPECT_TRUE(mixed.buckets.empty());
}

TEST(Tables, DistanceVectors) {
  const SchemeTables tables = Tables("shaw:clip=2,head_dim=4", {}, {-3, 7});
  EXPECT_EQ(tables.vectors.row, (std::vector<std::int32_t>{0, 0, 1, 2, 3, 4, 4}));
  EXPECT_EQ(tables.vectors.key.shape(), (Shape<3>{1, 5, 4}));
}

TEST(Tables, NoneHasNone) {
  const SchemeTables tables = Tables("none", {0, 1}, {-1, 3});
  EXPECT_TRUE(tables.rows.empty() && tables.cos.empty() && tables.bias.empty());
  EXPECT_TRUE(tables.vectors.row.empty() && tables.pairs.empty());
}

TEST(Tables, RefuseWhatIsTooLargeOrPastTheEnd) {
  EXPECT_THROW(Tables("learned", {1024}), Error);
  EXPECT_THROW(Tables("alibi:heads=4096", {}, {0, 1 << 20}), Error);
}

}  // namespace
}  // namespace sextant
