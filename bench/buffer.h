// Memory of a measurement: aligned, and not touched before it is used.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "sextant/core/random.h"
#include "sextant/core/view.h"
#include "sextant/kernels/stored_number.h"

namespace sextant::bench {

// Pages become resident at their first use, so that memory which a run fills first counts as the
// run's, as in a peer that makes its output itself.
template <class T>
class Buffer {
 public:
  explicit Buffer(Index count) : count_(count) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t bytes = std::size_t(count) * sizeof(T);
    void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
    if (data == nullptr) throw std::bad_alloc();
    data_.reset(static_cast<T*>(data));
  }

  T* data() const { return data_.get(); }
  Index count() const { return count_; }
  double bytes() const { return double(count_) * sizeof(T); }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  Index count_;
  std::unique_ptr<T[], Free> data_;
};

// Near to normal numbers of variance 1, quickly: sums of four bytes. Takes no memory of its own, so
// that what a process holds is the measured work's.
template <class T>
void FillNormal(const Buffer<T>& buffer, std::uint64_t seed) {
  Random random(seed);
  for (Index i = 0; i < buffer.count(); ++i) {
    const std::uint64_t bits = random.Next();
    const auto sum = (bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24 & 255);
    Set((float(sum) - 510.0f) / 147.8f, buffer.data()[i]);
  }
}

}  // namespace sextant::bench
