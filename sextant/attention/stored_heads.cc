// Memory and views of it.
#include "sextant/attention/stored_heads.h"

#include <cstring>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46;

}  // namespace

StoredHeads::StoredHeads(Storage storage, Index capacity, Index heads, Index head_dim)
    : storage_(storage), capacity_(capacity), heads_(heads), head_dim_(head_dim) {
  std::int64_t size = BytesOf(storage);
  for (const auto& [name, extent] : {std::pair<const char*, Index>("capacity", capacity),
                                     {"kv_heads", heads},
                                     {"head_dim", head_dim}}) {
    if (extent < 1) {
      throw Error("kv cache",
                  std::string(name) + " must be at least 1, got " + std::to_string(extent));
    }
    if (__builtin_mul_overflow(size, extent, &size) || size >= kMaxBytes) {
      throw Error("kv cache", "takes 2^46 bytes or more");
    }
  }
  memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size));
}

template <class T>
HeadsOf<T> StoredHeads::View(Index first, Index count) const {
  T* data = reinterpret_cast<T*>(memory_.get()) + first * head_dim_;
  return {data, count, heads_, head_dim_, head_dim_, capacity_ * head_dim_};
}

HeadsIn StoredHeads::In(Index first, Index count) const {
  switch (storage_) {
    case Storage::kF32:
      return View<const float>(first, count);
    case Storage::kBf16:
      return View<const Bf16>(first, count);
    case Storage::kF16:
      return View<const F16>(first, count);
  }
  return {};
}

HeadsOut StoredHeads::Out(Index first, Index count) {
  switch (storage_) {
    case Storage::kF32:
      return View<float>(first, count);
    case Storage::kBf16:
      return View<Bf16>(first, count);
    case Storage::kF16:
      return View<F16>(first, count);
  }
  return {};
}

void StoredHeads::Erase(Index first, Index count, Index size) {
  const Index token = head_dim_ * BytesOf(storage_);
  for (Index h = 0; h < heads_; ++h) {
    std::byte* head = memory_.get() + h * capacity_ * token;
    std::memmove(head + first * token, head + (first + count) * token,
                 static_cast<std::size_t>((size - first - count) * token));
  }
}

std::size_t StoredHeads::bytes() const {
  return static_cast<std::size_t>(capacity_ * heads_ * head_dim_ * BytesOf(storage_));
}

}  // namespace sextant
