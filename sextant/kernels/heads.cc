// Loads and stores of heads in float32, bfloat16 and float16.
#include "sextant/kernels/heads.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sextant/kernels/row_storage.h"

namespace sextant {
namespace {

template <class T>
void ReadRows(const HeadsIn& heads, Index head, Index first, Index count, Index width, float* to) {
  const T* data = static_cast<const T*>(heads.data());
  for (Index n = 0; n < count; ++n) {
    const T* row = data + heads.Offset(first + n, head);
    float* out = to + n * width;
    if constexpr (std::is_same_v<T, float>) {
      std::memcpy(out, row, std::size_t(heads.head_dim) * sizeof(float));
    } else {
      WidenRow(row, heads.head_dim, out);
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
    NarrowRow(from, heads.head_dim, row);
  }
}

template <class T>
bool FiniteRow(const HeadsIn& heads, Index head, Index token) {
  return AllFinite(static_cast<const T*>(heads.data()) + heads.Offset(token, head), heads.head_dim);
}

template <class T>
HeadsLayout LayoutOf(const HeadsOf<T>& heads) {
  return {heads.tokens, heads.heads, heads.head_dim, heads.token_stride, heads.head_stride};
}

// The first and one past the last byte; empty heads have none.
struct Bytes {
  const std::byte *begin = nullptr, *end = nullptr;
};
Bytes RangeOf(const HeadsLayout& heads, const void* data, Storage storage) {
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

bool HeadsIn::Finite(Index head, Index token) const {
  switch (storage_) {
    case Storage::kF32:
      return FiniteRow<float>(*this, head, token);
    case Storage::kBf16:
      return FiniteRow<Bf16>(*this, head, token);
    case Storage::kF16:
      return FiniteRow<F16>(*this, head, token);
  }
  return false;
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
  const Bytes read = RangeOf(in, in.data(), in.storage());
  const Bytes written = RangeOf(out, out.data(), out.storage());
  return read.begin < written.end && written.begin < read.end;
}

}  // namespace sextant
