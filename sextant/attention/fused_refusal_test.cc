// What fused attention refuses: one case for each rule of its header, each with a message that
// names what was given, before anything is run or written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sextant/attention/fused_run.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

// An executor that nobody may ask.
class UnusedExecutor final : public Executor {
 public:
  void Run(Index, const std::function<void(Index)>&) override { ADD_FAILURE() << "work was run"; }
};

FusedCase AllTables() {
  FusedCase c{.queries = 6, .keys = 9, .heads = 4, .kv_heads = 2, .head_dim = 5, .bias = true};
  c.positions = PositionsOf::kRun;
  c.first_position = 100;
  c.tile = c.vectors = Table::kPerHead;
  c.content_bias = c.position_bias = c.query_scale = true;
  c.padded = c.packed = true;
  return c;
}

// A rule broken, and words of the message.
struct Refusal {
  const char* broken;
  std::function<void(FusedRun&)> breaks;
  std::vector<const char*> words;
};

// Lists that live as long as a case needs them.
template <class T>
const T* Kept(std::vector<T> values) {
  static std::vector<std::vector<T>> kept;
  kept.push_back(std::move(values));
  return kept.back().data();
}

std::vector<Refusal> RefusalsOfShapes() {
  return {
      {"head_dims differ", [](FusedRun& r) { r.in.query.head_dim = 4; }, {"head_dim", "4", "5"}},
      {"head_dim 0",
       [](FusedRun& r) { r.in.query.head_dim = r.in.key.head_dim = r.in.value.head_dim = 0; },
       {"head_dim", "0"}},
      {"value has other keys", [](FusedRun& r) { r.in.value.tokens = 8; }, {"value", "9", "8"}},
      {"value has other heads", [](FusedRun& r) { r.in.value.heads = 1; }, {"value", "2", "1"}},
      {"value has another head_dim", [](FusedRun& r) { r.in.value.head_dim = 3; }, {"value", "3"}},
      {"heads are no multiple", [](FusedRun& r) { r.in.query.heads = 3; }, {"multiple", "3", "2"}},
      {"no key heads",
       [](FusedRun& r) { r.in.key.heads = r.in.value.heads = 0; },
       {"multiple", "0"}},
      {"fewer heads than key heads",
       [](FusedRun& r) { r.in.query.heads = 1; },
       {"multiple", "1", "2"}},
      {"negative queries", [](FusedRun& r) { r.in.query.tokens = -6; }, {"query", "-6"}},
      {"negative keys",
       [](FusedRun& r) { r.in.key.tokens = r.in.value.tokens = -9; },
       {"key", "-9"}},
      {"negative heads", [](FusedRun& r) { r.in.query.heads = -4; }, {"query", "-4"}},
      {"negative head_dim",
       [](FusedRun& r) { r.in.query.head_dim = r.in.key.head_dim = r.in.value.head_dim = -5; },
       {"-5"}},
      {"more queries than can be",
       [](FusedRun& r) { r.in.query.tokens = Index{1} << 40; },
       {"query", "1099511627776"}},
      {"no numbers of the query",
       [](FusedRun& r) { r.in.query = HeadsOf<const float>{nullptr, 6, 4, 5, 20, 5}; },
       {"query"}},
      {"no numbers of the key",
       [](FusedRun& r) { r.in.key = HeadsOf<const Bf16>{nullptr, 9, 2, 5, 10, 5}; },
       {"key"}},
      {"no numbers of the value",
       [](FusedRun& r) { r.in.value = HeadsOf<const F16>{nullptr, 9, 2, 5, 10, 5}; },
       {"value"}}};
}

std::vector<Refusal> RefusalsOfMasks() {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t apart = std::int64_t{1} << 30;
  const auto positions = [](std::vector<std::int64_t> query, std::vector<std::int64_t> key) {
    return [query, key](FusedRun& r) {
      r.in.query_position = Kept(query);
      r.in.key_position = Kept(key);
      r.in.mask.window = 1;  // so that no table is too short
    };
  };
  return {
      {"a negative window", [](FusedRun& r) { r.in.mask.window = -1; }, {"window", "-1"}},
      {"the lowest window",
       [](FusedRun& r) { r.in.mask.window = Limits::min(); },
       {"window", "-9223372036854775808"}},
      {"sequences of queries alone",
       [](FusedRun& r) { r.in.mask.key_sequence = nullptr; },
       {"sequence"}},
      {"sequences of keys alone",
       [](FusedRun& r) { r.in.mask.query_sequence = nullptr; },
       {"sequence"}},
      {"positions of queries alone",
       [](FusedRun& r) { r.in.key_position = nullptr; },
       {"position"}},
      {"positions of keys alone", [](FusedRun& r) { r.in.query_position = nullptr; }, {"position"}},
      {"keys 2^30 apart",
       positions({5, 5, 5, 5, 5, 5}, {0, 1, 2, 3, 4, 5, 6, 7, apart}),
       {"2^30", "0", "1073741824"}},
      {"queries 2^30 apart",
       positions({-5, 5, 5, 5, 5, apart - 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
       {"2^30", "-5", "1073741819"}},
      {"a query 2^30 from a key",
       positions({apart + 7, apart + 8, apart + 9, apart + 10, apart + 11, apart + 12},
                 {7, 8, 9, 10, 11, 12, 13, 14, 15}),
       {"2^30", "7", "1073741836"}},
      {"positions as far apart as can be",
       positions({Limits::min(), 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, Limits::max()}),
       {"2^30", "-9223372036854775808", "9223372036854775807"}}};
}

// Queries are at 104 to 109, keys at 100 to 108 in thirds of 4.
std::vector<Refusal> RefusalsOfTables() {
  return {
      {"tables start too late", [](FusedRun& r) { ++r.in.first_distance; }, {"distances", "-3"}},
      {"tables end too early", [](FusedRun& r) { --r.in.distances; }, {"distances"}},
      {"tables of no distance", [](FusedRun& r) { r.in.distances = 0; }, {"distances", "0"}},
      {"a negative count of distances",
       [](FusedRun& r) { r.in.distances = -5; },
       {"distances", "-5"}},
      {"tables elsewhere",
       [](FusedRun& r) { r.in.first_distance = std::numeric_limits<std::int64_t>::max(); },
       {"distances", "9223372036854775807"}},
      {"tables elsewhere, before",
       [](FusedRun& r) { r.in.first_distance = std::numeric_limits<std::int64_t>::min(); },
       {"distances", "-9223372036854775808"}},
      {"vectors without rows of distances",
       [](FusedRun& r) { r.in.vectors.row = nullptr; },
       {"row"}},
      {"vectors without any row", [](FusedRun& r) { r.in.vectors.rows = 0; }, {"row"}},
      {"a negative count of rows", [](FusedRun& r) { r.in.vectors.rows = -13; }, {"row"}},
      {"a row past the last",
       [](FusedRun& r) {
         std::vector<std::int32_t> rows(std::size_t(r.in.distances), 2);
         rows.back() = 13;
         r.in.vectors.row = Kept(rows);
       },
       {"row", "13"}},
      {"a row below 0",
       [](FusedRun& r) {
         std::vector<std::int32_t> rows(std::size_t(r.in.distances), 2);
         rows.front() = -1;
         r.in.vectors.row = Kept(rows);
       },
       {"row", "-1"}},
      {"vectors of heads too near",
       [](FusedRun& r) { r.in.vectors.head_stride = 64; },
       {"65", "64"}},
      {"a position bias without vectors of keys",
       [](FusedRun& r) {
         r.in.vectors.key = nullptr;
         r.gradient.d_vector_key = nullptr;
       },
       {"position bias"}},
      {"bias of heads too near", [](FusedRun& r) { r.in.bias.head_stride = 2; }, {"bias", "2"}},
      {"tile rows too near", [](FusedRun& r) { r.in.tile.row_stride = 8; }, {"tile", "9", "8"}},
      {"tiles of heads too near", [](FusedRun& r) { r.in.tile.head_stride = 20; }, {"tile", "20"}}};
}

std::vector<Refusal> RefusalsOfOutputs() {
  const auto over = [](const HeadsIn& in) {
    return HeadsOf<float>{
        const_cast<float*>(static_cast<const float*>(in.data())) + 3, 6, 4, 5, 20, 5};
  };
  // `out` goes to the forward pass alone; the test takes it from d_query.
  return {
      {"other tokens", [](FusedRun& r) { r.gradient.d_query.tokens = 5; }, {"6", "5"}},
      {"other heads", [](FusedRun& r) { r.gradient.d_query.heads = 2; }, {"4", "2"}},
      {"another head_dim", [](FusedRun& r) { r.gradient.d_query.head_dim = 6; }, {"5", "6"}},
      {"over the query",
       [over](FusedRun& r) { r.gradient.d_query = over(r.in.query); },
       {"overlaps"}},
      {"over the key", [over](FusedRun& r) { r.gradient.d_query = over(r.in.key); }, {"overlaps"}},
      {"over the value",
       [over](FusedRun& r) { r.gradient.d_query = over(r.in.value); },
       {"overlaps"}},
      {"no log_sum_exp", [](FusedRun& r) { r.gradient.log_sum_exp = nullptr; }, {"log_sum_exp"}}};
}

std::vector<Refusal> RefusalsOfGradients() {
  return {
      {"out of other tokens", [](FusedRun& r) { r.gradient.out.tokens = 5; }, {"out"}},
      {"d_out of other tokens", [](FusedRun& r) { r.gradient.d_out.tokens = 5; }, {"d_out"}},
      {"d_out of other heads", [](FusedRun& r) { r.gradient.d_out.heads = 2; }, {"d_out"}},
      {"no d_out", [](FusedRun& r) { r.gradient.d_out = HeadsIn(); }, {"d_out"}},
      {"no out", [](FusedRun& r) { r.gradient.out = HeadsIn(); }, {"out"}},
      {"d_key in the query's shape",
       [](FusedRun& r) { r.gradient.d_key.tokens = 6; },
       {"d_key", "9", "6"}},
      {"d_value in the query's shape",
       [](FusedRun& r) { r.gradient.d_value.heads = 4; },
       {"d_value", "2", "4"}},
      {"d_key over the key",
       [](FusedRun& r) {
         r.gradient.d_key = HeadsOf<float>{
             const_cast<float*>(static_cast<const float*>(r.in.key.data())), 9, 2, 5, 15, 6};
       },
       {"d_key", "overlaps"}},
      {"d_value over d_out",
       [](FusedRun& r) {
         r.gradient.d_value =
             HeadsOf<float>{const_cast<float*>(static_cast<const float*>(r.gradient.d_out.data())),
                            9,
                            2,
                            5,
                            10,
                            5};
       },
       {"d_value", "overlaps"}},
      {"d_query over out",
       [](FusedRun& r) {
         r.gradient.d_query = HeadsOf<float>{
             const_cast<float*>(static_cast<const float*>(r.gradient.out.data())), 6, 4, 5, 20, 5};
       },
       {"d_query", "overlaps"}},
      {"d_key over d_value",
       [](FusedRun& r) { r.gradient.d_key = r.gradient.d_value; },
       {"overlap"}},
      {"d_value over the value",
       [](FusedRun& r) {
         r.gradient.d_value = HeadsOf<float>{
             const_cast<float*>(static_cast<const float*>(r.in.value.data())), 9, 2, 5, 15, 6};
       },
       {"d_value", "overlaps"}},
      {"a gradient of a bias that is not there", [](FusedRun& r) { r.in.bias = {}; }, {"bias"}},
      {"a gradient of a tile that is not there", [](FusedRun& r) { r.in.tile = {}; }, {"tile"}},
      {"a gradient of a query scale that is not there",
       [](FusedRun& r) { r.in.query_scale = nullptr; },
       {"query scale"}},
      {"a gradient of vectors that are not there",
       [](FusedRun& r) { r.in.vectors.value = nullptr; },
       {"vector"}},
      {"a gradient of a content bias that is not there",
       [](FusedRun& r) { r.in.vectors.content_bias = nullptr; },
       {"content bias"}},
      {"a gradient of a position bias that is not there",
       [](FusedRun& r) { r.in.vectors.position_bias = nullptr; },
       {"position bias"}}};
}

enum class Pass { kForward, kBackward };

// The message of the refusal; all that is written in a run must be as before.
std::string MessageOf(const Refusal& refusal, Pass pass) {
  const FusedCase c = AllTables();
  FusedRun run(MakePlain(c), c);
  refusal.breaks(run);
  UnusedExecutor executor;
  std::string message;
  try {
    if (pass == Pass::kForward) {
      float* log_sum_exp = run.gradient.log_sum_exp == nullptr ? nullptr : run.log_sum_exp.data();
      AttentionForward(run.in, run.gradient.d_query, log_sum_exp, executor);
    } else {
      AttentionBackward(run.in, run.gradient, executor);
    }
    return "accepted";
  } catch (const Error& error) {
    message = error.what();
  }
  for (const FusedResult& result : ResultsOf(run)) {
    EXPECT_TRUE(result.guards_stay) << result.name;
    const auto nan = [](double x) { return std::isnan(x); };
    EXPECT_TRUE(std::all_of(result.got.begin(), result.got.end(), nan)) << result.name;
  }
  return message;
}

void ExpectRefused(const std::vector<Refusal>& refusals, Pass pass) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.broken);
    const std::string message = MessageOf(refusal, pass);
    EXPECT_NE(message, "accepted");
    for (const char* word : refusal.words) EXPECT_THAT(message, testing::HasSubstr(word));
  }
}

TEST(FusedRefusalTest, ShapesThatDoNotFit) {
  ExpectRefused(RefusalsOfShapes(), Pass::kForward);
  ExpectRefused(RefusalsOfShapes(), Pass::kBackward);
}

TEST(FusedRefusalTest, MasksAndPositionsThatDoNotFit) {
  ExpectRefused(RefusalsOfMasks(), Pass::kForward);
  ExpectRefused(RefusalsOfMasks(), Pass::kBackward);
}

TEST(FusedRefusalTest, TablesThatDoNotFit) {
  ExpectRefused(RefusalsOfTables(), Pass::kForward);
  ExpectRefused(RefusalsOfTables(), Pass::kBackward);
}

TEST(FusedRefusalTest, OutputsThatDoNotFit) {
  ExpectRefused(RefusalsOfOutputs(), Pass::kForward);
  ExpectRefused(RefusalsOfOutputs(), Pass::kBackward);
}

TEST(FusedRefusalTest, GradientsThatDoNotFit) {
  ExpectRefused(RefusalsOfGradients(), Pass::kBackward);
}

// The cases above break one rule of something that is accepted.
TEST(FusedRefusalTest, WhatTheCasesStartFromIsAccepted) {
  const FusedCase c = AllTables();
  FusedRun run(MakePlain(c), c);
  EXPECT_NO_THROW(run.Run(SerialExecutor()));
}

}  // namespace
}  // namespace sextant
