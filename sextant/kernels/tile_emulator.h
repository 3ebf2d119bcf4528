// Runs AMX's machine code on processors without it, for tests: a handler of SIGILL reads the
// instruction that the processor refused, carries it out on a TileMachine and goes on behind it.
// Encodings: SDM, volume 2, section 2.3 (VEX), tables 2-2 and 2-3 (ModRM and SIB), and the pages of
// the eight instructions.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define SEXTANT_EMULATES_TILES 1

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstring>

#include "sextant/kernels/tile_machine.h"
#include "sextant/kernels/tile_products.h"

namespace sextant {

// By the numbers that instructions give them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 .. r15.
using GeneralRegisters = std::array<std::uint64_t, 16>;

struct TileInstruction {
  enum class Kind {
    kNone,  // not one of AMX's
    kLoadConfig,
    kStoreConfig,
    kRelease,
    kZero,
    kLoad,
    kStore,
    kAddProduct,
  };
  Kind kind = Kind::kNone;
  int tile = 0, left = 0, right = 0;      // of the sum, zero, load or store; of a product
  std::uint64_t address = 0, stride = 0;  // of memory
  std::size_t length = 0;                 // of the code
};

// Reads an instruction's code.
class TileDecoder {
 public:
  TileDecoder(const std::uint8_t* code, const GeneralRegisters& registers)
      : start_(code), at_(code), registers_(registers) {}

  TileInstruction Decode() {
    // Three bytes of VEX: C4, then R X B (inverted) and the opcode's map, then W, vvvv (inverted),
    // L and pp, which stands for a prefix. All of AMX is in map 0F38, with W and L 0.
    if (*at_++ != 0xc4) return {};
    const std::uint8_t first = *at_++, second = *at_++, opcode = *at_++, modrm = *at_++;
    if ((first & 0x1f) != 2 || (second & 0x84) != 0) return {};
    r_ = (first & 0x80) == 0 ? 8 : 0;
    x_ = (first & 0x40) == 0 ? 8 : 0;
    b_ = (first & 0x20) == 0 ? 8 : 0;
    mod_ = modrm >> 6;
    reg_ = modrm >> 3 & 7;
    rm_ = modrm & 7;
    const int vvvv = ~second >> 3 & 15, prefix = second & 3;
    if (opcode == 0x5c) {
      if (prefix != kF3 || mod_ != 3 || r_ != 0 || b_ != 0 || vvvv > 7) return {};
      return Done({Kind::kAddProduct, reg_, rm_, vvvv});
    }
    if (vvvv != 0) return {};
    if (opcode == 0x49) return DecodeConfig(prefix);
    if (opcode == 0x4b) return DecodeMove(prefix);
    return {};
  }

 private:
  using Kind = TileInstruction::Kind;
  static constexpr int kNoPrefix = 0, k66 = 1, kF3 = 2, kF2 = 3;

  TileInstruction DecodeConfig(int prefix) {
    if (mod_ == 3) {
      if (prefix == kNoPrefix && reg_ == 0 && rm_ == 0) return Done({Kind::kRelease});
      if (prefix == kF2 && rm_ == 0 && r_ == 0) return Done({Kind::kZero, reg_});
      return {};
    }
    if (reg_ != 0 || (prefix != kNoPrefix && prefix != k66)) return {};
    TileInstruction found{prefix == k66 ? Kind::kStoreConfig : Kind::kLoadConfig};
    ReadAddress(found);
    found.address += found.stride;  // an index, as in any other instruction
    return Done(found);
  }

  TileInstruction DecodeMove(int prefix) {
    if (mod_ == 3 || rm_ != 4 || r_ != 0 || prefix == kNoPrefix) return {};
    TileInstruction found{prefix == kF3 ? Kind::kStore : Kind::kLoad, reg_};
    ReadAddress(found);
    return Done(found);
  }

  // Base and displacement make the address; the index register, scaled, is a tile's stride.
  void ReadAddress(TileInstruction& found) {
    bool base = true;
    int base_register = rm_ + b_;
    if (rm_ == 4) {
      const int sib = *at_++, index = (sib >> 3 & 7) + x_;
      if (index != 4) found.stride = registers_[std::size_t(index)] << (sib >> 6);
      base = (sib & 7) != 5 || mod_ != 0;
      base_register = (sib & 7) + b_;
    }
    const bool next_instruction = rm_ == 5 && mod_ == 0;  // RIP-relative
    std::int64_t displacement = 0;
    if (mod_ == 1) displacement = static_cast<std::int8_t>(*at_++);
    if (mod_ == 2 || !base || next_instruction) {
      std::int32_t four = 0;
      std::memcpy(&four, at_, 4);
      at_ += 4;
      displacement = four;
    }
    found.address = static_cast<std::uint64_t>(displacement);
    if (next_instruction) {
      std::uint64_t here = 0;
      std::memcpy(&here, &at_, sizeof here);
      found.address += here;
    } else if (base) {
      found.address += registers_[std::size_t(base_register)];
    }
  }

  TileInstruction Done(TileInstruction found) const {
    found.length = std::size_t(at_ - start_);
    return found;
  }

  const std::uint8_t *start_, *at_;
  const GeneralRegisters& registers_;
  int r_ = 0, x_ = 0, b_ = 0, mod_ = 0, reg_ = 0, rm_ = 0;
};

// Serves the tiles of all threads for as long as it lives, one at a time. Where the system serves
// them it does nothing, and the same tests run on the processor's own. The signal comes from the
// instruction itself, between whose neighbours no lock is held, so that the handler may report what
// it finds to the test.
class TileEmulator {
 public:
  // Whether tiles can be had: not where the processor has them and the system keeps them back.
  static bool Possible() { return TileProductsServed() || !__builtin_cpu_supports("amx-tile"); }

  TileEmulator() : emulates_(!TileProductsServed()) {
    if (!emulates_) return;
    instructions_ = 0;
    struct sigaction action = {};
    action.sa_sigaction = Handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
  }
  ~TileEmulator() {
    if (emulates_) sigaction(SIGILL, &before_, nullptr);
  }
  TileEmulator(const TileEmulator&) = delete;
  TileEmulator& operator=(const TileEmulator&) = delete;

  // How many instructions it has carried out.
  long long instructions() const { return instructions_; }
  // Whether the calling thread has no tiles configured; true where they are not emulated.
  static bool Released() { return !machine_.configured(); }

 private:
  static void Handle(int, siginfo_t*, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};
    GeneralRegisters general;
    for (std::size_t n = 0; n < 16; ++n) {
      general[n] = static_cast<std::uint64_t>(registers[order[n]]);
    }
    const std::uint8_t* code = nullptr;
    std::memcpy(&code, &registers[REG_RIP], sizeof code);
    const TileInstruction found = TileDecoder(code, general).Decode();
    if (found.kind == TileInstruction::Kind::kNone) {
      // Another's: without this handler the instruction ends the program, as it should.
      signal(SIGILL, SIG_DFL);
      return;
    }
    if (const char* fault = CarryOut(found)) ADD_FAILURE() << "an AMX instruction raises " << fault;
    ++instructions_;
    registers[REG_RIP] += static_cast<greg_t>(found.length);
  }

  static const char* CarryOut(const TileInstruction& i) {
    using Kind = TileInstruction::Kind;
    void* memory = nullptr;
    std::memcpy(&memory, &i.address, sizeof memory);
    switch (i.kind) {
      case Kind::kLoadConfig:
        return machine_.LoadConfig(memory);
      case Kind::kStoreConfig:
        machine_.StoreConfig(memory);
        return nullptr;
      case Kind::kRelease:
        machine_.Release();
        return nullptr;
      case Kind::kZero:
        return machine_.Zero(i.tile);
      case Kind::kLoad:
        return machine_.Load(i.tile, i.address, i.stride);
      case Kind::kStore:
        return machine_.Store(i.tile, i.address, i.stride);
      case Kind::kAddProduct:
        return machine_.AddProduct(i.tile, i.left, i.right);
      case Kind::kNone:
        break;
    }
    return "no instruction";
  }

  static inline thread_local TileMachine machine_;
  static inline std::atomic<long long> instructions_ = 0;
  const bool emulates_;
  struct sigaction before_ = {};
};

}  // namespace sextant

#endif
