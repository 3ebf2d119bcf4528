// AMX's tiles by hand: Highway 1.0.3 has no target with them, and g++ 12's _tile_loadconfig tells
// the optimiser of 8 bytes of the 64 that it reads. Compiled for every x86-64 with Linux, run where
// tiles are served. Its machine code is tested under emulation (tile_emulator.h); it was never
// timed.
#include "sextant/kernels/tile_products.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define SEXTANT_HAS_TILES 1
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#endif

namespace sextant {

#ifdef SEXTANT_HAS_TILES
namespace {

#define SEXTANT_TILES __attribute__((target("amx-tile,amx-bf16")))

bool ProcessorHasTiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsxsave = 1u << 27, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsxsave) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileState = 1u << 17 | 1u << 18;  // of XCR0: TILECFG and TILEDATA
  return (low & kTileState) == kTileState;
}

bool SystemGrantsTiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, since Linux 5.16
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// A tile is at most 16 rows of 64 bytes: 16 pairs of a, or 16 columns of b or of sums.
constexpr Index kRows = 16, kPairs = 16, kColumns = 16;
// Tiles 0 .. 3 hold sums, then come two for rows of a and two for columns of b.
constexpr int kSumTiles = 4, kLeft = 4, kRight = 6;

template <int tile>
SEXTANT_TILES inline void LoadTile(const void* from, Index stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
               :
               : "r"(from), "r"(stride * Index{sizeof(Pair)}), "i"(tile)
               : "memory");
}

template <int tile>
SEXTANT_TILES inline void StoreTile(float* to, Index stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
               :
               : "r"(to), "r"(stride * Index{sizeof(float)}), "i"(tile)
               : "memory");
}

template <int tile>
SEXTANT_TILES inline void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(tile));
}

template <int sum, int left, int right>
SEXTANT_TILES inline void AddTileProduct() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(left), "i"(right));
}

// What LDTILECFG reads.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  void Set(int tile, Index row_count, Index dwords) {
    rows[tile] = static_cast<std::uint8_t>(row_count);
    row_bytes[tile] = static_cast<std::uint16_t>(dwords * 4);
  }
};
static_assert(sizeof(TileShapes) == 64);

// The thread's tiles, from their first shape on until they are released.
class Tiles {
 public:
  Tiles() = default;
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  SEXTANT_TILES ~Tiles() {
    if (set_) asm volatile("tilerelease" : : : "memory");
  }

  // For sums of rows `upper` and, in odd tiles, `lower`, over `pairs`: each 1 .. 16.
  SEXTANT_TILES void Shape(Index upper, Index lower, Index pairs) {
    if (set_ && upper == upper_ && lower == lower_ && pairs == pairs_) return;
    TileShapes shapes;
    for (int tile = 0; tile < kSumTiles; ++tile) {
      shapes.Set(tile, tile % 2 == 0 ? upper : lower, kColumns);
    }
    shapes.Set(kLeft, upper, pairs);
    shapes.Set(kLeft + 1, lower, pairs);
    shapes.Set(kRight, pairs, kColumns);
    shapes.Set(kRight + 1, pairs, kColumns);
    asm volatile("ldtilecfg %0" : : "m"(shapes));
    set_ = true;
    upper_ = upper;
    lower_ = lower;
    pairs_ = pairs;
  }

 private:
  bool set_ = false;
  Index upper_ = 0, lower_ = 0, pairs_ = 0;
};

// Sums of 16 or 32 rows by up to 64 columns, four tiles at most: tile n holds row tile n %
// row_tiles of column tile n / row_tiles.
template <int row_tiles, int column_tiles>
struct Sums {
  static constexpr int kTiles = row_tiles * column_tiles;
  static_assert(kTiles <= kSumTiles && row_tiles <= 2);

  template <int n>
  static constexpr Index At(Index stride) {
    return n % row_tiles * kRows * stride + n / row_tiles * kColumns;
  }

  template <int n = 0>
  SEXTANT_TILES static inline void Start(PairStart start, const float* c, Index stride) {
    if (start == PairStart::kZero) {
      ZeroTile<n>();
    } else {
      LoadTile<n>(c + At<n>(stride), stride);
    }
    if constexpr (n + 1 < kTiles) Start<n + 1>(start, c, stride);
  }

  template <int n = 0>
  SEXTANT_TILES static inline void Store(float* c, Index stride) {
    StoreTile<n>(c + At<n>(stride), stride);
    if constexpr (n + 1 < kTiles) Store<n + 1>(c, stride);
  }

  // Column tiles take turns in two tiles, so that one is loaded while the other is multiplied.
  template <int column = 0>
  SEXTANT_TILES static inline void AddColumns(PairRows b) {
    constexpr int right = kRight + column % 2, sum = column * row_tiles;
    LoadTile<right>(b.data + column * kColumns, b.stride);
    AddTileProduct<sum, kLeft, right>();
    if constexpr (row_tiles == 2) AddTileProduct<sum + 1, kLeft + 1, right>();
    if constexpr (column + 1 < column_tiles) AddColumns<column + 1>(b);
  }

  SEXTANT_TILES static inline void Add(PairRows a, PairRows b) {
    LoadTile<kLeft>(a.data, a.stride);
    if constexpr (row_tiles == 2) LoadTile<kLeft + 1>(a.data + kRows * a.stride, a.stride);
    AddColumns(b);
  }
};

// Pairs `first` on, `steps` times `depth` of them.
struct Stretch {
  Index first, steps, depth;
  PairStart start;
};

// What TileProduct is given.
struct Product {
  PairRows a;
  Index count, pairs;
  PairPanels b;
  float* c;
  Index c_stride, columns;

  // Adds a stretch of pairs to all sums.
  SEXTANT_TILES inline void Add(const Stretch& s, Tiles& tiles) const {
    const Index blocks = count / (2 * kRows) * (2 * kRows), left = count - blocks;
    if (blocks > 0) {
      tiles.Shape(kRows, kRows, s.depth);
      AddToRows<2>(s, 0, blocks);
    }
    if (left > kRows) {
      tiles.Shape(kRows, left - kRows, s.depth);
      AddToRows<2>(s, blocks, count);
    } else if (left > 0) {
      tiles.Shape(left, left, s.depth);
      AddToRows<1>(s, blocks, count);
    }
  }

 private:
  template <int row_tiles>
  SEXTANT_TILES inline void AddToRows(const Stretch& s, Index from, Index to) const {
    constexpr int kMost = kSumTiles / row_tiles;
    for (Index panel = 0; panel < columns; panel += b.width) {
      const PairRows right{b.data + panel * pairs + s.first * b.width, b.width};
      Index column = 0;
      for (; column + kMost * kColumns <= b.width; column += kMost * kColumns) {
        AddToBlocks<row_tiles, kMost>(s, from, to, {right.data + column, right.stride},
                                      panel + column);
      }
      for (; column < b.width; column += kColumns) {
        AddToBlocks<row_tiles, 1>(s, from, to, {right.data + column, right.stride}, panel + column);
      }
    }
  }

  template <int row_tiles, int column_tiles>
  SEXTANT_TILES inline void AddToBlocks(const Stretch& s, Index from, Index to, PairRows right,
                                        Index column) const {
    using BlockSums = Sums<row_tiles, column_tiles>;
    for (Index row = from; row < to; row += row_tiles * kRows) {
      const Pair* left = a.data + row * a.stride + s.first;
      float* sums = c + row * c_stride + column;
      BlockSums::Start(s.start, sums, c_stride);
      for (Index step = 0; step < s.steps; ++step) {
        BlockSums::Add({left + step * kPairs, a.stride},
                       {right.data + step * kPairs * right.stride, right.stride});
      }
      BlockSums::Store(sums, c_stride);
    }
  }
};

}  // namespace

bool TileProductsServed() {
  static const bool served = ProcessorHasTiles() && SystemGrantsTiles();
  return served;
}

SEXTANT_TILES void TileProduct(PairRows a, Index count, Index pairs, PairPanels b, PairStart start,
                               float* c, Index c_stride, Index columns) {
  Tiles tiles;
  const Product product{a, count, pairs, b, c, c_stride, columns};
  const Index steps = pairs / kPairs, left = pairs % kPairs;
  // Without any pairs this stores what the sums start from.
  if (steps > 0 || left == 0) product.Add({0, steps, kPairs, start}, tiles);
  if (left > 0) {
    product.Add({steps * kPairs, 1, left, steps == 0 ? start : PairStart::kSums}, tiles);
  }
}

#else

bool TileProductsServed() { return false; }
void TileProduct(PairRows, Index, Index, PairPanels, PairStart, float*, Index, Index) {}

#endif

}  // namespace sextant
