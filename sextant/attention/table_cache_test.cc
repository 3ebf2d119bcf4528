// Kept tables: what makes two keys equal, how the bytes stay bounded, and several threads at once.
#include "sextant/attention/table_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sextant/attention/kernel_tables.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

struct Numbers {
  std::vector<float> values;
  std::size_t bytes() const { return values.size() * sizeof(float); }
};

TableKey KeyOf(int n) { return TableKey("numbers").Add(std::int64_t{n}); }

std::shared_ptr<const Numbers> Ask(TableCache& cache, int n, std::size_t count = 100) {
  return cache.Get<Numbers>(KeyOf(n), [&] { return Numbers{std::vector<float>(count, float(n))}; });
}

TEST(TableCacheTest, ATableIsFilledOnceAndCounted) {
  TableCache cache(1 << 20);
  int fills = 0;
  const auto fill = [&] {
    ++fills;
    return Numbers{{1, 2, 3}};
  };
  const auto first = cache.Get<Numbers>(KeyOf(1), fill);
  const auto again = cache.Get<Numbers>(KeyOf(1), fill);
  EXPECT_EQ(first.get(), again.get());
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(cache.usage().hits, 1);
  EXPECT_EQ(cache.usage().misses, 1);
  EXPECT_EQ(cache.usage().tables, 1u);
  EXPECT_GE(cache.usage().bytes, 3 * sizeof(float));
  cache.Clear();
  EXPECT_EQ(cache.usage().tables, 0u);
  EXPECT_EQ(cache.usage().bytes, 0u);
  EXPECT_EQ(first->values[2], 3) << "a table that is held lives on";
}

TEST(TableCacheTest, TheOneNotAskedForLongestGoesFirst) {
  TableCache cache(3 * 700);  // three of 400 bytes with their keys
  Ask(cache, 1);
  Ask(cache, 2);
  Ask(cache, 3);
  ASSERT_EQ(cache.usage().tables, 3u);
  Ask(cache, 1);
  Ask(cache, 4);
  EXPECT_EQ(cache.usage().tables, 3u);
  EXPECT_LE(cache.usage().bytes, cache.usage().capacity);
  const std::int64_t misses = cache.usage().misses;
  Ask(cache, 1);
  Ask(cache, 3);
  Ask(cache, 4);
  EXPECT_EQ(cache.usage().misses, misses);
  Ask(cache, 2);
  EXPECT_EQ(cache.usage().misses, misses + 1);
}

TEST(TableCacheTest, WhatDoesNotFitIsGivenAndNotKept) {
  TableCache cache(2000);
  Ask(cache, 1);
  EXPECT_EQ(Ask(cache, 2, 1000)->values.size(), 1000u);
  EXPECT_EQ(cache.usage().tables, 1u);
  TableCache none(0);
  EXPECT_EQ(Ask(none, 7)->values[0], 7);
  EXPECT_EQ(none.usage().bytes, 0u);
}

TEST(TableCacheTest, AFillThatThrowsLeavesNothing) {
  TableCache cache(1 << 20);
  EXPECT_THROW(cache.Get<Numbers>(KeyOf(1), []() -> Numbers { throw Error("test", "no table"); }),
               Error);
  EXPECT_EQ(cache.usage().tables, 0u);
  EXPECT_EQ(Ask(cache, 1)->values[0], 1);
}

TEST(TableCacheTest, TheTypeOfATableIsPartOfItsKey) {
  struct Doubles {
    std::vector<double> values;
    std::size_t bytes() const { return values.size() * sizeof(double); }
  };
  TableCache cache(1 << 20);
  Ask(cache, 1);
  EXPECT_EQ(cache.Get<Doubles>(KeyOf(1), [] { return Doubles{{0.5}}; })->values[0], 0.5);
  EXPECT_EQ(cache.usage().tables, 2u);
}

TEST(TableKeyTest, RunsOfPositionsAreShortWhateverTheirLength) {
  const auto size = [](const PositionList& list) {
    return TableKey("t").Add(list.positions()).bytes().size();
  };
  EXPECT_EQ(size(PositionList::Range(0, 10)), size(PositionList::Range(0, 100000)));
  const std::vector<std::int64_t> gap = {0, 1, 2, 4};
  EXPECT_EQ(size(PositionList(gap)), size(PositionList::Range(0, 4)) + 3 * 8);
}

TEST(TableKeyTest, PositionsLengthAndAxesTellKeysApart) {
  const std::vector<std::int64_t> four = {0, 1, 2, 3}, other = {0, 1, 2, 4},
                                  from_one = {1, 2, 3, 4};
  Array<std::int64_t, 2> two({2, 4});
  two.values() = {0, 1, 2, 3, 0, 1, 2, 3};
  const std::vector<std::string> keys = {
      TableKey("t").Add(PositionList(four).positions()).bytes(),
      TableKey("t").Add(PositionList(four, 9).positions()).bytes(),
      TableKey("t").Add(PositionList(other).positions()).bytes(),
      TableKey("t").Add(PositionList(from_one).positions()).bytes(),
      TableKey("t").Add(PositionList(two).positions()).bytes(),
      TableKey("u").Add(PositionList(four).positions()).bytes(),
  };
  for (std::size_t a = 0; a < keys.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(keys[a], keys[b]) << a << " " << b;
  }
  EXPECT_EQ(keys[0], TableKey("t").Add(PositionList::Range(0, 4).positions()).bytes());
}

TEST(SchemeKeyTest, EverySettingAndEveryWeightTellsSchemesApart) {
  const SchemePtr scheme = MakeScheme("t5:heads=2");
  Random random(1);
  std::vector<std::vector<double>> weights = scheme->InitialWeights(random);
  const std::string key = SchemeKey(*scheme, weights);
  EXPECT_EQ(key, SchemeKey(*MakeScheme("t5:heads=2"), weights));
  EXPECT_NE(key, SchemeKey(*MakeScheme("t5:heads=2,max_distance=64"), weights));
  for (std::size_t n : {std::size_t{0}, weights[0].size() - 1}) {
    std::vector<std::vector<double>> trained = weights;
    trained[0][n] += 1e-9;
    EXPECT_NE(key, SchemeKey(*scheme, trained)) << n;
    std::swap(trained[0][n], trained[0][n == 0 ? 1 : 0]);
    EXPECT_NE(key, SchemeKey(*scheme, trained)) << n;
  }
}

// A scheme of one's own that calls itself as another does.
class Doubled final : public Scheme {
 public:
  const SchemeInfo& info() const override { return rope_->info(); }
  Claims claims() const override { return {}; }
  std::vector<Parameter> parameters() const override { return rope_->parameters(); }
  bool offers(Hook hook) const override { return hook == Hook::kRotary; }
  RotaryShape rotary_shape() const override { return rope_->rotary_shape(); }
  void FillRotary(Weights weights, const Positions& at, Side side, View<double, 2> cos,
                  View<double, 2> sin) const override {
    rope_->FillRotary(weights, at, side, cos, sin);
    for (Index n = 0; n < at.count(); ++n) cos(n, 0) *= 2;
  }

 private:
  SchemePtr rope_ = MakeScheme("rope:rotated_dims=8");
};

TEST(SchemeTablesTest, KeptTablesAreTheSchemesOwn) {
  TableCache cache(1 << 20);
  const Doubled doubled;
  const SchemePtr rope = MakeScheme("rope:rotated_dims=8");
  const PositionList at = PositionList::Range(0, 300);
  const KernelTables plain(*rope, {}, DefaultExecutor()),
      kept(*rope, {}, DefaultExecutor(), &cache), other(doubled, {}, DefaultExecutor(), &cache);
  const auto right = plain.Turns(at, Side::kKey), first = kept.Turns(at, Side::kKey),
             again = kept.Turns(at, Side::kKey);
  EXPECT_EQ(first.get(), again.get());
  EXPECT_EQ(first->cos, right->cos);
  EXPECT_EQ(first->sin, right->sin);
  EXPECT_NE(other.Turns(at, Side::kKey)->cos, right->cos);
  // As the contract fills them, by the kernel or rounded once.
  Array<double, 2> cos({300, 4}), sin({300, 4});
  rope->FillRotary({}, at, Side::kKey, cos, sin);
  for (std::size_t n = 0; n < cos.values().size(); ++n) {
    EXPECT_NEAR(first->cos[n], cos.values()[n], 2e-7);
    EXPECT_NEAR(first->sin[n], sin.values()[n], 2e-7);
  }
  doubled.FillRotary({}, at, Side::kKey, cos, sin);
  const auto twice = other.Turns(at, Side::kKey);
  for (std::size_t n = 0; n < cos.values().size(); ++n) {
    EXPECT_EQ(twice->cos[n], float(cos.values()[n]));
    EXPECT_EQ(twice->sin[n], float(sin.values()[n]));
  }
}

TEST(SchemeTablesTest, ThrowsWhatTheFirstPositionWithoutARowThrows) {
  const SchemePtr learned = MakeScheme("learned:positions=200,model_dim=4");
  const std::vector<std::vector<double>> weights = ZeroWeights(*learned);
  TableCache cache(1 << 20);
  for (Executor* executor : {&SerialExecutor(), &DefaultExecutor()}) {
    const KernelTables tables(*learned, weights, *executor, &cache);
    try {
      tables.Rows(PositionList::Range(0, 1000));
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("position 200 is outside"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(cache.usage().tables, 0u);
}

TEST(TableCacheTest, ManyThreadsGetTheirTablesWithinTheBytes) {
  TableCache cache(10 * 700);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(std::uint64_t(thread) + 1);
      for (int n = 0; n < 2000; ++n) {
        const int asked = int(random.Below(20));
        if (Ask(cache, asked)->values[5] != float(asked)) ++wrong;
        if (cache.usage().bytes > cache.usage().capacity) ++wrong;
        if (n % 500 == 499) cache.Clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.usage().hits + cache.usage().misses, 8000);
}

}  // namespace
}  // namespace sextant
