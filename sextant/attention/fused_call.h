// What the fused kernel reads for one call: encoded heads, tables and the mask.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "sextant/attention/attention.h"
#include "sextant/attention/encode_heads.h"
#include "sextant/kernels/decode.h"

namespace sextant {

// Tables over one range of distances; null where the scheme does not offer them.
struct DistanceTables {
  std::shared_ptr<const DistanceBiasRows> bias;
  std::shared_ptr<const VectorRows> vectors;

  static DistanceTables Of(const KernelTables& tables, const Distances& distances, Index heads,
                           Index head_dim);
  Distances distances() const;
  void GiveTo(FusedAttention& call) const;
};

// Whether a scheme has tables by distance.
bool ReadsDistances(const Scheme& scheme);

// A mask as the kernel reads it, from query `first` on. Cells must lie together.
KernelMask KernelMaskOf(const AttentionMask& mask, Index first, Index keys);

// The mask with its cells lying together: in `memory` where they do not.
AttentionMask WithCellsTogether(const AttentionMask& mask, std::vector<std::uint8_t>& memory);

// Throws Error unless sizes, strides, weights, positions and the mask go together, and `out` has
// the shape of the queries and lies apart from all inputs.
void CheckHeads(const Scheme& scheme, Weights weights, const PositionedHeads& in);
void CheckOut(const PositionedHeads& in, const HeadsOut& out);

// Throws Error where heads have a negative size or stride, or no numbers.
void CheckLayout(const char* name, const HeadsLayout& heads, const void* data);

// One call, cut into parts of queries where the scheme has a bias by tile: a part's tile takes
// no more than the settings allow. What it is given must outlive it.
class FusedCall {
 public:
  // Checks all, fills the tables and encodes queries and keys. Throws Error where anything does not
  // fit; what follows finds nothing more.
  FusedCall(const KernelTables& tables, const PositionedHeads& in,
            const AttentionSettings& settings);
  // The same for keys that are encoded already, and tables that hold every distance shown.
  FusedCall(const KernelTables& tables, const PositionedHeads& in,
            const AttentionSettings& settings, DistanceTables by_distance);

  struct Part {
    Index first = 0, count = 0;
    std::shared_ptr<const TileRows> tile;
  };
  // At least one, which is empty without queries.
  Index parts() const { return std::max<Index>(1, (in_.query.tokens + part_ - 1) / part_); }
  Part PartAt(Index n) const;  // a tile is filled here where there are several parts
  FusedAttention Kernel(const Part& part) const;
  // The kernel for few queries where it serves, else the forward kernel part by part; out and
  // log_sum_exp as Attention's.
  void Forward(const HeadsOut& out, float* log_sum_exp) const;

  const PositionedHeads& in() const { return in_; }
  const HeadsEncoding& encoding(Side side) const {
    return side == Side::kQuery ? query_encoding_ : key_encoding_;
  }
  const DistanceTables& by_distance() const { return by_distance_; }
  const QueryScales* scales() const { return scales_.get(); }

 private:
  static bool Decodes(const FusedAttention& call);
  static DecodeAttention Decoding(const FusedAttention& call);
  void Check();
  void EncodeQuery();
  // Heads of float32 encoded, or those given where nothing is.
  HeadsIn Encoded(const HeadsEncoding& encoding, const HeadsIn& x,
                  std::vector<float>& memory) const;
  void FillTile();

  const KernelTables& tables_;
  const PositionedHeads& in_;
  const AttentionSettings& settings_;
  Index part_;                            // queries of a part
  std::shared_ptr<const TileRows> tile_;  // of the only part
  std::vector<std::uint8_t> cells_;
  AttentionMask mask_;
  HeadsEncoding query_encoding_, key_encoding_;
  std::vector<float> query_memory_, key_memory_;
  HeadsIn query_, key_;
  DistanceTables by_distance_;
  std::shared_ptr<const QueryScales> scales_;
};

}  // namespace sextant
