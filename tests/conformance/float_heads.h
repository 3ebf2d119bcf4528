// Heads of each storage that own their numbers, and the same numbers in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "sextant/attention/attention.h"
#include "sextant/core/half.h"

namespace sextant::conformance {

// [tokens, heads, head_dim] from [heads, tokens, head_dim], rounded to the storage.
class StoredNumbers {
 public:
  StoredNumbers(const Array<double, 3>& x, Storage storage)
      : storage_(storage), tokens_(x.extent(1)), heads_(x.extent(0)), dim_(x.extent(2)) {
    for (Index n = 0; n < tokens_; ++n) {
      for (Index h = 0; h < heads_; ++h) {
        for (Index c = 0; c < dim_; ++c) {
          floats_.push_back(static_cast<float>(x(h, n, c)));
          bf16_.push_back({Bf16Bits(x(h, n, c))});
          f16_.push_back({F16Bits(x(h, n, c))});
        }
      }
    }
  }
  // Zeros.
  StoredNumbers(const Shape<3>& shape, Storage storage)
      : StoredNumbers(Array<double, 3>(shape), storage) {}

  HeadsIn in() const {
    if (storage_ == Storage::kBf16) return DenseHeads(bf16_.data(), tokens_, heads_, dim_);
    if (storage_ == Storage::kF16) return DenseHeads(f16_.data(), tokens_, heads_, dim_);
    return DenseHeads(floats_.data(), tokens_, heads_, dim_);
  }
  HeadsOut out() {
    if (storage_ == Storage::kBf16) return DenseHeads(bf16_.data(), tokens_, heads_, dim_);
    if (storage_ == Storage::kF16) return DenseHeads(f16_.data(), tokens_, heads_, dim_);
    return DenseHeads(floats_.data(), tokens_, heads_, dim_);
  }
  // What is stored, exactly.
  Array<double, 3> exact() const {
    Array<double, 3> x({heads_, tokens_, dim_});
    for (Index n = 0; n < tokens_; ++n) {
      for (Index h = 0; h < heads_; ++h) {
        for (Index c = 0; c < dim_; ++c) {
          const std::size_t at = std::size_t((n * heads_ + h) * dim_ + c);
          x(h, n, c) = storage_ == Storage::kBf16  ? FromBf16Bits(bf16_[at].bits)
                       : storage_ == Storage::kF16 ? FromF16Bits(f16_[at].bits)
                                                   : double(floats_[at]);
        }
      }
    }
    return x;
  }

 private:
  Storage storage_;
  Index tokens_, heads_, dim_;
  std::vector<float> floats_;
  std::vector<Bf16> bf16_;
  std::vector<F16> f16_;
};

}  // namespace sextant::conformance
