// What tests of the fused kernel share: cases by feature, buffers with guards, comparison,
// executors and SIMD targets.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "sextant/attention/fused_plain.h"
#include "sextant/core/half.h"
#include "sextant/core/random.h"
#include "sextant/kernels/attention.h"

namespace sextant {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Runs `test` once for each SIMD target of the machine; under sanitizers for the best and the
// plainest, or for the best alone.
enum class Sanitized { kBestAndPlainest, kBest };
template <class Test>
void ForEachTarget(const Test& test, Sanitized sanitized = Sanitized::kBestAndPlainest) {
  hwy::SetSupportedTargetsForTest(0);
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  if (kSanitized && targets.size() > 1) {
    targets.erase(targets.begin() + 1, targets.end() - 1);
    if (sanitized == Sanitized::kBest) targets.pop_back();
  }
  for (std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    test(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Four threads that take pieces in a shuffled order.
class ShuffledExecutor final : public Executor {
 public:
  // How often it was given more than one piece.
  int shared() const { return shared_; }

  void Run(Index count, const std::function<void(Index)>& task) override {
    shared_ += count > 1;
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i; (i = next++) < order.size();) task(order[i]);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  Random random_{4};
  int shared_ = 0;
};

inline double Rounded(Storage storage, double value) {
  switch (storage) {
    case Storage::kF32:
      return RoundToF32(value);
    case Storage::kBf16:
      return RoundToBf16(value);
    case Storage::kF16:
      return RoundToF16(value);
  }
  return value;
}

// Numbers in memory of their own with elements around them that must stay as they are. What is
// read ends with the memory, so that sanitizers see a read past it.
enum class Use { kRead, kWritten };
template <class T>
class Guarded {
 public:
  Guarded() = default;
  Guarded(std::size_t size, Use use) : size_(size) {
    all_.assign(1 + size + (use == Use::kWritten ? 5 : 0), T(-777));
    if constexpr (std::is_floating_point_v<T>) {
      all_.assign(all_.size(), std::numeric_limits<T>::quiet_NaN());
    }
  }
  template <class From>
  Guarded(const std::vector<From>& values, Use use) : Guarded(values.size(), use) {
    for (std::size_t i = 0; i < size_; ++i) all_[1 + i] = T(values[i]);
  }

  // Null where there is nothing.
  T* data() { return size_ == 0 ? nullptr : all_.data() + 1; }
  bool GuardsStay() const {
    const Guarded fresh(size_, all_.size() == 1 + size_ ? Use::kRead : Use::kWritten);
    const std::size_t after = all_.size() - 1 - size_;
    return std::memcmp(all_.data(), fresh.all_.data(), sizeof(T)) == 0 &&
           std::memcmp(all_.data() + 1 + size_, fresh.all_.data() + 1 + size_, after * sizeof(T)) ==
               0;
  }
  std::vector<double> Values() const { return {all_.begin() + 1, all_.begin() + 1 + Index(size_)}; }
  const std::vector<T>& all() const { return all_; }

 private:
  std::size_t size_ = 0;
  std::vector<T> all_ = std::vector<T>(1);
};

// Heads in any storage, [tokens, heads, head_dim] or [heads, tokens, head_dim], off any alignment,
// with gaps of NaN between tokens and between heads.
enum class HeadOrder { kTokensFirst, kHeadsFirst };
class GuardedHeads {
 public:
  GuardedHeads() = default;
  GuardedHeads(Storage storage, HeadOrder order, Index tokens, Index heads, Index head_dim, Use use)
      : storage_(storage) {
    const bool tokens_first = order == HeadOrder::kTokensFirst;
    at_ = {tokens, heads, head_dim, tokens_first ? heads * (head_dim + 1) + 3 : head_dim + 1,
           tokens_first ? head_dim + 1 : tokens * (head_dim + 1) + 5};
    const bool none = tokens == 0 || heads == 0;
    const auto span = std::size_t(none ? 0 : at_.Offset(tokens - 1, heads - 1) + head_dim);
    floats_ = Guarded<float>(storage == Storage::kF32 ? span : 0, use);
    bits_.assign(storage == Storage::kF32 ? 0 : 1 + span + (use == Use::kWritten ? 5 : 0),
                 kNanBits);
  }
  GuardedHeads(Storage storage, HeadOrder order, Index tokens, Index heads, Index head_dim,
               const std::vector<double>& values)
      : GuardedHeads(storage, order, tokens, heads, head_dim, Use::kRead) {
    ForEach([&](std::size_t from, std::size_t to) {
      if (storage_ == Storage::kF32) floats_.data()[to] = float(values[from]);
      if (storage_ == Storage::kBf16) bits_[1 + to] = Bf16Bits(values[from]);
      if (storage_ == Storage::kF16) bits_[1 + to] = F16Bits(values[from]);
    });
  }

  HeadsIn in() { return As<HeadsIn>(); }
  HeadsOut out() { return As<HeadsOut>(); }
  Storage storage() const { return storage_; }
  std::vector<double> Values() const {
    std::vector<double> values(std::size_t(at_.tokens * at_.heads * at_.head_dim));
    ForEach([&](std::size_t to, std::size_t from) {
      values[to] = storage_ == Storage::kF32    ? double(floats_.all()[1 + from])
                   : storage_ == Storage::kBf16 ? FromBf16Bits(bits_[1 + from])
                                                : FromF16Bits(bits_[1 + from]);
    });
    return values;
  }
  // All that is not an element is as it was.
  bool GuardsStay() const {
    std::vector<float> floats = floats_.all();
    std::vector<std::uint16_t> bits = bits_;
    ForEach([&](std::size_t, std::size_t at) {
      if (storage_ == Storage::kF32) floats[1 + at] = std::numeric_limits<float>::quiet_NaN();
      if (storage_ != Storage::kF32) bits[1 + at] = kNanBits;
    });
    for (float x : floats) {
      if (storage_ == Storage::kF32 && !std::isnan(x)) return false;
    }
    return std::all_of(bits.begin(), bits.end(), [](auto b) { return b == kNanBits; });
  }

 private:
  static constexpr std::uint16_t kNanBits = 0x7fff;  // NaN as bfloat16 and as float16

  template <class Heads>
  Heads As() {
    const auto typed = [&](auto* data) {
      return HeadsOf<std::remove_pointer_t<decltype(data)>>{
          data, at_.tokens, at_.heads, at_.head_dim, at_.token_stride, at_.head_stride};
    };
    std::uint16_t* bits = bits_.empty() ? nullptr : bits_.data() + 1;
    if (storage_ == Storage::kBf16) return typed(reinterpret_cast<Bf16*>(bits));
    if (storage_ == Storage::kF16) return typed(reinterpret_cast<F16*>(bits));
    return typed(floats_.data());
  }
  // f(place in [tokens, heads, head_dim], place in memory)
  template <class F>
  void ForEach(const F& f) const {
    std::size_t packed = 0;
    for (Index n = 0; n < at_.tokens; ++n) {
      for (Index h = 0; h < at_.heads; ++h) {
        for (Index c = 0; c < at_.head_dim; ++c) f(packed++, std::size_t(at_.Offset(n, h) + c));
      }
    }
  }

  Storage storage_ = Storage::kF32;
  HeadsLayout at_;
  Guarded<float> floats_;
  std::vector<std::uint16_t> bits_;
};

}  // namespace sextant
