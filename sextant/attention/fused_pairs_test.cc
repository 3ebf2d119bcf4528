// Fused attention of bfloat16 by products of pairs, against the plain double computation: sizes
// about tile edges, masks, positions, biases, heads, rows that see nothing, NaN, and the same bits
// on any executor. Where pairs are not served, float32 passes the same bounds.
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "sextant/attention/fused_run.h"

namespace sextant {
namespace {

std::vector<FusedCase> Cases() {
  std::vector<FusedCase> cases;
  constexpr Index edges[] = {1, 2, 47, 48, 49, 63, 65, 127, 129, 255, 256, 257, 513};
  for (int n = 0; n < 13; ++n) {
    cases.push_back(Paired(edges[n], edges[n * 5 % 13], 1 + 2 * (n % 4)));
    if (kSanitized) continue;
    cases.push_back(Paired(edges[n * 3 % 13], edges[n], 4));
    cases.back().causal = false;
  }
  for (Index dim : {1, 2, 3, 17, 64, 80, 128, 257}) cases.push_back(Paired(19, 70, dim));
  for (int mask = 0; mask < 32; mask += kSanitized ? 3 : 1) {
    FusedCase c = Paired(49, 140, 6);
    c.causal = (mask & 1) != 0;
    c.window = (mask & 2) != 0 ? 31 : 0;
    c.padded = (mask & 4) != 0;
    c.packed = (mask & 8) != 0;
    c.cells = (mask & 16) != 0;
    c.positions = PositionsOf(mask % 3);
    c.tile = mask % 5 == 0 ? Table::kPerHead : Table::kNone;
    c.query_scale = mask % 7 < 3;
    c.order = mask % 4 < 2 ? HeadOrder::kHeadsFirst : HeadOrder::kTokensFirst;
    c.heads = mask % 2 == 0 ? 4 : 3;
    c.kv_heads = mask % 2 == 0 ? 2 : 3;
    cases.push_back(c);
  }
  cases.push_back(Paired(90, 30, 5));  // some see nothing
  return cases;
}

// Of the output: 2^-8 of the largest |v|, 3e-3 in root mean square. Gradients read that output.
constexpr FusedBounds kBounds{0x1p-8, 1e-5, 0x1p-7};

double RootMeanSquare(const std::vector<double>& got, const std::vector<double>& right) {
  double error = 0, size = 0;
  for (std::size_t n = 0; n < right.size(); ++n) {
    error += (got[n] - right[n]) * (got[n] - right[n]);
    size += right[n] * right[n];
  }
  return size == 0 ? 0 : std::sqrt(error / size);
}

TEST(FusedPairsTest, AgreeWithDoubleWithinTheRoundingOfWeights) {
  struct Right {
    FusedCase c;
    PlainAttention plain;
    PlainResult result;
  };
  std::vector<Right> cases;
  for (const FusedCase& c : Cases()) {
    const PlainAttention plain = MakePlain(c);
    cases.push_back({c, plain, Plain(plain)});
  }
  ForEachTarget([&](const char* target) {
    FusedErrors errors;
    double worst = 0;
    for (const Right& right : cases) {
      SCOPED_TRACE(Described(right.c));
      FusedRun run(right.plain, right.c);
      run.Run(SerialExecutor());
      ExpectResult(run, right.result, kBounds, errors);
      if (HasFatalFailure()) return;
      const double rms = RootMeanSquare(run.out.Values(), right.result.out.at);
      worst = std::max(worst, rms);
      ASSERT_LE(rms, 3e-3);
    }
    std::printf(
        "pairs of bfloat16, %s: %zu cases, %lld numbers; errors %.1e of the output (%.1e in "
        "root mean square), %.1e of log_sum_exp, %.1e of gradients\n",
        target, cases.size(), static_cast<long long>(errors.compared), errors.forward, worst,
        errors.log_sum_exp, errors.backward);
  });
}

TEST(FusedPairsTest, GiveTheSameBitsOnAnyExecutor) {
  FusedCase c = Paired(131, 600, 24);
  c.heads = 4;
  c.kv_heads = 2;
  const PlainAttention plain = MakePlain(c);
  ExpectSameBitsOnAnyExecutor(plain, c, [](FusedRun&) {});
}

TEST(FusedPairsTest, NanAndInfinitiesReachTheRowsThatSeeThemAndNoOthers) {
  FusedCase c = Paired(60, 141, 7);
  c.heads = 4;
  c.kv_heads = 2;
  c.padded = true;
  const PlainAttention clean = MakePlain(c);
  const auto at = [](Index token, Index heads, Index head) {
    return std::size_t((token * heads + head) * 7 + 3);
  };
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (int place = 0; place < 4; ++place) {
      SCOPED_TRACE(testing::Message() << bad << " at " << place);
      PlainAttention plain = clean;
      if (place == 0) plain.query[at(20, 4, 1)] = bad;
      if (place == 1) plain.key[at(110, 2, 1)] = bad;
      if (place == 2) plain.value[at(110, 2, 0)] = bad;
      if (place == 3) {
        // What nobody sees may hold anything.
        for (Index j = 0; j < c.keys; ++j) {
          if (plain.key_valid[std::size_t(j)] != 0) continue;
          plain.key[at(j, 2, 0)] = plain.value[at(j, 2, 0)] = plain.value[at(j, 2, 1)] = bad;
        }
      }
      FusedErrors errors;
      FusedRun run(plain, c);
      run.Run(SerialExecutor());
      ExpectResult(run, RightEitherWay(plain).Of(run), kBounds, errors);
      if (HasFatalFailure()) return;
    }
  }
}

// A steep bias, with and without tiles left out, and a far key that wins all the same.
TEST(FusedPairsTest, TilesAreLeftOutWhereItDoesNotMatter) {
  FusedCase c = Paired(100, 900, 8);
  PlainAttention plain = MakePlain(c);
  for (Index h = 0; h < c.heads; ++h) {
    for (Index n = 0; n < plain.distances; ++n) {
      plain.bias[std::size_t(h * plain.distances + n)] = double(plain.first_distance + n) / 2;
    }
  }
  FusedRun some(plain, c);
  some.Run(SerialExecutor());
  FusedErrors errors;
  ExpectResult(some, Plain(plain), kBounds, errors);
  c.skip = TileSkip::kNever;
  FusedRun all(plain, c);
  all.Run(SerialExecutor());
  EXPECT_LE(RootMeanSquare(some.out.Values(), all.out.Values()), 0x1p-40);
  c.skip = TileSkip::kWhereProvable;
  for (double& x : plain.query) x = RoundToBf16(1 + 0.1 * x);
  for (Index n = 0; n < 8; ++n) plain.key[std::size_t(40 + n)] = 4096;
  FusedRun winner(plain, c);
  winner.Run(SerialExecutor());
  ExpectResult(winner, Plain(plain), {0x1p-8, 1e-5, 0x1p-5}, errors);
}

}  // namespace
}  // namespace sextant
