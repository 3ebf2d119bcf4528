// Tiles left out of fused attention: with a bias that falls with distance the result is the same to
// 2^-40, and whatever lets a far key win keeps its tile in.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <vector>

#include "sextant/attention/fused_run.h"

namespace sextant {
namespace {

// ALiBi: -slope[h] |distance|, slopes falling by 4 from head to head.
PlainAttention WithSlopes(const FusedCase& c, double slope) {
  PlainAttention plain = MakePlain(c);
  for (Index h = 0; h < c.heads; ++h) {
    for (Index n = 0; n < plain.distances; ++n) {
      const double distance = std::abs(double(plain.first_distance + n));
      plain.bias[std::size_t(h * plain.distances + n)] =
          RoundToF32(-slope / std::pow(4.0, double(h)) * distance);
    }
  }
  return plain;
}

std::vector<FusedCase> Shapes() {
  FusedCase causal{.queries = 400, .keys = 1100, .heads = 4, .kv_heads = 2, .head_dim = 4};
  causal.causal = causal.bias = true;
  FusedCase both_ways = causal, gathered = causal, windowed = causal, vectors = causal;
  both_ways.causal = false;
  both_ways.queries = 600;
  both_ways.keys = 600;
  gathered.positions = PositionsOf::kGathered;
  gathered.queries = 100;
  windowed.window = 333;
  vectors.queries = 100;
  vectors.vectors = Table::kPerHead;
  vectors.content_bias = vectors.position_bias = vectors.query_scale = true;
  if (kSanitized) {
    causal.queries = 100;
    return {causal};
  }
  return {causal, both_ways, gathered, windowed, vectors};
}

// The largest |a - b|, allowed 2^-40 of `scale` and the rounding of a float32 sum of such numbers.
void ExpectSame(const FusedResult& one, const FusedResult& other, double scale, double& worst) {
  ASSERT_EQ(one.got.size(), other.got.size());
  for (std::size_t n = 0; n < one.got.size(); ++n) {
    const double difference = std::abs(one.got[n] - other.got[n]);
    ASSERT_LE(difference, 0x1p-40 * scale + 0x1p-23 * std::abs(other.got[n])) << one.name << n;
    worst = std::max(worst, difference / scale);
  }
}

TEST(FusedSkipTest, WhatIsLeftOutIsBelow2ToTheMinus40) {
  for (FusedCase c : Shapes()) {
    SCOPED_TRACE(Described(c));
    const PlainAttention plain = WithSlopes(c, 2);
    const PlainResult right = Plain(plain);
    const double by = std::max(1.0, right.largest_score / 50);
    ForEachTarget([&](const char* target) {
      FusedErrors errors;
      double forward = 0, backward = 0;
      c.skip = TileSkip::kWhereProvable;
      FusedRun some(plain, c);
      some.Run(SerialExecutor());
      ExpectResult(some, right, {2e-6 * by, 2e-6, 4e-6 * by}, errors);
      c.skip = TileSkip::kNever;
      FusedRun all(plain, c);
      all.Run(SerialExecutor());
      const std::vector<FusedResult> one = ResultsOf(some), other = ResultsOf(all);
      for (std::size_t n = 0; n < one.size(); ++n) {
        const PlainArray& array = right.*one[n].right;
        const bool is_out = one[n].right == &PlainResult::out;
        ExpectSame(one[n], other[n], is_out ? right.largest_value : array.Largest(),
                   is_out ? forward : backward);
        if (HasFatalFailure()) return;
      }
      std::printf("%s: skipping changes the output by %.1e, gradients by %.1e; errors %.1e, %.1e\n",
                  target, forward, backward, errors.forward, errors.backward);
    });
    if (HasFatalFailure()) return;
  }
}

// Values are 1 in the far tile and 0 in all others, so an output is 0 where the tile is left out
// and its weights where it is not.
TEST(FusedSkipTest, TilesAreLeftOutWhereProvableAndNowhereElse) {
  for (const double far_bias : {-20.0, -60.0}) {
    FusedCase c{.queries = 10, .keys = 600, .heads = 2, .head_dim = 4, .causal = true};
    c.bias = true;
    PlainAttention plain = MakePlain(c);
    for (Index h = 0; h < c.heads; ++h) {
      for (Index n = 0; n < plain.distances; ++n) {
        const bool far = plain.first_distance + n < -300;
        plain.bias[std::size_t(h * plain.distances + n)] = far ? far_bias : 0;
      }
    }
    for (double& x : plain.key) x = RoundToF32(0.01 * x);
    for (Index n = 0; n < c.keys * c.head_dim; ++n) {
      plain.value[std::size_t(n)] = n < 256 * c.head_dim ? 1 : 0;
    }
    ForEachTarget([&](const char*) {
      for (const TileSkip skip : {TileSkip::kWhereProvable, TileSkip::kNever}) {
        c.skip = skip;
        FusedRun run(plain, c);
        run.Run(SerialExecutor());
        const bool left_out = skip == TileSkip::kWhereProvable && far_bias == -60;
        const std::vector<double> d_value = run.d_value.Values();
        for (double x : run.out.Values()) ASSERT_EQ(x == 0, left_out) << x;
        for (Index n = 0; n < 256 * c.head_dim; ++n) {
          ASSERT_EQ(d_value[std::size_t(n)] == 0, left_out) << n;
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

// With a bias that falls steeply, one far key wins all the same, by way of any part of the score.
struct FarWinner {
  const char* by;
  // Which tables a case has beside the bias; those that a tile is never left out with come last.
  enum class Needs { kNothing, kTile, kVectors } needs;
  std::function<void(PlainAttention&)> make;
};

constexpr Index kWinner = 5;  // its place

// All numbers of one key.
void SetKey(PlainAttention& a, double to) {
  const Index width = a.kv_heads * a.head_dim;
  for (Index n = kWinner * width; n < (kWinner + 1) * width; ++n) a.key[std::size_t(n)] = to;
}
// Rows of a table by distance, far ones alone.
void SetFar(const PlainAttention& a, double to, std::vector<double>& table) {
  for (Index h = 0; h < a.heads; ++h) {
    for (Index r = 0; r < a.rows; ++r) {
      if (a.first_distance + r > -500) continue;
      for (Index c = 0; c < a.head_dim; ++c) {
        table[std::size_t((h * a.rows + r) * a.head_dim + c)] = to;
      }
    }
  }
}
void Fill(std::vector<double>& values, double to) { values.assign(values.size(), to); }

std::vector<FarWinner> WinnersByContent() {
  using Needs = FarWinner::Needs;
  return {{"a long key", Needs::kNothing, [](PlainAttention& a) { SetKey(a, 4000); }},
          {"a negative scale", Needs::kNothing,
           [](PlainAttention& a) {
             a.scale = -a.scale;
             SetKey(a, -4000);
           }},
          {"long queries", Needs::kNothing,
           [](PlainAttention& a) {
             Fill(a.query, 4000);
             SetKey(a, 1);
           }},
          {"huge queries and a tiny key", Needs::kNothing,
           [](PlainAttention& a) {
             for (double& x : a.query) x = RoundToF32(x * 1e28);
             for (double& x : a.key) x = RoundToF32(x * 1e-28);
             SetKey(a, RoundToF32(4e-25));
           }},
          {"tiny queries and a huge key", Needs::kNothing,
           [](PlainAttention& a) {
             for (double& x : a.query) x = RoundToF32(x * 1e-28);
             for (double& x : a.key) x = RoundToF32(x * 1e28);
             SetKey(a, RoundToF32(4e31));
           }},
          {"content_bias", Needs::kNothing,
           [](PlainAttention& a) {
             Fill(a.content_bias, 4000);
             SetKey(a, 1);
           }},
          {"query_scale", Needs::kNothing,
           [](PlainAttention& a) {
             Fill(a.query_scale, 4000);
             SetKey(a, 1);
           }},
          {"a negative query_scale", Needs::kNothing, [](PlainAttention& a) {
             Fill(a.query_scale, -4000);
             SetKey(a, -1);
           }}};
}

std::vector<FarWinner> WinnersByTables() {
  using Needs = FarWinner::Needs;
  return {{"the bias itself", Needs::kNothing,
           [](PlainAttention& a) {
             for (Index h = 0; h < a.heads; ++h) {
               for (Index d = 0; d < 40; ++d) a.bias[std::size_t(h * a.distances + d + 100)] = 50;
             }
           }},
          {"a bias high at the far end", Needs::kNothing,
           [](PlainAttention& a) {
             for (Index d = 0; d < 300; ++d) a.bias[std::size_t(d)] += 4000;
           }},
          {"the tile", Needs::kTile,
           [](PlainAttention& a) {
             for (std::size_t n = kWinner; n < a.tile.size(); n += std::size_t(a.keys)) {
               a.tile[n] = 8000;
             }
           }},
          {"vectors of the key side", Needs::kVectors,
           [](PlainAttention& a) { SetFar(a, 4000, a.vector_key); }},
          {"vectors of the query side", Needs::kVectors,
           [](PlainAttention& a) {
             SetFar(a, 4000, a.vector_query);
             SetKey(a, 1);
           }},
          {"position_bias", Needs::kVectors, [](PlainAttention& a) {
             Fill(a.position_bias, 4000);
             SetFar(a, 1, a.vector_key);
           }}};
}

// Nothing but the steep bias tells keys apart, until a winner is made.
PlainAttention WithWinner(const FusedCase& c, const FarWinner& winner) {
  PlainAttention plain = WithSlopes(c, 4);
  for (auto* zero : {&plain.content_bias, &plain.position_bias, &plain.vector_key,
                     &plain.vector_query, &plain.tile}) {
    Fill(*zero, 0);
  }
  for (double& x : plain.query) x = RoundToF32(1 + 0.1 * x);
  for (double& x : plain.key) x = RoundToF32(0.01 * x);
  Fill(plain.query_scale, 1);
  winner.make(plain);
  return plain;
}

TEST(FusedSkipTest, AFarKeyThatWinsIsNotLeftOut) {
  std::vector<FarWinner> winners = WinnersByContent();
  for (const FarWinner& winner : WinnersByTables()) winners.push_back(winner);
  for (const FarWinner& winner : winners) {
    for (const PositionsOf positions : {PositionsOf::kPlaces, PositionsOf::kGathered}) {
      FusedCase c{
          .queries = 5, .keys = kSanitized ? 600 : 800, .heads = 2, .head_dim = 4, .causal = true};
      c.bias = c.content_bias = c.query_scale = true;
      c.positions = positions;
      if (winner.needs == FarWinner::Needs::kTile) c.tile = Table::kPerHead;
      if (winner.needs == FarWinner::Needs::kVectors) {
        c.vectors = Table::kPerHead;
        c.position_bias = true;
        c.rows = RowsOf::kEach;
      }
      SCOPED_TRACE(testing::Message() << winner.by << ", positions " << int(positions));
      const PlainAttention plain = WithWinner(c, winner);
      const PlainResult right = Plain(plain);
      const double by = std::max(1.0, right.largest_score / 20);
      ForEachTarget([&](const char*) {
        FusedErrors errors;
        FusedRun run(plain, c);
        run.Run(SerialExecutor());
        ExpectResult(run, right, {2e-6 * by, 2e-6, 4e-6 * by}, errors);
      });
      if (HasFatalFailure()) return;
    }
  }
}

// A tile that is left out still hands on what is not a number.
TEST(FusedSkipTest, NanInAFarValueReachesTheRowsThatSeeIt) {
  FusedCase c{.queries = 30, .keys = 900, .heads = 2, .head_dim = 4, .causal = true, .bias = true};
  PlainAttention plain = WithSlopes(c, 0.5);
  plain.value[kWinner * 4 + 1] = std::numeric_limits<double>::quiet_NaN();
  const PlainResult right = Plain(plain);
  ForEachTarget([&](const char*) {
    FusedErrors errors;
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    ExpectResult(run, right, {2e-5, 2e-6, 4e-5}, errors);
  });
}

}  // namespace
}  // namespace sextant
