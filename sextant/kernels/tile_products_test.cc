// Products on tiles: the machine code for processors with AMX, run here by an emulator where the
// processor has none, against double precision and against AVX512_BF16.
#include "sextant/kernels/tile_products.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "sextant/kernels/tile_emulator.h"

#ifdef SEXTANT_EMULATES_TILES

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "sextant/core/half.h"
#include "sextant/core/random.h"

namespace sextant {
namespace {

#define SKIP_WITHOUT_TILES()                                          \
  if (!TileEmulator::Possible()) {                                    \
    GTEST_SKIP() << "the system keeps the processor's tiles from us"; \
  }                                                                   \
  const TileEmulator emulator;                                        \
  const CountAtEnd count_at_end(emulator)

class CountAtEnd {
 public:
  explicit CountAtEnd(const TileEmulator& emulator) : emulator_(emulator) {}
  ~CountAtEnd() {
    std::printf("%lld AMX instructions emulated%s\n", emulator_.instructions(),
                TileProductsServed() ? ": the processor's own ran" : "");
  }
  CountAtEnd(const CountAtEnd&) = delete;
  CountAtEnd& operator=(const CountAtEnd&) = delete;

 private:
  const TileEmulator& emulator_;
};

// Rows of 4-byte elements whose first byte follows, or whose last byte comes before, a page that
// ends the program when it is touched. Gaps between rows hold NaN.
enum class Fence { kBefore, kBehind };
template <class T>
class Fenced {
 public:
  Fenced(Index rows, Index width, Index stride, Fence fence)
      : rows_(rows), width_(width), stride_(stride) {
    static_assert(sizeof(T) == 4);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto bytes = std::size_t(rows == 0 ? 0 : (rows - 1) * stride + width) * sizeof(T);
    const std::size_t inside = (bytes + page - 1) / page * page;
    size_ = inside + 2 * page;
    all_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(all_, MAP_FAILED);
    auto* first = static_cast<std::uint8_t*>(all_) + page;
    EXPECT_TRUE(inside == 0 || mprotect(first, inside, PROT_READ | PROT_WRITE) == 0);
    words_ = inside / sizeof(T);
    void* start = first;
    std::fill(static_cast<std::uint32_t*>(start), static_cast<std::uint32_t*>(start) + words_,
              kNaN);
    start_ = static_cast<T*>(start);
    data_ = start_ + (fence == Fence::kBefore ? 0 : (inside - bytes) / sizeof(T));
  }
  ~Fenced() { munmap(all_, size_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  T* data() { return data_; }
  T& At(Index row, Index n) { return data_[row * stride_ + n]; }
  Index stride() const { return stride_; }
  // Whether all that is between and around the rows is as it was.
  bool GuardsStay() const {
    for (std::size_t n = 0; n < words_; ++n) {
      const Index at = start_ + n - data_;
      const bool inside = at >= 0 && at / stride_ < rows_ && at % stride_ < width_;
      std::uint32_t word = 0;
      std::memcpy(&word, start_ + n, sizeof word);
      if (!inside && word != kNaN) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kNaN = 0xffffffffu;  // of float32 and of both halves of a pair
  Index rows_, width_, stride_;
  void* all_ = nullptr;
  std::size_t size_ = 0, words_ = 0;
  T *start_ = nullptr, *data_ = nullptr;
};

double Low(Pair pair) { return FromBf16Bits(std::uint16_t(pair & 0xffffu)); }
double High(Pair pair) { return FromBf16Bits(std::uint16_t(pair >> 16)); }
Pair PairOf(double low, double high) { return Pair{Bf16Bits(low)} | Pair{Bf16Bits(high)} << 16; }

struct Shape {
  Index rows, pairs, panels, width, a_gap, c_gap;
};

// Operands of a shape between fences.
struct Operands {
  Operands(const Shape& s, Fence fence, Random& random)
      : shape(s),
        columns(s.panels * s.width),
        a(s.rows, s.pairs, s.pairs + s.a_gap, fence),
        b(s.panels * s.pairs, s.width, s.width, fence),
        c(s.rows, columns, columns + s.c_gap, fence) {
    const auto pair = [&] { return PairOf(random.Normal(), random.Normal()); };
    for (Index i = 0; i < s.rows; ++i) {
      for (Index p = 0; p < s.pairs; ++p) a.At(i, p) = pair();
      for (Index j = 0; j < columns; ++j) c.At(i, j) = float(random.Normal());
    }
    for (Index p = 0; p < s.panels * s.pairs; ++p) {
      for (Index j = 0; j < s.width; ++j) b.At(p, j) = pair();
    }
  }
  Pair& B(Index p, Index j) { return b.At(j / shape.width * shape.pairs + p, j % shape.width); }
  void Run(void (*product)(PairRows, Index, Index, PairPanels, PairStart, float*, Index, Index),
           PairStart start) {
    product({a.data(), a.stride()}, shape.rows, shape.pairs, {b.data(), shape.width}, start,
            c.data(), c.stride(), columns);
  }
  std::vector<float> Sums() {
    std::vector<float> sums;
    for (Index i = 0; i < shape.rows; ++i) {
      for (Index j = 0; j < columns; ++j) sums.push_back(c.At(i, j));
    }
    return sums;
  }

  Shape shape;
  Index columns;
  Fenced<Pair> a, b;
  Fenced<float> c;
};

// The right values, and what the header lets each be off by.
struct Right {
  Right(Operands& of, PairStart start) {
    for (Index i = 0; i < of.shape.rows; ++i) {
      for (Index j = 0; j < of.columns; ++j) {
        double sum = start == PairStart::kSums ? double(of.c.At(i, j)) : 0, sizes = std::abs(sum);
        for (Index p = 0; p < of.shape.pairs; ++p) {
          const Pair x = of.a.At(i, p), y = of.B(p, j);
          sum += Low(x) * Low(y) + High(x) * High(y);
          sizes += std::abs(Low(x) * Low(y)) + std::abs(High(x) * High(y));
        }
        sums.push_back(sum);
        bounds.push_back(double(of.shape.pairs) * (sizes * 0x1p-23 + 0x1p-125));
      }
    }
  }
  std::vector<double> sums, bounds;
};

void ExpectNear(const std::vector<float>& got, const Right& right, const char* who) {
  ASSERT_EQ(got.size(), right.sums.size());
  for (std::size_t n = 0; n < got.size(); ++n) {
    ASSERT_NEAR(double(got[n]), right.sums[n], right.bounds[n]) << who << " at " << n;
  }
}

void CheckShape(const Shape& shape, PairStart start, Random& random) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.pairs << " pairs x "
                                  << shape.panels << " x " << shape.width);
  const Fence fence = random.Below(2) == 0 ? Fence::kBefore : Fence::kBehind;
  Operands operands(shape, fence, random);
  const std::vector<float> before = operands.Sums();
  const Right right(operands, start);
  operands.Run(TileProduct, start);
  ASSERT_TRUE(TileEmulator::Released());
  const std::vector<float> tiles = operands.Sums();
  ExpectNear(tiles, right, "tiles");
  ASSERT_TRUE(operands.c.GuardsStay());
  ASSERT_TRUE(operands.a.GuardsStay() && operands.b.GuardsStay());
  if (!PairProductsServed()) return;
  for (Index i = 0; i < shape.rows; ++i) {
    for (Index j = 0; j < operands.columns; ++j) {
      operands.c.At(i, j) = before[std::size_t(i * operands.columns + j)];
    }
  }
  operands.Run(kVectorPairs.product, start);
  ExpectNear(operands.Sums(), right, "vectors");
  ASSERT_TRUE(operands.c.GuardsStay());
}

TEST(TileProductsTest, AgreeWithDoubleWithinShapesAndNoFurther) {
  SKIP_WITHOUT_TILES();
  Random random(11);
  // Every number of rows up to past two blocks, then anything.
  for (Index rows = 0; rows <= 40; ++rows) {
    for (const PairStart start : {PairStart::kZero, PairStart::kSums}) {
      CheckShape({rows, 1 + rows * 7 % 20, 1, 16 + 16 * (rows % 6), rows % 3, rows % 5}, start,
                 random);
      if (HasFatalFailure()) return;
    }
  }
  for (Index pairs = 0; pairs <= 50; ++pairs) {
    CheckShape({1 + pairs * 5 % 40, pairs, 1 + pairs % 3, 16 + 16 * (pairs % 4), 1, 2},
               PairStart(pairs % 2), random);
    if (HasFatalFailure()) return;
  }
  for (int n = 0; n < 60; ++n) {
    const auto below = [&](int end) { return Index(random.Below(std::uint64_t(end))); };
    const Index panels = 1 + below(2);
    CheckShape({1 + below(40), 1 + below(70), panels, 16 * (1 + below(panels == 1 ? 8 : 4)),
                below(6), below(30)},
               PairStart(below(2)), random);
    if (HasFatalFailure()) return;
  }
  // What attention asks for: scores of a tile of keys, and its values.
  CheckShape({48, 32, 4, 64, 0, 0}, PairStart::kZero, random);
  CheckShape({48, 40, 2, 64, 0, 128}, PairStart::kZero, random);
  CheckShape({48, 128, 1, 64, 0, 0}, PairStart::kSums, random);
}

TEST(TileProductsTest, AFenceEndsAProgramThatGoesPastIt) {
  SKIP_WITHOUT_TILES();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Random random(3);
  Operands operands({5, 7, 1, 16, 0, 0}, Fence::kBehind, random);
  operands.shape.rows = 6;
  EXPECT_DEATH(operands.Run(TileProduct, PairStart::kZero), "");
}

// An entry of a that is not finite stays in its row, one of b in its column.
TEST(TileProductsTest, KeepInfinitiesAndNaNToTheirRowsAndColumns) {
  SKIP_WITHOUT_TILES();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf};
  Random random(12);
  for (const Shape& shape : {Shape{37, 21, 1, 48, 2, 3}, Shape{7, 40, 2, 64, 0, 0}}) {
    for (const double number : bad) {
      Operands of(shape, Fence::kBehind, random);
      const Index row = shape.rows - 2, column = of.columns - 5, at = shape.pairs - 1;
      of.a.At(row, at) = PairOf(number, 1);
      of.B(at, column) = PairOf(1, number);
      of.Run(TileProduct, PairStart::kZero);
      for (Index i = 0; i < shape.rows; ++i) {
        for (Index j = 0; j < of.columns; ++j) {
          ASSERT_EQ(std::isfinite(of.c.At(i, j)), i != row && j != column) << i << ", " << j;
          if (std::isnan(number) || std::isfinite(of.c.At(i, j))) continue;
          // Both: a's times 1 plus 1 times b's.
          const double right = i == row && j == column ? number
                               : i == row              ? number * Low(of.B(at, j))
                                                       : number * High(of.a.At(i, at));
          ASSERT_EQ(double(of.c.At(i, j)), right) << i << ", " << j;
        }
      }
    }
  }
  // Infinity times 0, and infinity less infinity.
  Operands of({3, 2, 1, 16, 0, 0}, Fence::kBefore, random);
  of.a.At(1, 0) = PairOf(kInf, 1);
  of.B(0, 4) = PairOf(0, 1);
  of.c.At(2, 5) = -std::numeric_limits<float>::infinity();
  of.a.At(2, 1) = PairOf(kInf, 0);
  of.B(1, 5) = PairOf(1, 0);
  of.Run(TileProduct, PairStart::kSums);
  EXPECT_TRUE(std::isnan(of.c.At(1, 4)));
  EXPECT_TRUE(std::isnan(of.c.At(2, 5)));
  EXPECT_TRUE(std::isfinite(of.c.At(0, 4)));
}

TEST(TileProductsTest, CountSubnormalNumbersAsZeros) {
  SKIP_WITHOUT_TILES();
  using Product = decltype(PairKernels::product);
  std::vector<Product> products = {TileProduct};
  if (PairProductsServed()) products.push_back(kVectorPairs.product);
  for (const Product product : products) {
    Random random(13);
    Operands of({2, 1, 1, 16, 0, 0}, Fence::kBefore, random);
    const auto set = [&](Pair a, Pair b, float c) {
      of.a.At(1, 0) = a;
      of.B(0, 3) = b;
      of.c.At(1, 3) = c;
      of.Run(product, PairStart::kSums);
      return of.c.At(1, 3);
    };
    EXPECT_EQ(set(PairOf(0x1p-127, 0), PairOf(0x1p120, 0), 0), 0);
    EXPECT_EQ(set(PairOf(0, 0x1p100), PairOf(0, 0x1p-130), 0.5f), 0.5f);
    EXPECT_EQ(set(PairOf(0, 0), PairOf(1, 1), 0x1p-130f), 0);
    EXPECT_EQ(set(PairOf(0x1p-100, 0), PairOf(0x1p-28, 0), 0), 0);
    EXPECT_EQ(set(PairOf(0x1p-100, 0), PairOf(0x1p-26, 0), 0), 0x1p-126f);
  }
}

// The choice between tiles and vectors, by the shape alone.
TEST(TileProductsTest, SmallProductsTakeVectors) {
  if (!PairProductsServed()) GTEST_SKIP() << "this processor has no AVX512_BF16";
  SKIP_WITHOUT_TILES();
  Random random(14);
  for (const Shape& shape : {Shape{2, 63, 1, 64, 0, 0}, Shape{2, 64, 1, 64, 0, 0}}) {
    const bool pays = TilesPay(shape.rows, shape.pairs);
    EXPECT_EQ(pays, shape.pairs == 64);
    Operands of(shape, Fence::kBehind, random);
    const Right right(of, PairStart::kZero);
    const long long before = emulator.instructions();
    of.Run(kTilePairs.product, PairStart::kZero);
    ExpectNear(of.Sums(), right, "either");
    if (!TileProductsServed()) {
      EXPECT_EQ(emulator.instructions() > before, pays);
    }
  }
}

TEST(TileProductsTest, AreServedWhereTheProcessorHasTiles) {
  if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-bf16")) {
    EXPECT_FALSE(TileProductsServed());
  }
  const PairKernels* best = BestPairKernels();
  if (!PairProductsServed()) {
    EXPECT_EQ(best, nullptr);
  } else {
    EXPECT_EQ(best, TileProductsServed() ? &kTilePairs : &kVectorPairs);
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    EXPECT_EQ(BestPairKernels(), nullptr);
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace
}  // namespace sextant

#endif
