// The cache on cases that ports got wrong: offsets, rules that change, shifts, biases at decode,
// and refusals that leave it as it was. Every scheme is compared in tests/conformance.
#include "sextant/attention/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

#include "sextant/attention/double_heads.h"
#include "sextant/attention/encode.h"
#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "sextant/schemes/layers.h"
#include "sextant/schemes/positions.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using testing::HasSubstr;

// float32 heads with their numbers.
struct Numbers {
  Numbers(Index count, Index all_heads, Index width) : tokens(count), heads(all_heads), dim(width) {
    values.resize(std::size_t(count * all_heads * width));
  }
  Numbers(Index count, Index all_heads, Index width, Random& random)
      : Numbers(count, all_heads, width) {
    for (float& value : values) value = float(random.Normal());
  }
  // Numbers that bfloat16 and float16 hold too.
  static Numbers Short(Index count, Index all_heads, Index width, Random& random) {
    Numbers numbers(count, all_heads, width, random);
    for (float& value : numbers.values) value = std::round(value * 32) / 32;
    return numbers;
  }
  HeadsOf<float> view() { return DenseHeads(values.data(), tokens, heads, dim); }

  Index tokens, heads, dim;
  std::vector<float> values;
};

std::vector<float> Held(const HeadsIn& heads) {
  const Array<double, 3> values = ToDouble(heads);
  return {values.values().begin(), values.values().end()};
}

KvCacheSettings Settings(Index capacity, Index kv_heads, Index head_dim,
                         KeyMoves moves = KeyMoves::kReencoded, Storage storage = Storage::kF32) {
  KvCacheSettings settings;
  settings.capacity = capacity;
  settings.kv_heads = kv_heads;
  settings.head_dim = head_dim;
  settings.moves = moves;
  settings.storage = storage;
  return settings;
}

PositionList At(std::vector<std::int64_t> positions, std::int64_t length = 0) {
  return PositionList(positions, length);
}

std::vector<std::int64_t> PositionsOf(const KvCache& cache) {
  const auto row = cache.positions().values[0].span();
  return {row.begin(), row.end()};
}

// The keys of one head as a scheme encodes them from scratch, in double.
std::vector<double> Encoded(const Scheme& scheme, Numbers& key, const PositionList& at) {
  return Encode(scheme, {}, at, Side::kKey, ToDouble(key.view()).view()).values();
}

void ExpectClose(const HeadsIn& got, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = ToDouble(got).values();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t n = 0; n < values.size(); ++n) {
    ASSERT_NEAR(values[n], expected[n], tolerance) << n;
  }
}

constexpr const char* kDynamic =
    "rope:rotated_dims=128,frequencies=dynamic,factor=2,original_length=4096";

// A key at 4095 and one at 8191: with the base 10000 kept for the first, pair 8 would be off by 168
// radians; the right base of both is 10000 * 3^(128 / 126) = 30527.7.
TEST(KvCacheTest, DynamicNtkTurnsCachedKeysToTheGrownBase) {
  for (const KeyMoves moves : {KeyMoves::kReencoded, KeyMoves::kTurned}) {
    const SchemePtr scheme = MakeScheme(kDynamic);
    KvCache cache(scheme, {}, Settings(4, 1, 128, moves));
    Numbers key(1, 1, 128), zero(1, 1, 128);
    for (Index pair = 0; pair < 64; ++pair) key.values[std::size_t(pair)] = 1;
    cache.Append(key.view(), zero.view(), At({4095}));
    cache.Append(key.view(), zero.view(), At({8191}));
    const double base = 1e4 * std::pow(3, 128.0 / 126);
    EXPECT_NEAR(base, 30527.7, 0.05);
    const Array<double, 3> keys = ToDouble(cache.keys());
    for (Index pair = 0; pair < 64; ++pair) {
      const double frequency = std::pow(base, -double(pair) / 64);
      for (const auto& [token, position] : {std::pair<Index, double>{0, 4095}, {1, 8191}}) {
        EXPECT_NEAR(keys(0, token, pair), std::cos(position * frequency), 3e-7) << pair;
        EXPECT_NEAR(keys(0, token, pair + 64), std::sin(position * frequency), 3e-7) << pair;
      }
    }
    // Back to the trained length, back to its base.
    cache.Truncate(1);
    EXPECT_EQ(cache.length(), 4096);
    ExpectClose(cache.keys(), Encoded(*scheme, key, At({4095})), 5e-7);
  }
}

// A short prompt, a long one, the short one again: the third answer is the first, bit for bit.
TEST(KvCacheTest, DynamicNtkForgetsALongPrompt) {
  const SchemePtr scheme =
      MakeScheme("rope:rotated_dims=16,frequencies=dynamic,factor=2,original_length=32");
  KvCache cache(scheme, {}, Settings(128, 2, 16));
  Random random(3);
  Numbers key(20, 2, 16, random), value(20, 2, 16, random), query(20, 4, 16, random);
  Numbers long_key(100, 2, 16, random), long_value(100, 2, 16, random);
  const auto answer = [&] {
    Numbers out(20, 4, 16);
    cache.Append(key.view(), value.view(), PositionList::Range(0, 20));
    cache.Attend(query.view(), PositionList::Range(0, 20), out.view());
    cache.Truncate(0);
    return out.values;
  };
  const std::vector<float> first = answer();
  cache.Append(long_key.view(), long_value.view(), PositionList::Range(0, 100));
  cache.Truncate(0);
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(answer(), first);
}

TEST(KvCacheTest, LongRopeKeysCrossTheOriginalLength) {
  const SchemePtr scheme = MakeScheme(
      "rope:rotated_dims=12,frequencies=longrope,factor=32,original_length=4096,short_factors=[1,1,"
      "1.1,1.2,1.5,2],long_factors=[1.1,1.5,4,12,30,60],short_mscale=1.1,long_mscale=1.3");
  for (const KeyMoves moves : {KeyMoves::kReencoded, KeyMoves::kTurned}) {
    KvCache cache(scheme, {}, Settings(8, 1, 12, moves));
    Random random(4);
    Numbers keys(3, 1, 12, random), values(3, 1, 12, random);
    const auto one = [&](Numbers& all, Index n) {
      HeadsOf<float> view = all.view();
      view.data += n * 12;
      view.tokens = 1;
      return view;
    };
    cache.Append(one(keys, 0), one(values, 0), At({3900}));
    cache.Append(one(keys, 1), one(values, 1), At({4095}));  // length 4096: the short list still
    Numbers two = keys;
    two.tokens = 2;
    ExpectClose(cache.keys(), Encoded(*scheme, two, At({3900, 4095}, 4096)), 1e-6);
    cache.Append(one(keys, 2), one(values, 2), At({4096}));
    ExpectClose(cache.keys(), Encoded(*scheme, keys, At({3900, 4095, 4096}, 4097)), 2e-6);
    cache.Truncate(2);
    ExpectClose(cache.keys(), Encoded(*scheme, two, At({3900, 4095}, 4096)), 2e-6);
  }
}

// A length stated ahead holds until something is taken away: all prompts by one list of factors.
TEST(KvCacheTest, AStatedLengthHoldsForAllChunks) {
  const SchemePtr scheme = MakeScheme(
      "rope:rotated_dims=8,frequencies=longrope,factor=4,original_length=16,short_factors=[1,1,1,1]"
      ","
      "long_factors=[1,2,3,4]");
  KvCache cache(scheme, {}, Settings(40, 1, 8));
  Random random(5);
  Numbers key(10, 1, 8, random);
  cache.Append(key.view(), key.view(), PositionList(PositionList::Range(0, 10).positions()));
  const std::vector<float> shortly = Held(cache.keys());
  cache.Truncate(0);
  std::vector<std::int64_t> ten(10);
  for (std::size_t n = 0; n < 10; ++n) ten[n] = std::int64_t(n);
  cache.Append(key.view(), key.view(), PositionList(ten, 40));
  EXPECT_EQ(cache.length(), 40);
  EXPECT_NE(Held(cache.keys()), shortly);
  ExpectClose(cache.keys(), Encoded(*scheme, key, PositionList(ten, 40)), 5e-7);
  Numbers out(1, 1, 8);
  Numbers query(1, 1, 8, random);
  cache.Attend(query.view(), At({9}), out.view());
  EXPECT_EQ(cache.length(), 40);
  cache.Truncate(10);
  EXPECT_EQ(cache.length(), 10);
  EXPECT_EQ(Held(cache.keys()), shortly);
}

// The query of a step that stands past all keys states a longer sequence: keys follow it too.
TEST(KvCacheTest, QueriesAndKeysAreNeverOfTwoRules) {
  const SchemePtr scheme =
      MakeScheme("rope:rotated_dims=8,frequencies=dynamic,factor=2,original_length=16");
  KvCache cache(scheme, {}, Settings(40, 1, 8));
  Random random(6);
  Numbers key(10, 1, 8, random), query(1, 1, 8, random), out(1, 1, 8);
  cache.Append(key.view(), key.view(), PositionList::Range(0, 10));
  cache.Attend(query.view(), At({99}), out.view());
  EXPECT_EQ(cache.length(), 100);
  std::vector<std::int64_t> ten(10);
  for (std::size_t n = 0; n < 10; ++n) ten[n] = std::int64_t(n);
  ExpectClose(cache.keys(), Encoded(*scheme, key, PositionList(ten, 100)), 5e-7);
  cache.Attend(query.view(), At({3}), out.view());
  EXPECT_EQ(cache.length(), 100) << "a query before the end does not shorten the sequence";
}

// What a row of softmax weights is, seen through values of unit vectors.
std::vector<float> RowOf(KvCache& cache, Index heads, std::int64_t position) {
  Numbers query(1, heads, cache.keys().head_dim), out(1, heads, cache.keys().head_dim);
  cache.Attend(query.view(), At({position}), out.view());
  return out.values;
}
void AppendUnitValues(KvCache& cache, Index count) {
  const Index width = cache.keys().head_dim;
  Numbers key(count, 1, width), value(count, 1, width);
  for (Index n = 0; n < count; ++n) value.values[std::size_t(n * width + n)] = 1;
  cache.Append(key.view(), value.view(), PositionList::Range(0, count));
}

// 8 heads, 10 cached keys, 1 query: head 0 adds 0, .5, ... 4.5 up to a constant of the row. Ports
// that built the bias from the query's length of 1 added 0.
TEST(KvCacheTest, AlibiReachesAllCachedKeys) {
  KvCache cache(MakeScheme("alibi:heads=8"), {}, Settings(10, 1, 16));
  AppendUnitValues(cache, 10);
  const std::vector<float> out = RowOf(cache, 8, 9);
  for (Index h = 0; h < 8; ++h) {
    const double slope = std::pow(2, -double(h + 1));
    for (Index j = 0; j < 10; ++j) {
      EXPECT_NEAR(std::log(double(out[std::size_t(h * 16 + j)] / out[std::size_t(h * 16)])),
                  slope * double(j), 1e-6)
          << h << " " << j;
    }
  }
}

// The bias row of query t is that of the distances t .. 0. Buckets of 32 and 128, causal: below 16
// the distance itself, then 16 + floor(16 ln(d / 16) / ln 8): 17 at 20, 18 at 23.
TEST(KvCacheTest, T5BiasIsThatOfAllDistancesAtEveryStep) {
  const SchemePtr scheme = MakeScheme("t5:heads=1");
  std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
  ASSERT_EQ(weights[0].size(), 32u);
  for (std::size_t bucket = 0; bucket < 32; ++bucket) {
    weights[0][bucket] = std::sin(double(bucket) + 1);
  }
  KvCache cache(scheme, weights, Settings(24, 1, 24));
  AppendUnitValues(cache, 24);
  for (const Index t : {0, 1, 9, 23}) {
    const std::vector<float> out = RowOf(cache, 1, t);
    for (Index j = 0; j < 24; ++j) {
      const Index d = t - j;
      if (d < 0) {
        EXPECT_EQ(out[std::size_t(j)], 0);
        continue;
      }
      const Index bucket = d < 16 ? d : d < 19 ? 16 : d < 21 ? 17 : 18;
      if (d == 18 || d == 19 || d == 21 || d == 22) continue;  // near an edge of a bucket
      EXPECT_NEAR(std::log(double(out[std::size_t(j)] / out[std::size_t(t)])),
                  std::sin(double(bucket) + 1) - std::sin(1.0), 1e-6)
          << t << " " << j;
    }
  }
}

// Positions are of tokens ever seen, not of rows kept: an eviction moves nothing by itself.
TEST(KvCacheTest, DroppedTokensDoNotMoveTheNextOnes) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=8");
  KvCache cache(scheme, {}, Settings(8, 1, 8));
  Random random(7);
  Numbers key(8, 1, 8, random);
  HeadsOf<float> seven = key.view(), last = key.view();
  seven.tokens = 7;
  last.tokens = 1;
  last.data += 7 * 8;
  cache.Append(seven, seven, PositionList::Range(0, 7));
  cache.Drop(1, 3);
  cache.Append(last, last, At({7}));
  EXPECT_THAT(PositionsOf(cache), testing::ElementsAre(0, 4, 5, 6, 7));
  const std::vector<double> all = Encoded(*scheme, key, PositionList::Range(0, 8));
  std::vector<double> kept(all.begin(), all.begin() + 8);
  kept.insert(kept.end(), all.begin() + 4 * 8, all.end());
  ExpectClose(cache.keys(), kept, 5e-7);
}

// Two drafted tokens, one refused: the next stands where the refused one stood.
TEST(KvCacheTest, DraftsAreTakenBack) {
  KvCache cache(MakeScheme("rope:rotated_dims=8"), {}, Settings(12, 1, 8));
  Random random(8);
  Numbers key(10, 1, 8, random);
  HeadsOf<float> part = key.view();
  part.tokens = 7;
  cache.Append(part, part, PositionList::Range(0, 7));
  part.tokens = 2;
  cache.Append(part, part, At({7, 8}));
  cache.Truncate(8);
  part.tokens = 1;
  cache.Append(part, part, At({8}));
  EXPECT_THAT(PositionsOf(cache), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

// Sequences of a batch have caches of their own; a step of one token each is that of each alone.
TEST(KvCacheTest, ABatchOfOneTokenEachIsEachAlone) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=64");
  Random random(9);
  Numbers first(1, 16, 64, random), second(1, 16, 64, random);
  for (Numbers* key : {&first, &second}) {
    KvCache cache(scheme, {}, Settings(2, 16, 64));
    cache.Append(key->view(), key->view(), At({7}));
    ExpectClose(cache.keys(), Encoded(*scheme, *key, At({7})), 5e-7);
  }
}

// StreamingLLM: four sinks and a window; the oldest of the window goes, the rest moves down. What
// is held is what a new cache of the same tokens at the same places holds, bit for bit.
TEST(KvCacheTest, ARollingWindowKeepsTheBitsOfANewCache) {
  for (const Storage storage : {Storage::kF32, Storage::kBf16, Storage::kF16}) {
    const SchemePtr scheme = MakeScheme("rope:rotated_dims=16");
    KvCache cache(scheme, {}, Settings(20, 2, 16, KeyMoves::kReencoded, storage));
    Random random(10);
    Numbers key = Numbers::Short(200, 2, 16, random), value = Numbers::Short(200, 2, 16, random);
    const auto rows = [&](Numbers& all, Index first, Index count) {
      HeadsOf<float> view = all.view();
      view.data += first * 32;
      view.tokens = count;
      return view;
    };
    cache.Append(rows(key, 0, 20), rows(value, 0, 20), PositionList::Range(0, 20));
    for (Index n = 20; n < 200; ++n) {
      cache.Shift(4, 1);
      cache.Append(rows(key, n, 1), rows(value, n, 1), At({19}));
    }
    KvCache fresh(scheme, {}, Settings(20, 2, 16, KeyMoves::kReencoded, storage));
    fresh.Append(rows(key, 0, 4), rows(value, 0, 4), PositionList::Range(0, 4));
    fresh.Append(rows(key, 184, 16), rows(value, 184, 16), PositionList::Range(4, 16));
    EXPECT_EQ(PositionsOf(cache), PositionsOf(fresh));
    EXPECT_EQ(Held(cache.keys()), Held(fresh.keys()));
    EXPECT_EQ(Held(cache.values()), Held(fresh.values()));
    Numbers query(3, 4, 16, random), out(3, 4, 16), right(3, 4, 16);
    cache.Attend(query.view(), At({17, 18, 19}), out.view());
    fresh.Attend(query.view(), At({17, 18, 19}), right.view());
    EXPECT_EQ(out.values, right.values);
  }
}

// Turned in place, each move rounds again. A turn by less than half a unit of the storage is
// rounded away, so that n small ones are off by up to n units, as slow pairs are in 16 bits.
TEST(KvCacheTest, TurnedKeysDriftByTheRoundingStated) {
  constexpr Index kTokens = 170, kMoves = 150, kWidth = 64;
  for (const auto& [storage, unit] :
       {std::pair(Storage::kF32, 0x1p-22), {Storage::kBf16, 0x1p-8}, {Storage::kF16, 0x1p-11}}) {
    const SchemePtr scheme = MakeScheme("rope:rotated_dims=64");
    KvCache cache(scheme, {}, Settings(kTokens, 1, kWidth, KeyMoves::kTurned, storage));
    Random random(11);
    Numbers key = Numbers::Short(kTokens, 1, kWidth, random);
    cache.Append(key.view(), key.view(), PositionList::Range(0, kTokens));
    for (Index n = 0; n < kMoves; ++n) cache.Shift(0, 1);
    Numbers left(kTokens - kMoves, 1, kWidth);
    std::copy(key.values.end() - std::ptrdiff_t(left.values.size()), key.values.end(),
              left.values.begin());
    const std::vector<double> right =
        Encoded(*scheme, left, PositionList::Range(0, kTokens - kMoves));
    const std::vector<double> got = ToDouble(cache.keys()).values();
    double worst = 0;
    for (std::size_t n = 0; n < got.size(); n += kWidth) {
      double off = 0, length = 0;
      for (std::size_t c = n; c < n + kWidth; ++c) {
        off += (got[c] - right[c]) * (got[c] - right[c]);
        length += right[c] * right[c];
      }
      worst = std::max(worst, std::sqrt(off / length));
    }
    std::printf("150 turns: off by %.1e of a key's length, stated %.1e\n", worst, kMoves * unit);
    EXPECT_LE(worst, kMoves * unit);
    EXPECT_GT(worst, storage == Storage::kF32 ? 0 : 5 * unit);
  }
}

// Three axes: an image of 4 x 6 cells after ten tokens of text, text after it from 16 on. Dropping
// the text moves time, rows and columns alike.
TEST(KvCacheTest, ImagesShiftOnAllAxes) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=16,axes=sections,sections=[2,3,3]");
  const MropeBlock blocks[] = {TextBlock{10}, GridBlock{4, 6}, TextBlock{3}};
  const PositionList at(MropePositionsOf(blocks).positions);
  const Index count = at.positions().count();
  ASSERT_EQ(count, 37);
  KvCacheSettings settings = Settings(40, 2, 16);
  settings.axes = 3;
  KvCache cache(scheme, {}, settings);
  Random random(12);
  Numbers key(count, 2, 16, random), value(count, 2, 16, random), query(count, 2, 16, random);
  cache.Append(key.view(), value.view(), at);
  EXPECT_EQ(cache.length(), 19);
  cache.Shift(0, 10);
  const MropeBlock left[] = {GridBlock{4, 6}, TextBlock{3}};
  const PositionList moved(MropePositionsOf(left).positions);
  for (Index axis = 0; axis < 3; ++axis) {
    for (Index n = 0; n < 27; ++n) {
      EXPECT_EQ(cache.positions().values(axis, n), moved.positions().values(axis, n));
    }
  }
  EXPECT_EQ(cache.length(), 9);
  Numbers rest(27, 2, 16);
  std::copy(key.values.begin() + 320, key.values.end(), rest.values.begin());
  const Array<double, 3> right =
      Encode(*scheme, {}, moved, Side::kKey, ToDouble(rest.view()).view());
  ExpectClose(cache.keys(), right.values(), 5e-7);
  // The image again: its rows and columns cannot go below 0.
  cache.Truncate(0);
  Array<std::int64_t, 2> low({3, 2});
  low.values() = {5, 9, 5, 9, 5, 3};
  HeadsOf<float> two = key.view();
  two.tokens = 2;
  cache.Append(two, two, PositionList(low));
  EXPECT_THROW(cache.Shift(0, 1), Error);
  EXPECT_EQ(cache.positions().values(2, 1), 3);
}

// Layers share tables: the second cache fills none.
TEST(KvCacheTest, LayersShareTheirTables) {
  TableCache tables(1 << 20);
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=8+alibi:heads=2");
  KvCacheSettings settings = Settings(16, 1, 8);
  settings.run.tables = &tables;
  std::vector<KvCache> layers;
  for (int layer = 0; layer < 3; ++layer) {
    layers.emplace_back(scheme, std::vector<std::vector<double>>(), settings);
  }
  Random random(13);
  Numbers key(4, 1, 8, random), query(4, 2, 8, random);
  std::vector<std::vector<float>> outs;
  TableCache::Usage first;
  for (KvCache& layer : layers) {
    layer.Append(key.view(), key.view(), PositionList::Range(0, 4));
    Numbers out(4, 2, 8);
    layer.Attend(query.view(), PositionList::Range(0, 4), out.view());
    outs.push_back(out.values);
    if (outs.size() == 1) first = tables.usage();
  }
  EXPECT_GT(first.misses, 0);
  EXPECT_EQ(tables.usage().misses, first.misses);
  EXPECT_EQ(tables.usage().hits, 3 * first.hits + 2 * first.misses);
  EXPECT_EQ(outs[0], outs[1]);
  EXPECT_EQ(outs[0], outs[2]);
}

// What a cache holds, to see that an error changed nothing.
struct State {
  explicit State(const KvCache& cache)
      : keys(Held(cache.keys())),
        values(Held(cache.values())),
        positions(PositionsOf(cache)),
        length(cache.length()) {}
  bool operator==(const State&) const = default;

  std::vector<float> keys, values;
  std::vector<std::int64_t> positions;
  std::int64_t length;
};

// The message of what `act` throws, having left the cache as it was.
std::string Refusal(KvCache& cache, const std::function<void()>& act) {
  const State before(cache);
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(State(cache), before) << error.what();
    return error.what();
  }
  return "accepted";
}

class KvCacheRefusalTest : public testing::Test {
 protected:
  KvCache Make(const std::string& spec, KeyMoves moves = KeyMoves::kReencoded,
               Storage storage = Storage::kF32) {
    const SchemePtr scheme =
        MakeScheme(spec, {{"heads", 2}, {"head_dim", 8}, {"model_dim", 8}, {"context", 64}});
    KvCache cache(scheme, ZeroWeights(*scheme), Settings(8, 1, 8, moves, storage));
    HeadsOf<float> five = key_.view();
    five.tokens = 5;
    cache.Append(five, five, PositionList::Range(0, 5));
    return cache;
  }
  HeadsOf<float> Rows(Index count) {
    HeadsOf<float> rows = key_.view();
    rows.tokens = count;
    return rows;
  }
  std::string RefusedAppend(KvCache& cache, Index count, const PositionList& at) {
    return Refusal(cache, [&] { cache.Append(Rows(count), Rows(count), at); });
  }

  Random random_{14};
  Numbers key_{10, 1, 8, random_};
};

TEST_F(KvCacheRefusalTest, AFullCacheTakesNoMore) {
  KvCache cache = Make("rope");
  EXPECT_EQ(RefusedAppend(cache, 4, PositionList::Range(5, 4)),
            "kv cache: is full: 5 of 8 tokens are held, 4 more do not fit; make it larger, or drop "
            "or shift tokens first");
  EXPECT_EQ(RefusedAppend(cache, 3, PositionList::Range(5, 3)), "accepted");
}

TEST_F(KvCacheRefusalTest, PositionsAreChecked) {
  KvCache cache = Make("rope");
  EXPECT_EQ(RefusedAppend(cache, 1, At({-1})), "kv cache: positions must not be negative, got -1");
  EXPECT_THAT(RefusedAppend(cache, 1, At({3})), HasSubstr("must not fall, got 3 after 4"));
  EXPECT_THAT(RefusedAppend(cache, 3, At({5, 7, 6})), HasSubstr("must not fall, got 6 after 7"));
  EXPECT_THAT(RefusedAppend(cache, 1, At({std::numeric_limits<std::int64_t>::max()}, 1)),
              HasSubstr("below 2^62"));
  EXPECT_THAT(RefusedAppend(cache, 2, At({5})), HasSubstr("one position, got 1 for 2 keys"));
  Array<std::int64_t, 2> two({2, 1});
  two.values() = {5, 5};
  EXPECT_THAT(RefusedAppend(cache, 1, PositionList(two)), HasSubstr("1 axes, got 2"));
  EXPECT_EQ(RefusedAppend(cache, 1, At({4})), "accepted") << "positions may repeat";
}

TEST_F(KvCacheRefusalTest, ShapesAreChecked) {
  KvCache cache = Make("rope");
  Numbers wide(1, 2, 8), longer(2, 1, 8);
  const auto append = [&](const HeadsIn& key, const HeadsIn& value) {
    return Refusal(cache, [&] { cache.Append(key, value, At({5})); });
  };
  EXPECT_THAT(append(wide.view(), Rows(1)),
              HasSubstr("[tokens, 1, 8], got [1, 2, 8] and [1, 1, 8]"));
  EXPECT_THAT(append(Rows(1), longer.view()), HasSubstr("got [1, 1, 8] and [2, 1, 8]"));
  const auto attend = [&](Numbers& query, Numbers& out, const PositionList& at,
                          const AttentionMask& mask = {}) {
    return Refusal(cache, [&] { cache.Attend(query.view(), at, out.view(), nullptr, mask); });
  };
  Numbers one(1, 2, 8), narrow(1, 2, 4), two(2, 2, 8);
  EXPECT_THAT(attend(narrow, narrow, At({5})), HasSubstr("same head_dim, got 4 and 8"));
  EXPECT_THAT(attend(one, two, At({5})), HasSubstr("out must have the shape of the queries"));
  EXPECT_THAT(attend(one, one, At({5})), HasSubstr("out must not overlap an input"));
  EXPECT_THAT(attend(two, two, At({5})), HasSubstr("one position, got 1 for 2 queries"));
  const std::vector<std::uint8_t> valid(4, 1);
  Numbers out(1, 2, 8);
  EXPECT_THAT(attend(one, out, At({5}), {.key_valid = valid}),
              HasSubstr("key_valid must have 5 entries, got 4"));
  EXPECT_EQ(attend(one, out, At({4})), "accepted");
}

TEST_F(KvCacheRefusalTest, OnlyTokensHeldCanGo) {
  KvCache cache = Make("rope");
  EXPECT_THAT(Refusal(cache, [&] { cache.Truncate(6); }),
              HasSubstr("holds 5 tokens and cannot be truncated to 6"));
  EXPECT_THAT(Refusal(cache, [&] { cache.Truncate(-1); }), HasSubstr("truncated to -1"));
  EXPECT_THAT(Refusal(cache, [&] { cache.Drop(3, 3); }),
              HasSubstr("holds 5 tokens, not 3 from 3 on"));
  EXPECT_THAT(Refusal(cache, [&] { cache.Shift(-1, 2); }), HasSubstr("not 2 from -1 on"));
  EXPECT_THAT(Refusal(cache, [&] { cache.Drop(1, std::numeric_limits<Index>::max()); }),
              HasSubstr("from 1 on"));
}

TEST_F(KvCacheRefusalTest, AddedRowsCannotBeShifted) {
  for (const char* spec : {"sinusoidal", "learned", "sinusoidal+alibi", "learned+rope"}) {
    KvCache cache = Make(spec);
    EXPECT_THAT(Refusal(cache, [&] { cache.Shift(1, 2); }),
                HasSubstr("adds its rows before a model's projections, so keys and values hold "
                          "them mixed in and cannot move"))
        << spec;
    EXPECT_EQ(Refusal(cache, [&] { cache.Shift(3, 2); }), "accepted") << "nothing moves";
    EXPECT_EQ(Refusal(cache, [&] { cache.Drop(1, 1); }), "accepted");
  }
}

TEST_F(KvCacheRefusalTest, TablesEnd) {
  KvCache learned = Make("learned:positions=6");
  EXPECT_THAT(RefusedAppend(learned, 2, At({5, 6})),
              HasSubstr("position 6 is outside the table of 6 positions"));
  EXPECT_EQ(RefusedAppend(learned, 1, At({5})), "accepted");
  for (const char* spec : {"swin:height=2,width=3", "sam:height=2,width=3"}) {
    KvCache window = Make(spec);
    EXPECT_THAT(RefusedAppend(window, 2, At({5, 6})), HasSubstr("outside the window")) << spec;
    Numbers query(1, 2, 8), out(1, 2, 8);
    EXPECT_THAT(Refusal(window, [&] { window.Attend(query.view(), At({6}), out.view()); }),
                HasSubstr("outside the window"))
        << spec;
    EXPECT_EQ(RefusedAppend(window, 1, At({5})), "accepted") << spec;
  }
}

TEST_F(KvCacheRefusalTest, KeysThatCannotFollow) {
  KvCache rope = Make("rope", KeyMoves::kNone);
  EXPECT_THAT(Refusal(rope, [&] { rope.Shift(0, 1); }),
              HasSubstr("made with KeyMoves::kNone; make it with KeyMoves::kReencoded"));
  EXPECT_EQ(Refusal(rope, [&] { rope.Drop(0, 1); }), "accepted");
  KvCache dynamic = Make("rope:frequencies=dynamic,factor=2,original_length=6", KeyMoves::kNone);
  EXPECT_EQ(RefusedAppend(dynamic, 1, At({5})), "accepted");
  EXPECT_THAT(RefusedAppend(dynamic, 1, At({6})), HasSubstr("KeyMoves::kNone"));
  Numbers query(1, 1, 8), out(1, 1, 8);
  EXPECT_THAT(Refusal(dynamic, [&] { dynamic.Attend(query.view(), At({6}), out.view()); }),
              HasSubstr("KeyMoves::kNone"));
  KvCache alibi = Make("alibi", KeyMoves::kNone);
  EXPECT_EQ(Refusal(alibi, [&] { alibi.Shift(0, 1); }), "accepted") << "its keys hold nothing";
}

// xPos keys grow by 0.29^-1 every 512 positions: past float16 at 4608, past float32 later.
TEST_F(KvCacheRefusalTest, KeysTooLargeForTheStorage) {
  KvCache half = Make("xpos", KeyMoves::kReencoded, Storage::kF16);
  EXPECT_THAT(RefusedAppend(half, 1, At({8000})),
              HasSubstr("the encoded key of head 0 of token 5 is too large for the storage"));
  EXPECT_EQ(RefusedAppend(half, 1, At({100})), "accepted");
  KvCache brain = Make("xpos", KeyMoves::kReencoded, Storage::kBf16);
  EXPECT_EQ(RefusedAppend(brain, 1, At({8000})), "accepted");
  // What was infinite may stay so.
  Numbers infinite(1, 1, 8);
  infinite.values[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Refusal(brain, [&] { brain.Append(infinite.view(), infinite.view(), At({8001})); }),
            "accepted");
}

// Past length 6 every key is 0 in float32: what it was can be had from a copy alone.
TEST_F(KvCacheRefusalTest, WhatAMagnitudeTookTurnedKeysCannotGetBack) {
  const std::string spec =
      "rope:frequencies=longrope,factor=4,original_length=6,short_mscale=1,long_mscale=1e-300";
  KvCache again = Make(spec), turned = Make(spec, KeyMoves::kTurned);
  const std::vector<float> before = Held(again.keys());
  EXPECT_EQ(RefusedAppend(again, 2, At({5, 6})), "accepted");
  again.Truncate(5);
  EXPECT_EQ(Held(again.keys()), before);
  EXPECT_EQ(RefusedAppend(turned, 2, At({5, 6})), "accepted");
  EXPECT_THAT(Refusal(turned, [&] { turned.Truncate(5); }),
              HasSubstr("would have to grow more than float32 holds"));
}

// A rotary scheme whose keys are lost at odd positions.
class Lossy final : public Scheme {
 public:
  const SchemeInfo& info() const override { return rope_->info(); }
  Claims claims() const override { return {}; }
  std::vector<Parameter> parameters() const override { return {}; }
  bool offers(Hook hook) const override { return hook == Hook::kRotary; }
  RotaryShape rotary_shape() const override { return rope_->rotary_shape(); }
  void FillRotary(Weights weights, const Positions& at, Side side, View<double, 2> cos,
                  View<double, 2> sin) const override {
    rope_->FillRotary(weights, at, side, cos, sin);
    for (Index n = 0; n < at.count(); ++n) {
      if (at.values(0, n) % 2 != 0) cos(n, 1) = sin(n, 1) = 0;
    }
  }

 private:
  SchemePtr rope_ = MakeScheme("rope:rotated_dims=8");
};

TEST(KvCacheTest, AMagnitudeOfZeroLostATurnedKey) {
  Random random(16);
  Numbers key(4, 1, 8, random);
  for (const KeyMoves moves : {KeyMoves::kReencoded, KeyMoves::kTurned}) {
    KvCache cache(std::make_shared<Lossy>(), {}, Settings(8, 1, 8, moves));
    cache.Append(key.view(), key.view(), PositionList::Range(0, 4));
    const std::string refusal = Refusal(cache, [&] { cache.Shift(0, 1); });
    if (moves == KeyMoves::kReencoded) {
      EXPECT_EQ(refusal, "accepted");
      Numbers left(3, 1, 8);
      std::copy(key.values.begin() + 8, key.values.end(), left.values.begin());
      ExpectClose(cache.keys(), Encoded(Lossy(), left, PositionList::Range(0, 3)), 5e-7);
    } else {
      EXPECT_THAT(refusal, HasSubstr("pair 1 at position 1 has a magnitude of 0"));
    }
  }
}

std::string Unmade(const std::string& spec, KvCacheSettings settings,
                   const std::vector<std::vector<double>>& weights = {}) {
  try {
    KvCache cache(MakeScheme(spec), weights, settings);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KvCacheMakingTest, WhatCannotBeACacheIsRefused) {
  const KvCacheSettings good = Settings(8, 2, 8);
  const auto with = [&](auto change) {
    KvCacheSettings settings = good;
    change(settings);
    return Unmade("alibi:heads=4", settings);
  };
  EXPECT_EQ(with([](auto&) {}), "accepted");
  EXPECT_EQ(with([](auto& s) { s.capacity = 0; }), "kv cache: capacity must be at least 1, got 0");
  EXPECT_THAT(with([](auto& s) { s.kv_heads = -1; }), HasSubstr("kv_heads must be at least 1"));
  EXPECT_THAT(with([](auto& s) { s.head_dim = 0; }), HasSubstr("head_dim must be at least 1"));
  EXPECT_THAT(with([](auto& s) { s.capacity = Index{1} << 60; }), HasSubstr("2^46 bytes or more"));
  EXPECT_THAT(with([](auto& s) { s.axes = 0; }), HasSubstr("axes must be 1 to 16, got 0"));
  EXPECT_THAT(with([](auto& s) { s.kv_heads = 3; }), HasSubstr("multiple of key heads"));
  EXPECT_THAT(Unmade("layers:[rope:rotated_dims=8]x3,[none]", good),
              HasSubstr("make a cache for each of the schemes"));
  EXPECT_THAT(Unmade("t5:heads=4", good), HasSubstr("needs weights in the shapes it declares"));
  EXPECT_THAT(Unmade("rope:rotated_dims=16", good), HasSubstr("at most head_dim 8"));
  EXPECT_THAT(Unmade("sinusoidal:model_dim=12", good), HasSubstr("model_dim must be head_dim 8"));
}

// Rows that read the length.
class Stretched final : public Scheme {
 public:
  const SchemeInfo& info() const override { return sinusoidal_->info(); }
  Claims claims() const override { return {}; }
  std::vector<Parameter> parameters() const override { return {}; }
  bool offers(Hook hook) const override { return hook == Hook::kAdditive; }
  Index model_dim() const override { return 8; }
  void FillAdditive(Weights, const Positions& at, View<double, 2> rows) const override {
    for (Index n = 0; n < at.count(); ++n) {
      for (Index c = 0; c < 8; ++c) rows(n, c) = 1 / double(at.length);
    }
  }

 private:
  SchemePtr sinusoidal_ = MakeScheme("sinusoidal:model_dim=8");
};

TEST(KvCacheMakingTest, RowsThatChangeWithTheLengthAreRefused) {
  try {
    KvCache cache(std::make_shared<Stretched>(), {}, Settings(8, 2, 8));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("adds rows that change with the length"));
  }
}

TEST(KvCacheTest, NothingIsSeenInAnEmptyCache) {
  KvCache cache(MakeScheme("rope:rotated_dims=8+alibi:heads=2"), {}, Settings(4, 1, 8));
  Random random(15);
  Numbers query(2, 2, 8, random), out(2, 2, 8, random);
  std::vector<float> sums(4, 1);
  cache.Attend(query.view(), At({0, 1}), out.view(), sums.data());
  for (float x : out.values) EXPECT_EQ(x, 0);
  for (float x : sums) EXPECT_EQ(x, -std::numeric_limits<float>::infinity());
  Numbers none(0, 1, 8), no_query(0, 2, 8);
  cache.Append(none.view(), none.view(), At({}));
  cache.Attend(no_query.view(), At({}), no_query.view());
  EXPECT_EQ(cache.size(), 0);
}

TEST(KvCacheTest, TakesItsMemoryOnce) {
  const SchemePtr rope = MakeScheme("rope:rotated_dims=8"), alibi = MakeScheme("alibi:heads=2");
  const std::size_t position = 16 * 8, side = 16 * 2 * 8 * 4;
  EXPECT_EQ(KvCache(rope, {}, Settings(16, 2, 8)).bytes(), 3 * side + position);
  EXPECT_EQ(KvCache(rope, {}, Settings(16, 2, 8, KeyMoves::kTurned)).bytes(), 2 * side + position);
  EXPECT_EQ(KvCache(alibi, {}, Settings(16, 2, 8)).bytes(), 2 * side + position);
  EXPECT_EQ(KvCache(rope, {}, Settings(16, 2, 8, KeyMoves::kReencoded, Storage::kBf16)).bytes(),
            3 * side / 2 + position);
}

}  // namespace
}  // namespace sextant
