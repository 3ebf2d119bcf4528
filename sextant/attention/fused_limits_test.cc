// Fused attention where numbers are at their limits: positions far out and far apart, rows that see
// nothing, huge and tiny scores and values.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "sextant/attention/fused_run.h"

namespace sextant {
namespace {

FusedCase AllTables() {
  FusedCase c{.queries = 50, .keys = 70, .heads = 4, .kv_heads = 2, .bias = true};
  c.tile = c.vectors = Table::kPerHead;
  c.content_bias = c.position_bias = c.query_scale = true;
  return c;
}

// Runs `plain` at every target and expects what the double computation gives.
void ExpectRight(const PlainAttention& plain, const FusedCase& c, const FusedBounds& bounds = {}) {
  const PlainResult right = Plain(plain);
  ForEachTarget([&](const char*) {
    FusedErrors errors;
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    ExpectResult(run, right, bounds, errors);
  });
}

TEST(FusedLimitsTest, PositionsFarOutAreExact) {
  for (const std::int64_t first :
       {std::int64_t{1} << 20, (std::int64_t{1} << 31) - 20, std::int64_t{1} << 40,
        -(std::int64_t{1} << 31) - 20, std::int64_t{-7}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max() - 200}) {
    for (const PositionsOf positions : {PositionsOf::kRun, PositionsOf::kGathered}) {
      FusedCase c = AllTables();
      c.first_position = first;
      c.positions = positions;
      c.causal = true;
      c.window = 30;
      SCOPED_TRACE(testing::Message() << Described(c) << " from " << first);
      ExpectRight(MakePlain(c), c);
      if (HasFatalFailure()) return;
    }
  }
}

// Groups of tokens 2^29 from each other; the window shows each its own group, so tables stay short.
TEST(FusedLimitsTest, PositionsFarApartNeedTablesForWhatIsSeenAlone) {
  for (const std::int64_t apart : {std::int64_t{1} << 20, (std::int64_t{1} << 29) - 64}) {
    FusedCase c = AllTables();
    c.window = 9;
    PlainAttention plain = MakePlain(c);
    for (Index i = 0; i < c.queries; ++i) plain.query_position.push_back(i % 3 * apart + i);
    for (Index j = 0; j < c.keys; ++j) plain.key_position.push_back(j % 3 * apart + j);
    ASSERT_EQ(plain.first_distance, -8);
    ASSERT_EQ(plain.distances, 17);
    ExpectRight(plain, c);
    if (HasFatalFailure()) return;
  }
}

TEST(FusedLimitsTest, PositionsApartAsFarAsAllowedAreOrderedRight) {
  FusedCase c{.causal = true};
  PlainAttention plain = MakePlain(c);
  const std::int64_t most = (std::int64_t{1} << 30) - 1;
  for (Index i = 0; i < c.queries; ++i) plain.query_position.push_back(i * (most / 12));
  for (Index j = 0; j < c.keys; ++j) plain.key_position.push_back(j * (most / 28));
  plain.key_position.back() = most;
  plain.first_distance = 0;
  plain.distances = 0;
  ExpectRight(plain, c);
}

TEST(FusedLimitsTest, AWindowWiderThanAnyDistanceHidesNothing) {
  FusedCase c = AllTables();
  const PlainResult right = Plain(MakePlain(c));
  for (const std::int64_t window :
       {std::int64_t{1} << 31, std::int64_t{1} << 32, std::numeric_limits<std::int64_t>::max()}) {
    SCOPED_TRACE(window);
    PlainAttention plain = MakePlain(c);
    plain.window = window;
    FusedErrors errors;
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    ExpectResult(run, right, {}, errors);
  }
}

// Every way to see nothing, for some rows and for all.
std::vector<PlainAttention> WaysToSeeNothing(const FusedCase& c) {
  std::vector<PlainAttention> ways(7, MakePlain(c));
  ways[0].key_valid.assign(std::size_t(c.keys), 0);
  ways[1].cells.assign(std::size_t(c.queries * c.keys), 1);
  std::fill(ways[1].cells.begin() + 3 * c.keys, ways[1].cells.begin() + 20 * c.keys, 0);
  ways[2].query_sequence.assign(std::size_t(c.queries), 1);
  ways[2].key_sequence.assign(std::size_t(c.keys), 1);
  for (std::size_t i : {0, 1, 17, 49}) ways[2].query_sequence[i] = -5;
  ways[3].causal = true;
  for (Index j = 0; j < c.keys; ++j) ways[3].key_position.push_back(j);
  for (Index i = 0; i < c.queries; ++i) ways[3].query_position.push_back(i - 30);
  ways[3].first_distance = -c.keys - c.queries;
  ways[4] = ways[3];
  ways[4].causal = false;
  ways[4].window = 1;
  ways[4].key_position = std::vector<std::int64_t>(std::size_t(c.keys), 3);
  ways[5].causal = true;
  ways[5].key_valid.assign(std::size_t(c.keys), 1);
  std::fill(ways[5].key_valid.begin(), ways[5].key_valid.begin() + 40, 0);
  ways[6].bias.assign(ways[6].bias.size(), -std::numeric_limits<double>::infinity());
  return ways;
}

TEST(FusedLimitsTest, ARowThatSeesNothingIsZeroAndSendsNoGradient) {
  FusedCase c = AllTables();
  c.cover = Cover::kMore;
  for (PlainAttention& plain : WaysToSeeNothing(c)) {
    const PlainResult right = Plain(plain);
    int empty = 0;
    for (double x : right.log_sum_exp.at) empty += std::isinf(x);
    ASSERT_GT(empty, 0);
    ForEachTarget([&](const char*) {
      FusedErrors errors;
      FusedRun run(plain, c);
      run.Run(SerialExecutor());
      ExpectResult(run, right, {}, errors);
      const std::vector<double> out = run.out.Values(), d_query = run.d_query.Values();
      for (Index n = 0; n < c.queries * c.heads; ++n) {
        const Index i = n / c.heads, h = n % c.heads;
        if (!std::isinf(right.log_sum_exp.at[std::size_t(h * c.queries + i)])) continue;
        for (Index at = n * c.head_dim; at < (n + 1) * c.head_dim; ++at) {
          ASSERT_EQ(out[std::size_t(at)], 0) << i;
          ASSERT_EQ(d_query[std::size_t(at)], 0) << i;
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(FusedLimitsTest, NoQueriesAndNoKeysAreFine) {
  for (const auto& [queries, keys] : {std::pair<Index, Index>{0, 0}, {0, 9}, {9, 0}}) {
    FusedCase c = AllTables();
    c.queries = queries;
    c.keys = keys;
    ExpectRight(MakePlain(c), c);
    FusedCase bare;
    bare.queries = queries;
    bare.keys = keys;
    ExpectRight(MakePlain(bare), bare);
  }
}

// Errors grow with scores as float32 rounds them.
FusedBounds BoundsOfScores(double largest) {
  const double by = std::max(1.0, largest / 20);
  return {2e-6 * by, 2e-6, 4e-6 * by};
}

TEST(FusedLimitsTest, SharpAndFlatSoftmaxesAgreeWithDouble) {
  for (const double size : {1e-38, 1e-20, 1e-3, 10.0, 50.0, 1e3, 1e4}) {
    FusedCase c{.queries = 70, .keys = 70, .head_dim = 32, .causal = true, .bias = true};
    c.size = size;
    SCOPED_TRACE(size);
    const PlainAttention plain = MakePlain(c);
    ExpectRight(plain, c, BoundsOfScores(Plain(plain).largest_score));
    if (HasFatalFailure()) return;
  }
}

TEST(FusedLimitsTest, ScoresUpTo1e30PickTheLargest) {
  FusedCase c{.queries = 30, .keys = 150, .head_dim = 4, .causal = true};
  PlainAttention plain = MakePlain(c);
  for (double& x : plain.query) x = RoundToF32(x * 1e15);
  for (double& x : plain.key) x = RoundToF32(x * 1e15);
  const PlainResult right = Plain(plain);
  ForEachTarget([&](const char*) {
    FusedRun run(plain, c);
    run.Run(SerialExecutor());
    double worst = 0;
    for (const FusedResult& result : ResultsOf(run)) {
      const std::vector<double>& at = (right.*result.right).at;
      if (result.right == &PlainResult::out) {
        ExpectArray(result, at, right.largest_value, 2e-6, worst);
      } else if (result.right == &PlainResult::log_sum_exp) {
        ExpectArray(result, at, right.log_sum_exp.Largest(), 2e-6, worst);
      }
      // Float32 does not hold enough of such scores for weights in the backward pass.
      for (double x : result.got) ASSERT_FALSE(std::isnan(x)) << result.name;
    }
  });
}

TEST(FusedLimitsTest, ScalesOfZeroAndBelowKeepTheirGradients) {
  for (const double scale : {0.0, -0.5}) {
    const FusedCase c = AllTables();
    PlainAttention plain = MakePlain(c);
    plain.query_scale[3] = plain.query_scale[49] = 0;
    plain.query_scale[20] = -2;
    ExpectRight(plain, c);
    plain.scale = scale;
    ExpectRight(plain, c);
    if (HasFatalFailure()) return;
  }
}

TEST(FusedLimitsTest, HugeAndTinyValuesAndOutputGradientsKeepTheirDigits) {
  for (const double size : {1e-30, 1e-18, 1e18, 1e30}) {
    FusedCase c = AllTables();
    PlainAttention plain = MakePlain(c);
    for (auto* values : {&plain.value, &plain.vector_value}) {
      for (double& x : *values) x = RoundToF32(x * size);
    }
    SCOPED_TRACE(size);
    ExpectRight(plain, c);
    if (HasFatalFailure()) return;
    PlainAttention other = MakePlain(c);
    for (double& x : other.d_out) x = RoundToF32(x * size);
    ExpectRight(other, c);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sextant
