// Fused attention at every SIMD target of the machine against the plain double computation: every
// two features together, every mask, sizes about the edges of tiles, head_dims, storages, strides
// and guards, all gradients, and the same bits on any executor.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "sextant/attention/fused_run.h"

namespace sextant {
namespace {

// A case with its right result, which all targets share.
struct Right {
  explicit Right(const FusedCase& of) : c(of), plain(MakePlain(of)), result(Plain(plain)) {}
  FusedCase c;
  PlainAttention plain;
  PlainResult result;
};

std::vector<Right> RightOf(const std::vector<FusedCase>& cases) {
  std::vector<Right> right;
  for (const FusedCase& c : cases) right.emplace_back(c);
  return right;
}

// Runs each case at each target and prints the largest errors.
void ExpectRight(const std::vector<Right>& cases, const char* what,
                 const FusedBounds& bounds = {}) {
  ForEachTarget([&](const char* target) {
    FusedErrors errors;
    for (const Right& right : cases) {
      SCOPED_TRACE(Described(right.c));
      FusedRun run(right.plain, right.c);
      run.Run(SerialExecutor());
      ExpectResult(run, right.result, bounds, errors);
      if (testing::Test::HasFatalFailure()) return;
    }
    std::printf(
        "%s, %s: %zu cases, %lld numbers; errors %.1e of the output, %.1e of "
        "log_sum_exp, %.1e of gradients\n",
        what, target, cases.size(), static_cast<long long>(errors.compared), errors.forward,
        errors.log_sum_exp, errors.backward);
    EXPECT_GT(errors.compared, 0);
  });
}

// One level of each factor.
using Levels = std::vector<int>;

// Which pairs of levels of different factors have met, and how many are left.
class PairsMet {
 public:
  explicit PairsMet(const Levels& counts) : counts_(counts) {
    const std::size_t n = counts.size() * counts.size() * kMost * kMost;
    met_.assign(n, 0);
    for (std::size_t a = 0; a < counts.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) left_ += counts[a] * counts[b];
    }
  }
  int New(const Levels& levels) const { return Count(levels, met_); }
  void Meet(const Levels& levels) { left_ -= Count(levels, met_); }
  int left() const { return left_; }

 private:
  static constexpr std::size_t kMost = 8;  // levels of a factor

  std::size_t Place(const Levels& levels, std::size_t a, std::size_t b) const {
    return ((a * counts_.size() + b) * kMost + std::size_t(levels[a])) * kMost +
           std::size_t(levels[b]);
  }
  int Count(const Levels& levels, const std::vector<char>& met) const {
    int fresh = 0;
    for (std::size_t a = 0; a < levels.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) fresh += met[Place(levels, a, b)] == 0;
    }
    return fresh;
  }
  int Count(const Levels& levels, std::vector<char>& met) {
    const int fresh = Count(levels, std::as_const(met));
    for (std::size_t a = 0; a < levels.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) met[Place(levels, a, b)] = 1;
    }
    return fresh;
  }

  Levels counts_;
  std::vector<char> met_;
  int left_ = 0;
};

// Few choices in which every two levels of different factors meet: of several random ones always
// the one that meets most new pairs.
std::vector<Levels> AllPairs(const Levels& counts) {
  Random random(3);
  PairsMet met(counts);
  std::vector<Levels> chosen;
  while (met.left() > 0) {
    Levels best;
    for (int attempt = 0; attempt < 50; ++attempt) {
      Levels levels;
      for (int count : counts) levels.push_back(int(random.Below(std::uint64_t(count))));
      if (best.empty() || met.New(levels) > met.New(best)) best = levels;
    }
    if (met.New(best) == 0) continue;
    met.Meet(best);
    chosen.push_back(best);
  }
  return chosen;
}

// Every two of these features meet.
std::vector<FusedCase> PairwiseCases() {
  constexpr Index shapes[][2] = {{1, 1}, {7, 5}, {13, 29}, {49, 50}, {30, 129}, {97, 257}};
  constexpr Index heads[][2] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {4, 2}, {3, 3}};
  constexpr Index dims[] = {1, 3, 8, 17, 33};
  constexpr Index windows[] = {0, 1, 9};
  constexpr Table tables[] = {Table::kNone, Table::kShared, Table::kPerHead};
  constexpr Storage stored[] = {Storage::kF32, Storage::kBf16, Storage::kF16};
  const auto is = [](int level) { return level != 0; };
  std::vector<FusedCase> cases;
  for (const Levels& at :
       AllPairs({6, 6, 5, 2, 3, 2, 2, 2, 3, 2, 3, 3, 2, 2, 2, 2, 2, 5, 2, 3, 3, 2, 2, 2})) {
    FusedCase c;
    c.queries = shapes[at[0]][0];
    c.keys = kSanitized ? std::min<Index>(shapes[at[0]][1], 66) : shapes[at[0]][1];
    c.heads = heads[at[1]][0];
    c.kv_heads = heads[at[1]][1];
    c.head_dim = dims[at[2]];
    c.causal = is(at[3]);
    c.window = windows[at[4]];
    c.padded = is(at[5]);
    c.packed = is(at[6]);
    c.cells = is(at[7]);
    c.positions = PositionsOf(at[8]);
    c.bias = is(at[9]);
    c.tile = tables[at[10]];
    c.vectors = tables[at[11]];
    c.vector_key = is(at[12]);
    c.vector_query = is(at[13]);
    c.vector_value = is(at[14]) || !(c.vector_key || c.vector_query);
    c.content_bias = is(at[15]);
    c.position_bias = is(at[16]);
    c.rows = RowsOf(at[17]);
    c.query_scale = is(at[18]);
    c.query_as = stored[at[19]];
    c.key_as = c.value_as = c.out_as = stored[at[20]];
    c.order = is(at[21]) ? HeadOrder::kHeadsFirst : HeadOrder::kTokensFirst;
    c.cover = is(at[22]) ? Cover::kMore : Cover::kExact;
    c.skip = is(at[23]) ? TileSkip::kNever : TileSkip::kWhereProvable;
    cases.push_back(c);
  }
  return cases;
}

TEST(FusedAttentionTest, EveryTwoFeaturesTogetherAgreeWithDouble) {
  ExpectRight(RightOf(PairwiseCases()), "pairs");
}

TEST(FusedAttentionTest, EveryMaskOnEveryKindOfPositionsAgreesWithDouble) {
  std::vector<FusedCase> cases;
  for (int mask = 0; mask < 32; ++mask) {
    for (PositionsOf positions :
         {PositionsOf::kPlaces, PositionsOf::kRun, PositionsOf::kGathered}) {
      FusedCase c{.causal = (mask & 1) != 0,
                  .window = (mask & 2) != 0 ? 6 : 0,
                  .padded = (mask & 4) != 0,
                  .packed = (mask & 8) != 0,
                  .cells = (mask & 16) != 0,
                  .positions = positions};
      cases.push_back(c);
      c.bias = true;
      c.tile = c.vectors = Table::kPerHead;
      c.content_bias = c.position_bias = c.query_scale = true;
      c.rows = mask % 2 == 0 ? RowsOf::kClipped : RowsOf::kDescending;
      std::swap(c.queries, c.keys);
      cases.push_back(c);
    }
  }
  ExpectRight(RightOf(cases), "masks");
}

TEST(FusedAttentionTest, SizesAboutTheEdgesOfTilesAgreeWithDouble) {
  constexpr Index edges[] = {0,  1,  2,   3,   5,   7,   47,  48,  49, 95,
                             96, 97, 127, 128, 129, 255, 256, 257, 513};
  std::vector<FusedCase> cases;
  for (int n = 0; n < 19; ++n) {
    for (int times = 0; times < (kSanitized ? 2 : 5); ++times) {
      FusedCase c{.queries = edges[n], .keys = edges[(n * 7 + times * 4) % 19]};
      c.heads = 1;
      c.head_dim = 1 + 2 * (n % 3);
      c.causal = (n + times) % 2 == 0;
      c.window = times == 3 ? 50 : 0;
      c.bias = times != 1;
      c.query_scale = times == 2;
      if (times >= 3) c.vectors = Table::kPerHead;
      c.rows = times == 3 ? RowsOf::kClipped : RowsOf::kEach;
      if (times == 4 && c.queries > 0 && c.keys > 0) c.positions = PositionsOf::kGathered;
      cases.push_back(c);
    }
  }
  ExpectRight(RightOf(cases), "sizes");
}

// Of a block and a tile at the edge of what is seen, some rows see some keys only.
TEST(FusedAttentionTest, EdgesOfMasksWithinTilesAgreeWithDouble) {
  std::vector<FusedCase> cases;
  for (const Index window : {0, 1, 3, 7, 16, 17, 31, 47, 100, 290}) {
    for (const Index queries : {59, 131}) {
      FusedCase c{.queries = queries, .keys = kSanitized ? 90 : 301, .heads = 1};
      c.head_dim = window % 2 == 0 ? 24 : 32;
      c.window = window;
      c.causal = true;
      c.bias = window % 3 == 0;
      cases.push_back(c);
      c.causal = false;
      if (window == 16) c.vectors = Table::kPerHead;
      if (window == 17) c.tile = Table::kPerHead;
      // The first queries stand before all keys.
      std::swap(c.queries, c.keys);
      cases.push_back(c);
    }
  }
  ExpectRight(RightOf(cases), "edges of masks");
}

TEST(FusedAttentionTest, VectorsOfAnyCountAndOrderOfRowsAgreeWithDouble) {
  std::vector<FusedCase> cases;
  const std::vector<Index> clips = kSanitized
                                       ? std::vector<Index>{0, 31, 130}
                                       : std::vector<Index>{0, 1, 15, 16, 31, 32, 63, 64, 130, 400};
  for (const RowsOf rows :
       {RowsOf::kClipped, RowsOf::kDescending, RowsOf::kBuckets, RowsOf::kArbitrary}) {
    for (Index clip : clips) {
      FusedCase c{.queries = 53, .keys = 270, .heads = 1, .head_dim = 4};
      c.vectors = clip % 2 == 0 ? Table::kShared : Table::kPerHead;
      c.rows = rows;
      c.clip = clip;
      c.causal = clip % 3 == 0;
      c.window = clip % 5 == 0 ? 0 : 2 * clip;
      cases.push_back(c);
      c.positions = PositionsOf::kGathered;
      c.queries = 13;
      cases.push_back(c);
    }
  }
  ExpectRight(RightOf(cases), "rows of vectors");
}

TEST(FusedAttentionTest, HeadDimsAgreeWithDouble) {
  std::vector<FusedCase> cases;
  for (Index dim : {1, 3, 15, 16, 17, 63, 64, 65, 80, 128, 257}) {
    FusedCase c{
        .queries = kSanitized ? 5 : 49, .keys = 130, .heads = 2, .kv_heads = 1, .head_dim = dim};
    c.causal = dim % 2 == 0;
    c.bias = true;
    cases.push_back(c);
    c.queries = 5;
    c.content_bias = c.position_bias = true;
    c.vectors = dim % 2 == 0 ? Table::kShared : Table::kPerHead;
    cases.push_back(c);
  }
  if (!kSanitized) {
    cases.push_back({.queries = 300,
                     .keys = 513,
                     .heads = 2,
                     .head_dim = 64,
                     .causal = true,
                     .bias = true,
                     .vectors = Table::kShared});
  }
  ExpectRight(RightOf(cases), "head_dims");
}

TEST(FusedAttentionTest, EveryStorageOfEveryTensorAgreesWithDouble) {
  constexpr Storage all[] = {Storage::kF32, Storage::kBf16, Storage::kF16};
  std::vector<FusedCase> cases;
  for (Storage query : all) {
    for (Storage key : all) {
      for (Storage value : all) {
        for (Storage out : all) {
          FusedCase c{.queries = 7, .keys = 19, .head_dim = 17, .causal = true, .bias = true};
          c.query_as = query;
          c.key_as = key;
          c.value_as = value;
          c.out_as = out;
          c.order = key == Storage::kBf16 ? HeadOrder::kHeadsFirst : HeadOrder::kTokensFirst;
          cases.push_back(c);
        }
      }
    }
  }
  ExpectRight(RightOf(cases), "storages");
}

TEST(FusedAttentionTest, MoreHeadsThanOnePieceOfWorkAgreeWithDouble) {
  std::vector<FusedCase> cases;
  for (Index group : {1, 2, 4, 8}) {
    FusedCase c{.queries = 100, .keys = 100, .heads = 16, .kv_heads = 16 / group, .head_dim = 8};
    c.causal = true;
    c.bias = true;
    cases.push_back(c);
  }
  ExpectRight(RightOf(cases), "heads");
}

std::vector<FusedCase> CasesOfExecutors() {
  FusedCase all{.queries = 131, .keys = 300, .heads = 4, .kv_heads = 2, .head_dim = 16};
  all.bias = all.content_bias = all.position_bias = all.query_scale = true;
  all.tile = Table::kShared;
  all.vectors = Table::kPerHead;
  if (kSanitized) all.keys = 270;
  std::vector<FusedCase> cases = {all, all, all, all};
  cases[1].causal = true;
  cases[1].heads = cases[1].kv_heads = 1;
  cases[2].positions = PositionsOf::kGathered;
  cases[2].padded = true;
  cases[2].queries = 50;
  cases[3] = {
      .queries = 520, .keys = 520, .heads = 1, .head_dim = 16, .causal = true, .bias = true};
  return cases;
}

TEST(FusedAttentionTest, GivesTheSameBitsOnAnyExecutor) {
  for (const FusedCase& c : CasesOfExecutors()) {
    SCOPED_TRACE(Described(c));
    const PlainAttention plain = MakePlain(c);
    ForEachTarget([&](const char*) { ExpectSameBitsOnAnyExecutor(plain, c, [](FusedRun&) {}); });
  }
}

TEST(FusedAttentionTest, EachTableGradientIsRightAlone) {
  FusedCase c{.queries = 50, .keys = 70, .heads = 4, .kv_heads = 2, .causal = true, .bias = true};
  c.tile = c.vectors = Table::kPerHead;
  c.content_bias = c.position_bias = c.query_scale = true;
  const Right right(c);
  FusedRun all(right.plain, c);
  all.Run(SerialExecutor());
  const auto expect = [&](const char* name, auto AttentionGradient::*wanted) {
    SCOPED_TRACE(name);
    FusedRun run(right.plain, c);
    AttentionGradient one;
    one.out = all.gradient.out;
    one.d_out = all.gradient.d_out;
    one.log_sum_exp = all.gradient.log_sum_exp;
    one.d_query = run.gradient.d_query;
    one.d_key = run.gradient.d_key;
    one.d_value = run.gradient.d_value;
    one.*wanted = run.gradient.*wanted;
    AttentionBackward(run.in, one, SerialExecutor());
    double worst = 0;
    for (const FusedResult& result : ResultsOf(run)) {
      const std::string written = result.name;
      if (written == name || written == "d_query" || written == "d_key" || written == "d_value") {
        const PlainArray& array = right.result.*result.right;
        ExpectArray(result, array.at, array.Largest(), 4e-6, worst);
      } else {
        for (double x : result.got) ASSERT_TRUE(std::isnan(x)) << written << " was not wanted";
      }
    }
  };
  expect("d_bias", &AttentionGradient::d_bias);
  expect("d_tile", &AttentionGradient::d_tile);
  expect("d_vector_key", &AttentionGradient::d_vector_key);
  expect("d_vector_query", &AttentionGradient::d_vector_query);
  expect("d_vector_value", &AttentionGradient::d_vector_value);
  expect("d_content_bias", &AttentionGradient::d_content_bias);
  expect("d_position_bias", &AttentionGradient::d_position_bias);
  expect("d_query_scale", &AttentionGradient::d_query_scale);
}

TEST(FusedAttentionTest, ABackwardPassReadsA16BitOutputWithinItsRounding) {
  for (Storage storage : {Storage::kBf16, Storage::kF16}) {
    FusedCase c{.queries = 50, .keys = 70, .head_dim = 16, .causal = true, .bias = true};
    c.query_as = c.key_as = c.value_as = c.out_as = storage;
    const Right right(c);
    FusedRun run(right.plain, c);
    AttentionForward(run.in, run.out.out(), run.log_sum_exp.data(), SerialExecutor());
    AttentionBackward(run.in, run.gradient, SerialExecutor());
    FusedErrors errors;
    ExpectResult(run, right.result, {.backward = storage == Storage::kBf16 ? 0x1p-7 : 0x1p-10},
                 errors);
  }
}

}  // namespace
}  // namespace sextant
