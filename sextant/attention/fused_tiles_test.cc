// Fused attention of bfloat16 with its products on AMX's tiles, emulated where the processor has
// none, against the plain double computation: sizes about the edges of tiles, masks, NaN, and the
// same bits on any executor.
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <vector>

#include "sextant/attention/fused_run.h"
#include "sextant/kernels/tile_emulator.h"

#ifdef SEXTANT_EMULATES_TILES

namespace sextant {
namespace {

// As in fused_pairs_test.cc: the weights are rounded alike, only the order of sums differs.
constexpr FusedBounds kBounds{0x1p-8, 1e-5, 0x1p-7};

class FusedTilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TileEmulator::Possible()) GTEST_SKIP() << "the system keeps the processor's tiles back";
    if (!PairProductsServed()) {
      GTEST_SKIP() << "this processor has no AVX512_BF16, which rounds the weights for tiles";
    }
  }
  void TearDown() override {
    std::printf("%lld AMX instructions emulated%s\n", emulator_.instructions(),
                TileProductsServed() ? ": the processor's own ran" : "");
  }
  long long instructions() const { return emulator_.instructions(); }

 private:
  const TileEmulator emulator_;
};

std::vector<double> OutputByTiles(const PlainAttention& plain, const FusedCase& c,
                                  const PlainResult& right, FusedErrors& errors) {
  FusedRun run(plain, c);
  run.in.pair_kernels = &kTilePairs;
  run.Run(SerialExecutor());
  EXPECT_TRUE(TileEmulator::Released());
  ExpectResult(run, right, kBounds, errors);
  return run.out.Values();
}

TEST_F(FusedTilesTest, AgreeWithDoubleWithinTheRoundingOfWeights) {
  std::vector<FusedCase> cases;
  for (Index n : {2, 16, 31, 33, 48, 65}) cases.push_back(Paired(n, n + 3, 19));
  for (Index dim : {1, 16, 31, 33, 64, 80, 128}) cases.push_back(Paired(50, 71, dim));
  cases.push_back(Paired(97, 290, 40));
  for (int mask = 1; mask < 8; ++mask) {
    FusedCase c = Paired(49, 140, 34);
    c.causal = (mask & 1) != 0;
    c.window = (mask & 2) != 0 ? 31 : 0;
    c.padded = (mask & 4) != 0;
    cases.push_back(c);
  }
  FusedErrors errors;
  for (const FusedCase& c : cases) {
    SCOPED_TRACE(Described(c));
    const PlainAttention plain = MakePlain(c);
    const long long before = instructions();
    OutputByTiles(plain, c, Plain(plain), errors);
    if (HasFailure()) return;
    if (!TileProductsServed() && c.queries > 2) {
      ASSERT_GT(instructions(), before) << "no product was large enough for tiles";
    }
  }
  std::printf("pairs on tiles: %zu cases; errors %.1e of the output, %.1e of log_sum_exp\n",
              cases.size(), errors.forward, errors.log_sum_exp);
}

TEST_F(FusedTilesTest, AgreeWithVectors) {
  const FusedCase c = Paired(49, 270, 64);
  const PlainAttention plain = MakePlain(c);
  const PlainResult right = Plain(plain);
  FusedErrors errors;
  const std::vector<double> tiles = OutputByTiles(plain, c, right, errors);
  FusedRun vectors(plain, c);
  vectors.in.pair_kernels = &kVectorPairs;
  vectors.Run(SerialExecutor());
  const std::vector<double> other = vectors.out.Values();
  double difference = 0, size = 0;
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    difference += (tiles[n] - other[n]) * (tiles[n] - other[n]);
    size += tiles[n] * tiles[n];
  }
  // A weight that lies beside the middle between two bfloat16 numbers may round the other way.
  EXPECT_LE(difference, 1e-8 * size);
  EXPECT_GT(difference, 0) << "two orders of sums give the same bits; did tiles run?";
}

TEST_F(FusedTilesTest, GiveTheSameBitsOnAnyExecutor) {
  FusedCase c = Paired(131, 300, 24);
  c.heads = 4;
  c.kv_heads = 2;
  const PlainAttention plain = MakePlain(c);
  ExpectSameBitsOnAnyExecutor(plain, c, [](FusedRun& run) { run.in.pair_kernels = &kTilePairs; });
}

TEST_F(FusedTilesTest, NanInAQueryStaysInItsRow) {
  const FusedCase c = Paired(60, 141, 34);
  PlainAttention plain = MakePlain(c);
  plain.query[std::size_t((20 * c.heads + 1) * c.head_dim + 3)] =
      std::numeric_limits<double>::quiet_NaN();
  FusedErrors errors;
  FusedRun run(plain, c);
  run.in.pair_kernels = &kTilePairs;
  run.Run(SerialExecutor());
  ExpectResult(run, RightEitherWay(plain).Of(run), kBounds, errors);
}

}  // namespace
}  // namespace sextant

#endif
