// Infinities and NaN in what fused attention reads: they reach the rows that see them and no
// others, forth and back.
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <vector>

#include "sextant/attention/fused_run.h"

namespace sextant {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Masks hide much, so that there are rows that see what is planted and rows that do not, within one
// tile; one row vector of each table is seen by few.
FusedCase HiddenMuch() {
  FusedCase c{.queries = 60, .keys = 90, .heads = 4, .kv_heads = 2, .head_dim = 7};
  c.causal = c.padded = c.packed = true;
  c.bias = true;
  c.tile = Table::kPerHead;
  c.vectors = Table::kPerHead;
  c.content_bias = c.position_bias = c.query_scale = true;
  c.rows = RowsOf::kEach;
  c.cover = Cover::kMore;  // so that some rows of tables are seen by nobody
  return c;
}

// Where a number is planted: an array, and the place in it.
struct Plant {
  const char* name;
  std::vector<double> PlainAttention::*array;
  std::size_t at;
};

std::vector<Plant> Plants(const PlainAttention& a) {
  const auto dim = std::size_t(a.head_dim), heads = std::size_t(a.heads),
             kv = std::size_t(a.kv_heads), keys = std::size_t(a.keys),
             distances = std::size_t(a.distances), rows = std::size_t(a.rows);
  std::size_t hidden_key = 0;
  while (a.key_valid[hidden_key] != 0) ++hidden_key;
  std::size_t shown_key = keys / 2 + 30;
  while (a.key_valid[shown_key] == 0) ++shown_key;
  const std::size_t near = distances - 1 - 7 - 5;  // distance -5
  return {{"query", &PlainAttention::query, (20 * heads + 1) * dim + 2},
          {"last query", &PlainAttention::query, (59 * heads + 3) * dim},
          {"shown key", &PlainAttention::key, (shown_key * kv + 1) * dim + 3},
          {"last key", &PlainAttention::key, ((keys - 1) * kv) * dim},
          {"hidden key", &PlainAttention::key, (hidden_key * kv + 1) * dim + 6},
          {"shown value", &PlainAttention::value, (shown_key * kv) * dim + 5},
          {"last value", &PlainAttention::value, ((keys - 1) * kv + 1) * dim},
          {"hidden value", &PlainAttention::value, (hidden_key * kv) * dim},
          {"d_out", &PlainAttention::d_out, (25 * heads + 2) * dim + 4},
          {"bias", &PlainAttention::bias, 2 * distances + near},
          {"bias of a distance nobody sees", &PlainAttention::bias, 2 * distances - 1},
          {"tile", &PlainAttention::tile, (1 * 60 + 20) * keys + shown_key},
          {"hidden cell of tile", &PlainAttention::tile, (1 * 60 + 20) * keys + hidden_key},
          {"vector_key", &PlainAttention::vector_key, (3 * rows + near) * dim + 1},
          {"vector_query", &PlainAttention::vector_query, (3 * rows + near) * dim + 1},
          {"vector_value", &PlainAttention::vector_value, (3 * rows + near) * dim + 1},
          {"vector_key nobody sees", &PlainAttention::vector_key, (2 * rows - 1) * dim},
          {"vector_query nobody sees", &PlainAttention::vector_query, (2 * rows - 2) * dim + 1},
          {"vector_value nobody sees", &PlainAttention::vector_value, (2 * rows - 1) * dim + 2},
          {"content_bias", &PlainAttention::content_bias, 2 * dim + 1},
          {"position_bias", &PlainAttention::position_bias, 1 * dim + 1},
          {"query_scale", &PlainAttention::query_scale, 33}};
}

// Finite where the right number is finite, and right there; not finite where it is not.
void ExpectReach(const PlainAttention& plain, const FusedCase& c, std::int64_t& compared) {
  const RightEitherWay right(plain);
  const auto at_target = [&](const char*) {
    FusedErrors errors;
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    ExpectResult(run, right.Of(run), {}, errors);
    compared += errors.compared;
  };
  ForEachTarget(at_target, Sanitized::kBest);
}

TEST(FusedNonfiniteTest, ReachTheRowsThatSeeThemAndNoOthers) {
  const FusedCase c = HiddenMuch();
  const PlainAttention clean = MakePlain(c);
  std::int64_t compared = 0;
  for (const Plant& plant : Plants(clean)) {
    for (const double bad : kSanitized ? std::vector{kNan} : std::vector{kNan, kInf, -kInf}) {
      // An infinite factor makes infinities of both signs of a query's channels, whose sum is NaN
      // or not by the order of the products.
      if (plant.array == &PlainAttention::query_scale && !std::isnan(bad)) continue;
      SCOPED_TRACE(testing::Message() << bad << " in " << plant.name);
      PlainAttention plain = clean;
      ASSERT_LT(plant.at, (plain.*plant.array).size());
      (plain.*plant.array)[plant.at] = bad;
      ExpectReach(plain, c, compared);
      if (HasFatalFailure()) return;
    }
  }
  std::printf("%lld numbers compared\n", static_cast<long long>(compared));
}

// Padding is often whatever was in memory.
TEST(FusedNonfiniteTest, KeysThatNobodySeesMayHoldAnything) {
  FusedCase c = HiddenMuch();
  for (const bool gathered : {false, true}) {
    c.positions = gathered ? PositionsOf::kGathered : PositionsOf::kPlaces;
    PlainAttention plain = MakePlain(c);
    const PlainResult right = Plain(plain);
    const auto width = std::size_t(c.kv_heads * c.head_dim);
    for (std::size_t j = 0; j < plain.key_valid.size(); ++j) {
      if (plain.key_valid[j] != 0) continue;
      for (std::size_t n = j * width; n < (j + 1) * width; ++n) {
        plain.key[n] = n % 2 == 0 ? kNan : kInf;
        plain.value[n] = n % 3 == 0 ? -kInf : kNan;
      }
    }
    ForEachTarget([&](const char*) {
      FusedErrors errors;
      FusedRun run(plain, c);
      run.Run(SerialExecutor());
      ExpectResult(run, right, {}, errors);
    });
    if (HasFatalFailure()) return;
  }
}

// Queries that see nothing send nothing, whatever they hold.
TEST(FusedNonfiniteTest, QueriesThatSeeNothingMayHoldAnything) {
  FusedCase c = HiddenMuch();
  PlainAttention plain = MakePlain(c);
  plain.cells.assign(std::size_t(c.queries * c.keys), 1);
  for (const Index i : {3, 30, 59}) {
    std::fill_n(plain.cells.begin() + i * c.keys, c.keys, std::uint8_t{0});
  }
  const PlainResult right = Plain(plain);
  const auto width = std::size_t(c.heads * c.head_dim);
  for (const std::size_t i : {3, 30, 59}) {
    for (std::size_t n = i * width; n < (i + 1) * width; ++n) {
      plain.query[n] = n % 2 == 0 ? kNan : kInf;
      plain.d_out[n] = n % 3 == 0 ? -kInf : kNan;
    }
    plain.query_scale[i] = kNan;
  }
  ForEachTarget([&](const char*) {
    FusedErrors errors;
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    ExpectResult(run, right, {}, errors);
  });
}

// Minus infinity in a bias hides keys; where it hides all, the row sees nothing.
TEST(FusedNonfiniteTest, MinusInfinityInATileHidesLikeAMask) {
  FusedCase c{.queries = 50, .keys = 140, .heads = 2, .kv_heads = 2, .tile = Table::kPerHead};
  PlainAttention masked = MakePlain(c);
  Random random(2);
  masked.cells.assign(std::size_t(c.queries * c.keys), 1);
  for (std::size_t n = 0; n < masked.cells.size(); ++n) {
    masked.cells[n] = random.Uniform() < 0.5 && n / std::size_t(c.keys) != 7;
  }
  const PlainResult right = Plain(masked);
  PlainAttention plain = masked;
  plain.cells.clear();
  for (std::size_t n = 0; n < plain.tile.size(); ++n) {
    if (masked.cells[n % masked.cells.size()] == 0) plain.tile[n] = -kInf;
  }
  ForEachTarget([&](const char*) {
    FusedErrors errors;
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    ExpectResult(run, right, {}, errors);
  });
}

TEST(FusedNonfiniteTest, In16BitStorageTheyReachTheSameRows) {
  for (const Storage storage : {Storage::kBf16, Storage::kF16}) {
    FusedCase c = HiddenMuch();
    c.query_as = c.key_as = c.value_as = c.out_as = storage;
    PlainAttention plain = MakePlain(c);
    std::int64_t compared = 0;
    for (const Plant& plant : Plants(plain)) {
      if (std::string(plant.name) != "query" && std::string(plant.name) != "shown key" &&
          std::string(plant.name) != "shown value") {
        continue;
      }
      SCOPED_TRACE(plant.name);
      PlainAttention planted = plain;
      (planted.*plant.array)[plant.at] = kNan;
      ExpectReach(planted, c, compared);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sextant
