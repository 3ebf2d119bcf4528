// The emulated tiles themselves: instructions as GNU as 2.40 encodes them, configurations that a
// processor refuses, and the arithmetic of TDPBF16PS where its order and rounding show.
#include "sextant/kernels/tile_emulator.h"

#ifdef SEXTANT_EMULATES_TILES

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sextant/core/half.h"

namespace sextant {
namespace {

using Kind = TileInstruction::Kind;

// Registers whose sums tell which were added: rax is 0x1000, rcx 0x1001, ... r15 0x100f, times 16.
GeneralRegisters Registers() {
  GeneralRegisters registers;
  for (std::size_t n = 0; n < 16; ++n) registers[n] = (0x1000 + n) << 4;
  return registers;
}
constexpr std::uint64_t Register(int number) { return std::uint64_t(0x1000 + number) << 4; }
constexpr int kRax = 0, kRcx = 1, kRdx = 2, kRbx = 3, kRsp = 4, kRbp = 5, kRsi = 6, kRdi = 7;

struct Encoded {
  const char* text;  // as GNU as reads it
  std::vector<std::uint8_t> code;
  TileInstruction right;  // without its length
};

TEST(TileEmulatorTest, ReadsInstructionsAsAnAssemblerWritesThem) {
  const std::vector<Encoded> all = {
      {"tilerelease", {0xc4, 0xe2, 0x78, 0x49, 0xc0}, {Kind::kRelease}},
      {"tilezero %tmm0", {0xc4, 0xe2, 0x7b, 0x49, 0xc0}, {Kind::kZero, 0}},
      {"tilezero %tmm5", {0xc4, 0xe2, 0x7b, 0x49, 0xe8}, {Kind::kZero, 5}},
      {"tilezero %tmm7", {0xc4, 0xe2, 0x7b, 0x49, 0xf8}, {Kind::kZero, 7}},
      {"ldtilecfg (%rax)",
       {0xc4, 0xe2, 0x78, 0x49, 0x00},
       {Kind::kLoadConfig, 0, 0, 0, Register(kRax)}},
      {"ldtilecfg -0x38(%rsp)",
       {0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0xc8},
       {Kind::kLoadConfig, 0, 0, 0, Register(kRsp) - 0x38}},
      {"ldtilecfg 0x12345678(%r13)",
       {0xc4, 0xc2, 0x78, 0x49, 0x85, 0x78, 0x56, 0x34, 0x12},
       {Kind::kLoadConfig, 0, 0, 0, Register(13) + 0x12345678}},
      {"ldtilecfg (%r12)",
       {0xc4, 0xc2, 0x78, 0x49, 0x04, 0x24},
       {Kind::kLoadConfig, 0, 0, 0, Register(12)}},
      {"ldtilecfg (%r13)",
       {0xc4, 0xc2, 0x78, 0x49, 0x45, 0x00},
       {Kind::kLoadConfig, 0, 0, 0, Register(13)}},
      {"ldtilecfg 0x40(%rdx,%r15,8)",
       {0xc4, 0xa2, 0x78, 0x49, 0x44, 0xfa, 0x40},
       {Kind::kLoadConfig, 0, 0, 0, Register(kRdx) + 8 * Register(15) + 0x40}},
      {"ldtilecfg 0x1234(,%rcx,4)",
       {0xc4, 0xe2, 0x78, 0x49, 0x04, 0x8d, 0x34, 0x12, 0x00, 0x00},
       {Kind::kLoadConfig, 0, 0, 0, 4 * Register(kRcx) + 0x1234}},
      {"ldtilecfg 0x1234",
       {0xc4, 0xe2, 0x78, 0x49, 0x04, 0x25, 0x34, 0x12, 0x00, 0x00},
       {Kind::kLoadConfig, 0, 0, 0, 0x1234}},
      {"sttilecfg (%r8)",
       {0xc4, 0xc2, 0x79, 0x49, 0x00},
       {Kind::kStoreConfig, 0, 0, 0, Register(8)}},
      {"sttilecfg -0x80(%rbp)",
       {0xc4, 0xe2, 0x79, 0x49, 0x45, 0x80},
       {Kind::kStoreConfig, 0, 0, 0, Register(kRbp) - 0x80}},
      {"tileloadd (%rdi,%rsi,1), %tmm0",
       {0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x37},
       {Kind::kLoad, 0, 0, 0, Register(kRdi), Register(kRsi)}},
      {"tileloadd (%r9,%r10,2), %tmm3",
       {0xc4, 0x82, 0x7b, 0x4b, 0x1c, 0x51},
       {Kind::kLoad, 3, 0, 0, Register(9), 2 * Register(10)}},
      {"tileloadd 0x7f(%r13,%r12,4), %tmm6",
       {0xc4, 0x82, 0x7b, 0x4b, 0x74, 0xa5, 0x7f},
       {Kind::kLoad, 6, 0, 0, Register(13) + 0x7f, 4 * Register(12)}},
      {"tileloadd -0x80000000(%rbp,%r15,8), %tmm7",
       {0xc4, 0xa2, 0x7b, 0x4b, 0xbc, 0xfd, 0x00, 0x00, 0x00, 0x80},
       {Kind::kLoad, 7, 0, 0, Register(kRbp) - 0x80000000u, 8 * Register(15)}},
      {"tileloadd (%r13,%rbx,1), %tmm1",
       {0xc4, 0xc2, 0x7b, 0x4b, 0x4c, 0x1d, 0x00},
       {Kind::kLoad, 1, 0, 0, Register(13), Register(kRbx)}},
      {"tileloadd (%rcx), %tmm2",
       {0xc4, 0xe2, 0x7b, 0x4b, 0x14, 0x21},
       {Kind::kLoad, 2, 0, 0, Register(kRcx), 0}},
      {"tileloadd 0x20(,%r8,1), %tmm4",
       {0xc4, 0xa2, 0x7b, 0x4b, 0x24, 0x05, 0x20, 0x00, 0x00, 0x00},
       {Kind::kLoad, 4, 0, 0, 0x20, Register(8)}},
      {"tileloadd (%rsp,%rax,1), %tmm4",
       {0xc4, 0xe2, 0x7b, 0x4b, 0x24, 0x04},
       {Kind::kLoad, 4, 0, 0, Register(kRsp), Register(kRax)}},
      {"tileloaddt1 (%rdx,%r11,1), %tmm5",
       {0xc4, 0xa2, 0x79, 0x4b, 0x2c, 0x1a},
       {Kind::kLoad, 5, 0, 0, Register(kRdx), Register(11)}},
      {"tilestored %tmm0, (%rax,%rcx,1)",
       {0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x08},
       {Kind::kStore, 0, 0, 0, Register(kRax), Register(kRcx)}},
      {"tilestored %tmm7, 0x100(%r14,%r9,4)",
       {0xc4, 0x82, 0x7a, 0x4b, 0xbc, 0x8e, 0x00, 0x01, 0x00, 0x00},
       {Kind::kStore, 7, 0, 0, Register(14) + 0x100, 4 * Register(9)}},
      {"tdpbf16ps %tmm6, %tmm4, %tmm0",
       {0xc4, 0xe2, 0x4a, 0x5c, 0xc4},
       {Kind::kAddProduct, 0, 4, 6}},
      {"tdpbf16ps %tmm7, %tmm5, %tmm3",
       {0xc4, 0xe2, 0x42, 0x5c, 0xdd},
       {Kind::kAddProduct, 3, 5, 7}},
      {"tdpbf16ps %tmm0, %tmm1, %tmm7",
       {0xc4, 0xe2, 0x7a, 0x5c, 0xf9},
       {Kind::kAddProduct, 7, 1, 0}},
  };
  const GeneralRegisters registers = Registers();
  for (const Encoded& one : all) {
    SCOPED_TRACE(one.text);
    const TileInstruction got = TileDecoder(one.code.data(), registers).Decode();
    EXPECT_EQ(got.kind, one.right.kind);
    EXPECT_EQ(got.tile, one.right.tile);
    EXPECT_EQ(got.left, one.right.left);
    EXPECT_EQ(got.right, one.right.right);
    EXPECT_EQ(got.address, one.right.address);
    if (got.kind == Kind::kLoad || got.kind == Kind::kStore) {
      EXPECT_EQ(got.stride, one.right.stride);
    }
    EXPECT_EQ(got.length, one.code.size());
  }
  // Relative to the next instruction: ldtilecfg 0x10(%rip).
  const std::uint8_t code[] = {0xc4, 0xe2, 0x78, 0x49, 0x05, 0x10, 0x00, 0x00, 0x00};
  std::uint64_t start = 0;
  const std::uint8_t* at = code;
  std::memcpy(&start, &at, sizeof start);
  EXPECT_EQ(TileDecoder(code, registers).Decode().address, start + 9 + 0x10);
}

TEST(TileEmulatorTest, LeavesOtherInstructionsAlone) {
  const std::vector<Encoded> all = {
      {"tdpbssd %tmm6, %tmm4, %tmm0", {0xc4, 0xe2, 0x4b, 0x5e, 0xc4}, {}},
      {"vaddps %xmm0, %xmm1, %xmm2", {0xc5, 0xf0, 0x58, 0xd0, 0x90}, {}},
      {"andn %eax, %ebx, %ecx", {0xc4, 0xe2, 0x60, 0xf2, 0xc8}, {}},
      {"shlx %eax, %ebx, %ecx", {0xc4, 0xe2, 0x79, 0xf7, 0xcb}, {}},
      {"ud2", {0x0f, 0x0b, 0x90, 0x90, 0x90}, {}},
      {"tilerelease with W", {0xc4, 0xe2, 0xf8, 0x49, 0xc0}, {}},
      {"tilerelease of 256 bits", {0xc4, 0xe2, 0x7c, 0x49, 0xc0}, {}},
      {"tilezero of tile 8", {0xc4, 0x62, 0x7b, 0x49, 0xc0}, {}},
      {"tileloadd without SIB", {0xc4, 0xe2, 0x7b, 0x4b, 0x07}, {}},
      {"tdpbf16ps of tile 14", {0xc4, 0xe2, 0x0a, 0x5c, 0xc4}, {}},
  };
  const GeneralRegisters registers = Registers();
  for (const Encoded& one : all) {
    EXPECT_EQ(TileDecoder(one.code.data(), registers).Decode().kind, Kind::kNone) << one.text;
  }
}

// What LDTILECFG reads, every tile of 16 rows of 64 bytes.
struct Config {
  std::uint8_t bytes[64] = {1};
  Config() {
    for (int t = 0; t < 8; ++t) Set(t, 16, 64);
  }
  void Set(int tile, int rows, int row_bytes) {
    bytes[16 + 2 * tile] = std::uint8_t(row_bytes & 255);
    bytes[17 + 2 * tile] = std::uint8_t(row_bytes >> 8);
    bytes[48 + tile] = std::uint8_t(rows);
  }
};

TEST(TileMachineTest, RefusesConfigurationsThatAProcessorRefuses) {
  TileMachine machine;
  Config right;
  right.Set(3, 0, 0);
  right.Set(5, 7, 12);
  EXPECT_EQ(machine.LoadConfig(right.bytes), nullptr);
  std::uint8_t back[64] = {};
  machine.StoreConfig(back);
  EXPECT_EQ(std::memcmp(back, right.bytes, 64), 0);

  for (int n : {2, 15, 32, 47, 56, 63}) {
    Config wrong;
    wrong.bytes[n] = 1;
    EXPECT_NE(machine.LoadConfig(wrong.bytes), nullptr) << n;
  }
  const int shapes[][2] = {{17, 64}, {16, 65}, {16, 320}, {0, 64}, {16, 0}};
  for (const auto& shape : shapes) {
    Config wrong;
    wrong.Set(6, shape[0], shape[1]);
    EXPECT_NE(machine.LoadConfig(wrong.bytes), nullptr) << shape[0] << " x " << shape[1];
  }
  Config palette;
  palette.bytes[0] = 2;
  EXPECT_NE(machine.LoadConfig(palette.bytes), nullptr);

  EXPECT_TRUE(machine.configured());
  palette.bytes[0] = 0;
  EXPECT_EQ(machine.LoadConfig(palette.bytes), nullptr);
  EXPECT_FALSE(machine.configured());
  machine.StoreConfig(back);
  for (std::uint8_t byte : back) EXPECT_EQ(byte, 0);
}

TEST(TileMachineTest, RefusesShapesThatDoNotFit) {
  TileMachine machine;
  EXPECT_NE(machine.Zero(0), nullptr) << "not configured";
  Config config;
  config.Set(0, 5, 48);
  config.Set(1, 5, 28);
  config.Set(2, 7, 48);
  config.Set(3, 0, 0);
  config.Set(4, 5, 30);
  ASSERT_EQ(machine.LoadConfig(config.bytes), nullptr);
  EXPECT_EQ(machine.AddProduct(0, 1, 2), nullptr);
  EXPECT_NE(machine.AddProduct(0, 1, 1), nullptr) << "a tile twice";
  EXPECT_NE(machine.AddProduct(0, 1, 3), nullptr) << "not configured";
  EXPECT_NE(machine.AddProduct(0, 4, 2), nullptr) << "bytes no multiple of 4";
  EXPECT_NE(machine.AddProduct(0, 5, 2), nullptr) << "rows of a";
  EXPECT_NE(machine.AddProduct(5, 6, 2), nullptr) << "pairs";
  EXPECT_NE(machine.AddProduct(0, 1, 6), nullptr) << "columns";
  EXPECT_NE(machine.Zero(3), nullptr);
  std::uint8_t memory[16 * 64] = {};
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  EXPECT_NE(machine.Load(3, at, 64), nullptr);
  EXPECT_NE(machine.Load(4, at, 64), nullptr);
  EXPECT_NE(machine.Store(4, at, 64), nullptr);
  EXPECT_EQ(machine.Load(5, at, 64), nullptr);
  EXPECT_EQ(machine.Store(5, at, 64), nullptr);
}

// One sum of up to 16 pairs.
class OneSum {
 public:
  void Pair(double a0, double b0, double a1, double b1) {
    left_.insert(left_.end(), {Bf16Bits(a0), Bf16Bits(a1)});
    right_.insert(right_.end(), {Bf16Bits(b0), Bf16Bits(b1)});
  }
  float From(float start) const {
    TileMachine machine;
    Config config;
    const auto pairs = int(left_.size() / 2);
    for (int t = 3; t < 8; ++t) config.Set(t, 0, 0);
    config.Set(0, 1, 4);
    config.Set(1, 1, 4 * pairs);
    config.Set(2, pairs, 4);
    EXPECT_EQ(machine.LoadConfig(config.bytes), nullptr);
    EXPECT_EQ(machine.Load(0, reinterpret_cast<std::uintptr_t>(&start), 4), nullptr);
    EXPECT_EQ(machine.Load(1, reinterpret_cast<std::uintptr_t>(left_.data()), 4), nullptr);
    EXPECT_EQ(machine.Load(2, reinterpret_cast<std::uintptr_t>(right_.data()), 4), nullptr);
    EXPECT_EQ(machine.AddProduct(0, 1, 2), nullptr);
    float sum = 0;
    EXPECT_EQ(machine.Store(0, reinterpret_cast<std::uintptr_t>(&sum), 4), nullptr);
    return sum;
  }

 private:
  std::vector<std::uint16_t> left_, right_;
};

TEST(TileMachineTest, AddsInTheDocumentedOrder) {
  // Low halves are added up apart from high ones: 2^24 + 1 - 2^24 keeps the 1 where the two large
  // ones meet first.
  OneSum apart;
  apart.Pair(0x1p24, 1, 1, 1);
  apart.Pair(-0x1p24, 1, 0, 0);
  EXPECT_EQ(apart.From(0), 1);
  OneSum mixed;
  mixed.Pair(0x1p24, 1, -0x1p24, 1);
  mixed.Pair(1, 1, 0, 0);
  EXPECT_EQ(mixed.From(0), 0);  // 2^24 + 1 is halfway and rounds to the even 2^24
  // What there was comes last.
  OneSum last;
  last.Pair(1, 1, 1, 1);
  EXPECT_EQ(last.From(0x1p24f), 0x1p24f + 2);
  // A product joins its sum before anything is rounded or flushed: 2^-127 alone would count as 0.
  OneSum fused;
  fused.Pair(0x1p-100, 0x1p-26, 0, 0);
  fused.Pair(0x1p-100, 0x1p-27, 0, 0);
  EXPECT_EQ(fused.From(0), 0x1.8p-126f);
}

TEST(TileMachineTest, RoundsToNearestEven) {
  OneSum down;
  down.Pair(0x1p24, 1, 1, 1);
  EXPECT_EQ(down.From(0), 0x1p24f);
  OneSum up;
  up.Pair(0x1p24, 1, 1, 3);
  EXPECT_EQ(up.From(0), 0x1p24f + 4);
}

TEST(TileMachineTest, TakesSubnormalNumbersForZeros) {
  OneSum input;
  input.Pair(0x1p-127, 0x1p100, 0, 0);
  EXPECT_EQ(input.From(0), 0);
  EXPECT_EQ(input.From(-0x1p-127f), 0);
  OneSum output;
  output.Pair(0x1p-100, 0x1p-27, 0, 0);
  EXPECT_EQ(output.From(0), 0);
  OneSum normal;
  normal.Pair(0x1p-100, 0x1p-26, 0, 0);
  EXPECT_EQ(normal.From(0), 0x1p-126f);
}

TEST(TileMachineTest, KeepsInfinitiesAndNaN) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  OneSum infinite;
  infinite.Pair(kInf, 2, 0, 0);
  EXPECT_EQ(infinite.From(1), std::numeric_limits<float>::infinity());
  OneSum nothing_times;
  nothing_times.Pair(kInf, 0, 1, 1);
  EXPECT_TRUE(std::isnan(nothing_times.From(1)));
  OneSum opposite;
  opposite.Pair(kInf, 1, -kInf, 1);
  EXPECT_TRUE(std::isnan(opposite.From(1)));
  OneSum large;
  large.Pair(0x1p127, 2, 0, 0);
  EXPECT_EQ(large.From(0), std::numeric_limits<float>::infinity());
}

// The instructions that no kernel has: the configuration read back, and the hint T1.
struct Moved {
  Config config;
  float from[3][6] = {}, to[3][8] = {};
  std::uint8_t before[64] = {1}, set[64] = {}, after[64] = {1};
};
__attribute__((target("amx-tile"))) void Move(Moved& m) {
  asm volatile(
      "sttilecfg %0\n\t"
      "ldtilecfg %4\n\t"
      "sttilecfg %1\n\t"
      "tileloaddt1 (%5,%6,4), %%tmm2\n\t"
      "tilestored %%tmm2, 4(%7,%8,1)\n\t"
      "tilerelease\n\t"
      "sttilecfg %2"
      : "=m"(m.before), "=m"(m.set), "=m"(m.after), "+m"(m.to)
      : "m"(m.config), "r"(m.from), "r"(sizeof m.from[0] / 4), "r"(m.to), "r"(sizeof m.to[0]),
        "m"(m.from));
}

TEST(TileEmulatorTest, CarriesOutMachineCode) {
  if (!TileEmulator::Possible()) GTEST_SKIP() << "the system keeps the processor's tiles back";
  const TileEmulator emulator;
  Moved m;
  m.config.Set(2, 3, 20);
  for (int n = 0; n < 18; ++n) m.from[n / 6][n % 6] = float(n + 1);
  Move(m);
  EXPECT_EQ(std::memcmp(m.set, m.config.bytes, 64), 0);
  for (int n = 0; n < 64; ++n) EXPECT_EQ(m.before[n] + m.after[n], 0);
  for (int row = 0; row < 3; ++row) {
    for (int n = 0; n < 8; ++n) {
      EXPECT_EQ(m.to[row][n], n >= 1 && n <= 5 ? m.from[row][n - 1] : 0) << row << ", " << n;
    }
  }
  if (!TileProductsServed()) {
    EXPECT_EQ(emulator.instructions(), 7);
  }
}

}  // namespace
}  // namespace sextant

#endif
