// Heads of tokens in memory: where their numbers lie and how they are stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sextant/core/view.h"

namespace sextant {

// 16-bit storage; kernels compute in float32 and round once to nearest even.
struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

// Channel c of head h of token n is at data[n token_stride + h head_stride + c].
template <class T>
struct HeadsOf {
  T* data = nullptr;
  Index tokens = 0, heads = 0, head_dim = 0;
  Index token_stride = 0, head_stride = 0;
};

enum class Storage { kF32, kBf16, kF16 };
constexpr Index BytesOf(Storage storage) { return storage == Storage::kF32 ? 4 : 2; }

// The shape of heads and the bytes they lie in, whatever their storage.
struct HeadsLayout {
  Index tokens = 0, heads = 0, head_dim = 0, token_stride = 0, head_stride = 0;

  Index Offset(Index token, Index head) const { return token * token_stride + head * head_stride; }
  bool SameShape(const HeadsLayout& other) const {
    return tokens == other.tokens && heads == other.heads && head_dim == other.head_dim;
  }
};

// Heads of any storage to read. A HeadsOf of float, Bf16 or F16 serves where one is asked for.
class HeadsIn : public HeadsLayout {
 public:
  HeadsIn() = default;
  HeadsIn(const HeadsOf<const float>& of);  // NOLINT(google-explicit-constructor)
  HeadsIn(const HeadsOf<float>& of);        // NOLINT(google-explicit-constructor)
  HeadsIn(const HeadsOf<const Bf16>& of);   // NOLINT(google-explicit-constructor)
  HeadsIn(const HeadsOf<Bf16>& of);         // NOLINT(google-explicit-constructor)
  HeadsIn(const HeadsOf<const F16>& of);    // NOLINT(google-explicit-constructor)
  HeadsIn(const HeadsOf<F16>& of);          // NOLINT(google-explicit-constructor)

  const void* data() const { return data_; }
  Storage storage() const { return storage_; }

  // Tokens first .. first + count - 1 of a head as float32: to[n width + c], zeros from head_dim to
  // width. Exact.
  void Read(Index head, Index first, Index count, Index width, float* to) const;
  // Whether no channel of a token of a head is infinite or NaN.
  bool Finite(Index head, Index token) const;

 private:
  const void* data_ = nullptr;
  Storage storage_ = Storage::kF32;
};

// Heads of any storage to write.
class HeadsOut : public HeadsLayout {
 public:
  HeadsOut() = default;
  HeadsOut(const HeadsOf<float>& of);  // NOLINT(google-explicit-constructor)
  HeadsOut(const HeadsOf<Bf16>& of);   // NOLINT(google-explicit-constructor)
  HeadsOut(const HeadsOf<F16>& of);    // NOLINT(google-explicit-constructor)

  void* data() const { return data_; }
  Storage storage() const { return storage_; }

  // One token of a head from head_dim floats, rounded to nearest even; NaN stays NaN.
  void Write(Index token, Index head, const float* from) const;

 private:
  void* data_ = nullptr;
  Storage storage_ = Storage::kF32;
};

// Whether bytes that `out` writes lie between the first and the last that `in` reads.
bool Overlap(const HeadsIn& in, const HeadsOut& out);

}  // namespace sextant
