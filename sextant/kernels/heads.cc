// Loads and stores of heads in float32, bfloat16 and float16.
#include "sextant/kernels/heads.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace sextant {
namespace {

float Widen(Bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

float Widen(F16 value) {
  // The exponent is moved by a product, which also makes subnormal numbers normal.
  const std::uint32_t magnitude = value.bits & 0x7fffu, sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t scaled =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
  const std::uint32_t unbounded = magnitude << 13 | 0x7f800000u;
  return std::bit_cast<float>((magnitude >= 0x7c00u ? unbounded : scaled) | sign);
}

void Narrow(float value, Bf16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to.bits = std::uint16_t((nan ? bits | 0x400000u : rounded) >> 16);
}

void Narrow(float value, F16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: steps of 2^-24, rounded by the addition
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  to.bits = std::uint16_t(half | (bits >> 16 & 0x8000u));
}

template <class T>
void ReadRows(const HeadsIn& heads, Index head, Index first, Index count, Index width, float* to) {
  const T* data = static_cast<const T*>(heads.data());
  for (Index n = 0; n < count; ++n) {
    const T* row = data + heads.Offset(first + n, head);
    float* out = to + n * width;
    if constexpr (std::is_same_v<T, float>) {
      std::memcpy(out, row, std::size_t(heads.head_dim) * sizeof(float));
    } else {
      for (Index c = 0; c < heads.head_dim; ++c) out[c] = Widen(row[c]);
    }
    std::fill(out + heads.head_dim, out + width, 0.0f);
  }
}

template <class T>
void WriteRow(const HeadsOut& heads, Index token, Index head, const float* from) {
  T* row = static_cast<T*>(heads.data()) + heads.Offset(token, head);
  if constexpr (std::is_same_v<T, float>) {
    std::memcpy(row, from, std::size_t(heads.head_dim) * sizeof(float));
  } else {
    for (Index c = 0; c < heads.head_dim; ++c) Narrow(from[c], row[c]);
  }
}

template <class T>
HeadsLayout LayoutOf(const HeadsOf<T>& heads) {
  return {heads.tokens, heads.heads, heads.head_dim, heads.token_stride, heads.head_stride};
}

Index BytesOf(Storage storage) { return storage == Storage::kF32 ? 4 : 2; }

// The first and one past the last byte; empty heads have none.
struct Bytes {
  const std::byte *begin = nullptr, *end = nullptr;
};
Bytes BytesOf(const HeadsLayout& heads, const void* data, Storage storage) {
  if (heads.tokens == 0 || heads.heads == 0 || heads.head_dim == 0) return {};
  const auto* begin = static_cast<const std::byte*>(data);
  const Index last = heads.Offset(heads.tokens - 1, heads.heads - 1) + heads.head_dim;
  return {begin, begin + last * BytesOf(storage)};
}

}  // namespace

HeadsIn::HeadsIn(const HeadsOf<const float>& of) : HeadsLayout(LayoutOf(of)), data_(of.data) {}
HeadsIn::HeadsIn(const HeadsOf<float>& of) : HeadsLayout(LayoutOf(of)), data_(of.data) {}
HeadsIn::HeadsIn(const HeadsOf<const Bf16>& of)
    : HeadsLayout(LayoutOf(of)), data_(of.data), storage_(Storage::kBf16) {}
HeadsIn::HeadsIn(const HeadsOf<Bf16>& of)
    : HeadsLayout(LayoutOf(of)), data_(of.data), storage_(Storage::kBf16) {}
HeadsIn::HeadsIn(const HeadsOf<const F16>& of)
    : HeadsLayout(LayoutOf(of)), data_(of.data), storage_(Storage::kF16) {}
HeadsIn::HeadsIn(const HeadsOf<F16>& of)
    : HeadsLayout(LayoutOf(of)), data_(of.data), storage_(Storage::kF16) {}

void HeadsIn::Read(Index head, Index first, Index count, Index width, float* to) const {
  switch (storage_) {
    case Storage::kF32:
      return ReadRows<float>(*this, head, first, count, width, to);
    case Storage::kBf16:
      return ReadRows<Bf16>(*this, head, first, count, width, to);
    case Storage::kF16:
      return ReadRows<F16>(*this, head, first, count, width, to);
  }
}

HeadsOut::HeadsOut(const HeadsOf<float>& of) : HeadsLayout(LayoutOf(of)), data_(of.data) {}
HeadsOut::HeadsOut(const HeadsOf<Bf16>& of)
    : HeadsLayout(LayoutOf(of)), data_(of.data), storage_(Storage::kBf16) {}
HeadsOut::HeadsOut(const HeadsOf<F16>& of)
    : HeadsLayout(LayoutOf(of)), data_(of.data), storage_(Storage::kF16) {}

void HeadsOut::Write(Index token, Index head, const float* from) const {
  switch (storage_) {
    case Storage::kF32:
      return WriteRow<float>(*this, token, head, from);
    case Storage::kBf16:
      return WriteRow<Bf16>(*this, token, head, from);
    case Storage::kF16:
      return WriteRow<F16>(*this, token, head, from);
  }
}

bool Overlap(const HeadsIn& in, const HeadsOut& out) {
  const Bytes read = BytesOf(in, in.data(), in.storage());
  const Bytes written = BytesOf(out, out.data(), out.storage());
  return read.begin < written.end && written.begin < read.end;
}

}  // namespace sextant
