// AMX's tiles in plain C++ for tests, by the pseudo code of Intel 64 and IA-32 Architectures
// Software Developer's Manual (SDM), volume 2: LDTILECFG, STTILECFG, TILERELEASE, TILEZERO,
// TILELOADD, TILELOADDT1, TILESTORED, TDPBF16PS, and its exception classes AMX-E1 .. AMX-E6.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace sextant {

// The tiles of one thread. A function returns the exception that its instruction raises, #GP or #UD
// and why, or null. Palette 1: 8 tiles of up to 16 rows of 64 bytes (CPUID leaf 1DH). A processor
// that stops within a load or store goes on at start_row; one that never stops needs it to be 0.
class TileMachine {
 public:
  static constexpr int kTiles = 8, kMostRows = 16, kMostBytes = 64;

  bool configured() const { return configured_; }

  const char* LoadConfig(const void* memory) {
    std::uint8_t bytes[64];
    std::memcpy(bytes, memory, 64);
    if (bytes[0] > 1) return "#GP: palette";
    if (bytes[0] == 0) {
      Release();
      return nullptr;
    }
    if (bytes[1] != 0) return "start_row is not 0, which is for interrupted loads and stores";
    for (int n = 2; n < 64; ++n) {
      const bool reserved = n < 16 || (n >= 32 && n < 48) || n >= 56;
      if (reserved && bytes[n] != 0) return "#GP: a reserved byte of the configuration";
    }
    Tile tiles[kTiles] = {};
    for (int t = 0; t < kTiles; ++t) {
      std::uint16_t row_bytes = 0;
      std::memcpy(&row_bytes, bytes + 16 + 2 * t, 2);
      tiles[t].row_bytes = row_bytes;
      tiles[t].rows = bytes[48 + t];
      if (tiles[t].row_bytes > kMostBytes) return "#GP: too many bytes in a row";
      if (tiles[t].rows > kMostRows) return "#GP: too many rows";
      if ((tiles[t].rows == 0) != (tiles[t].row_bytes == 0)) return "#GP: half a tile";
    }
    std::memcpy(tiles_, tiles, sizeof tiles_);
    configured_ = true;
    return nullptr;
  }

  void StoreConfig(void* memory) const {
    std::uint8_t bytes[64] = {};
    bytes[0] = configured_ ? 1 : 0;
    for (int t = 0; t < kTiles; ++t) {
      const auto row_bytes = static_cast<std::uint16_t>(tiles_[t].row_bytes);
      std::memcpy(bytes + 16 + 2 * t, &row_bytes, 2);
      bytes[48 + t] = static_cast<std::uint8_t>(tiles_[t].rows);
    }
    std::memcpy(memory, bytes, 64);
  }

  void Release() { *this = TileMachine(); }

  const char* Zero(int tile) {
    if (!Valid(tile)) return "#UD: no such tile";
    std::memset(tiles_[tile].data, 0, sizeof tiles_[tile].data);
    return nullptr;
  }

  const char* Load(int tile, std::uintptr_t from, std::uint64_t stride) {
    if (const char* fault = Zero(tile)) return fault;
    if (tiles_[tile].row_bytes % 4 != 0) return "#UD: bytes in a row are no multiple of 4";
    for (int row = 0; row < tiles_[tile].rows; ++row) {
      std::memcpy(tiles_[tile].data[row], Pointer(from + std::uint64_t(row) * stride),
                  std::size_t(tiles_[tile].row_bytes));
    }
    return nullptr;
  }

  const char* Store(int tile, std::uintptr_t to, std::uint64_t stride) const {
    if (!Valid(tile)) return "#UD: no such tile";
    if (tiles_[tile].row_bytes % 4 != 0) return "#UD: bytes in a row are no multiple of 4";
    for (int row = 0; row < tiles_[tile].rows; ++row) {
      std::memcpy(Pointer(to + std::uint64_t(row) * stride), tiles_[tile].data[row],
                  std::size_t(tiles_[tile].row_bytes));
    }
    return nullptr;
  }

  // sum [m, n] += a [m, k] b [k, n], in pairs of bfloat16.
  const char* AddProduct(int sum, int a, int b) {
    if (sum == a || sum == b || a == b) return "#UD: a tile twice";
    if (!Valid(sum) || !Valid(a) || !Valid(b)) return "#UD: no such tile";
    Tile &c = tiles_[sum], &left = tiles_[a], &right = tiles_[b];
    for (const Tile* tile : {&c, &left, &right}) {
      if (tile->row_bytes % 4 != 0) return "#UD: bytes in a row are no multiple of 4";
    }
    if (c.row_bytes != right.row_bytes) return "#UD: columns of the sums and of b";
    if (c.rows != left.rows) return "#UD: rows of the sums and of a";
    if (left.row_bytes / 4 != right.rows) return "#UD: pairs of a and of b";
    for (int m = 0; m < c.rows; ++m) {
      for (int n = 0; n < c.row_bytes / 4; ++n) {
        float low = 0, high = 0;
        for (int k = 0; k < right.rows; ++k) {
          low = MultiplyAdd(left.Half(m, 2 * k), right.Half(k, 2 * n), low);
          high = MultiplyAdd(left.Half(m, 2 * k + 1), right.Half(k, 2 * n + 1), high);
        }
        c.SetSum(m, n, Add(c.Sum(m, n), Add(low, high)));
      }
    }
    return nullptr;
  }

 private:
  struct Tile {
    int rows = 0, row_bytes = 0;
    std::uint8_t data[kMostRows][kMostBytes] = {};  // zeros past rows and row_bytes

    float Half(int row, int n) const {
      std::uint16_t half = 0;
      std::memcpy(&half, data[row] + 2 * n, 2);
      const std::uint32_t bits = std::uint32_t{half} << 16;
      float number = 0;
      std::memcpy(&number, &bits, 4);
      return number;
    }
    float Sum(int row, int n) const {
      float number = 0;
      std::memcpy(&number, data[row] + 4 * n, 4);
      return number;
    }
    void SetSum(int row, int n, float number) { std::memcpy(data[row] + 4 * n, &number, 4); }
  };

  static void* Pointer(std::uintptr_t address) {
    void* pointer = nullptr;
    std::memcpy(&pointer, &address, sizeof pointer);
    return pointer;
  }
  // "DAZ=FTZ=1, RNE rounding. MXCSR is neither consulted nor updated": a signal handler starts with
  // rounding to nearest even and keeps denormals, which are flushed here.
  static float Flushed(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }
  static float MultiplyAdd(float x, float y, float sum) {
    return Flushed(std::fma(Flushed(x), Flushed(y), Flushed(sum)));
  }
  static float Add(float x, float y) { return Flushed(Flushed(x) + Flushed(y)); }

  bool Valid(int tile) const {
    return configured_ && tile >= 0 && tile < kTiles && tiles_[tile].rows > 0;
  }

  bool configured_ = false;
  Tile tiles_[kTiles];
};

}  // namespace sextant
