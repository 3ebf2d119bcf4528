// Packs bfloat16 heads two numbers to a pair.
#include "sextant/kernels/paired_keys.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sextant {
namespace {

// Whether neither number of a pair is an infinity or NaN: their exponents have all bits set.
bool Finite(Pair pair) {
  return (pair & 0x7f80u) != 0x7f80u && (pair & 0x7f800000u) != 0x7f800000u;
}

}  // namespace

void CopyPairs(const HeadsIn& from, Index head, Index first, Index count, Index stride, Pair* to) {
  const auto* data = static_cast<const Bf16*>(from.data());
  for (Index n = 0; n < count; ++n) {
    Pair* row = to + n * stride;
    std::fill(row, row + stride, Pair{0});
    std::memcpy(row, data + from.Offset(first + n, head),
                std::size_t(from.head_dim) * sizeof(Bf16));
  }
}

const PairKernels* PairedKeys::KernelsOf(const AttentionPlan& plan) {
  return plan.in.pair_kernels != nullptr ? plan.in.pair_kernels : BestPairKernels();
}

bool PairedKeys::Serve(const AttentionPlan& plan) {
  const FusedAttention& in = plan.in;
  const auto bf16 = [](const HeadsIn& heads) { return heads.storage() == Storage::kBf16; };
  return in.pairs == PairProducts::kWhereServed && bf16(in.query) && bf16(in.key) &&
         bf16(in.value) && !plan.has_vectors() && in.vectors.content_bias == nullptr &&
         KernelsOf(plan) != nullptr;
}

PairedKeys::PairedKeys(const AttentionPlan& plan, Executor& executor)
    : kernels_(KernelsOf(plan)),
      tiles_((plan.keys + kKeyBlock - 1) / kKeyBlock),
      channel_pairs_(PairsOf(plan.head_dim)),
      width_(plan.width),
      key_(plan.kv_heads * tiles_ * kKeyBlock * channel_pairs_),
      value_(plan.kv_heads * tiles_ * kKeyBlock / 2 * width_),
      longest_(static_cast<std::size_t>(plan.kv_heads * tiles_)) {
  const Index pieces = plan.kv_heads * tiles_;
  std::vector<std::uint8_t> finite(static_cast<std::size_t>(pieces));
  executor.Run(pieces, [&](Index piece) {
    const Index kv = piece / tiles_, tile = piece % tiles_;
    const bool keys = PackKeys(plan, kv, tile), values = PackValues(plan, kv, tile);
    finite[std::size_t(piece)] = keys && values;
  });
  finite_ = std::find(finite.begin(), finite.end(), 0) == finite.end();
}

Pair* PairedKeys::Slot(const Floats& floats, Index kv, Index tile, Index pairs_a_key) const {
  void* memory = floats.get() + (kv * tiles_ + tile) * kKeyBlock * pairs_a_key;
  return static_cast<Pair*>(memory);
}
const Pair* PairedKeys::Key(Index kv, Index tile) const {
  return Slot(key_, kv, tile, channel_pairs_);
}
const Pair* PairedKeys::Value(Index kv, Index tile) const {
  return Slot(value_, kv, tile, width_ / 2);
}

bool PairedKeys::PackKeys(const AttentionPlan& plan, Index kv, Index tile) {
  Pair* to = Slot(key_, kv, tile, channel_pairs_);
  std::vector<Pair> rows(std::size_t(kPanel * channel_pairs_));
  std::vector<float> row(std::size_t(plan.head_dim));
  float longest = 0;
  bool finite = true;
  const Index first = tile * kKeyBlock, end = std::min(first + kKeyBlock, plan.keys);
  for (Index k0 = first; k0 < end; k0 += kPanel, to += kPanel * channel_pairs_) {
    const Index count = std::min(kPanel, end - k0);
    std::fill(rows.begin() + count * channel_pairs_, rows.end(), Pair{0});
    CopyPairs(plan.in.key, kv, k0, count, channel_pairs_, rows.data());
    for (Pair pair : rows) finite = finite && Finite(pair);
    for (Index n = 0; n < count; ++n) {
      plan.in.key.Read(kv, k0 + n, 1, plan.head_dim, row.data());
      longest = std::max(longest, SquaredNorm(row.data(), plan.head_dim));
    }
    for (Index c = 0; c < channel_pairs_; ++c) {
      for (Index r = 0; r < kPanel; ++r) {
        to[c * kPanel + r] = rows[std::size_t(r * channel_pairs_ + c)];
      }
    }
  }
  longest_[std::size_t(kv * tiles_ + tile)] = std::sqrt(longest);
  return finite;
}

bool PairedKeys::PackValues(const AttentionPlan& plan, Index kv, Index tile) {
  Pair* to = Slot(value_, kv, tile, width_ / 2);
  const HeadsIn& value = plan.in.value;
  const auto* data = static_cast<const Bf16*>(value.data());
  const Index first = tile * kKeyBlock, end = std::min(first + kKeyBlock, plan.keys);
  bool finite = true;
  for (Index j = first; j < end; j += 2, to += width_) {
    const Bf16* low = data + value.Offset(j, kv);
    const Bf16* high = j + 1 < end ? data + value.Offset(j + 1, kv) : nullptr;
    for (Index c = 0; c < plan.head_dim; ++c) {
      to[c] = Pair{low[c].bits} | (high == nullptr ? 0 : Pair{high[c].bits} << 16);
      finite = finite && Finite(to[c]);
    }
    std::fill(to + plan.head_dim, to + width_, Pair{0});
  }
  return finite;
}

}  // namespace sextant
