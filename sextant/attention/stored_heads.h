// Heads of a fixed number of tokens in one of the storages.
#pragma once

#include <cstddef>
#include <memory>

#include "sextant/kernels/heads.h"

namespace sextant {

// Head by head, so that decoding streams each: [heads, capacity, head_dim]. What a token holds is
// not set before it is written.
class StoredHeads {
 public:
  StoredHeads() = default;
  // Throws Error where the sizes are not positive or take 2^46 bytes or more.
  StoredHeads(Storage storage, Index capacity, Index heads, Index head_dim);

  HeadsIn In(Index first, Index count) const;
  HeadsOut Out(Index first, Index count);
  // Of `size` tokens, lets `count` from `first` on go and moves the later ones down.
  void Erase(Index first, Index count, Index size);

  bool empty() const { return memory_ == nullptr; }
  std::size_t bytes() const;

 private:
  template <class T>
  HeadsOf<T> View(Index first, Index count) const;

  Storage storage_ = Storage::kF32;
  Index capacity_ = 0, heads_ = 0, head_dim_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace sextant
