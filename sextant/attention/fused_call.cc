// Arguments of the fused kernel from a scheme's tables.
#include "sextant/attention/fused_call.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sextant/attention/sizes.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr Index kDecodedQueries = 16;  // the most that AttentionDecode takes

Shape<3> ShapeOf(const HeadsIn& heads) { return {heads.heads, heads.tokens, heads.head_dim}; }

}  // namespace

DistanceTables DistanceTables::Of(const KernelTables& tables, const Distances& distances,
                                  Index heads, Index head_dim) {
  return {tables.DistanceBias(distances), tables.Vectors(distances, heads, head_dim)};
}

Distances DistanceTables::distances() const {
  return bias != nullptr ? bias->distances : vectors != nullptr ? vectors->distances : Distances{};
}

void DistanceTables::GiveTo(FusedAttention& call) const {
  call.first_distance = distances().first;
  call.distances = distances().count;
  if (call.distances == 0) return;
  if (bias != nullptr) call.bias = {bias->values.data(), call.distances};
  if (vectors != nullptr) call.vectors = vectors->view();
}

bool ReadsDistances(const Scheme& scheme) {
  return scheme.offers(Hook::kDistanceBias) || scheme.offers(Hook::kDistanceVectors);
}

KernelMask KernelMaskOf(const AttentionMask& mask, Index first, Index keys) {
  KernelMask kernel;
  kernel.causal = mask.causal;
  kernel.window = mask.window;
  if (!mask.key_valid.empty()) kernel.key_valid = mask.key_valid.data();
  if (!mask.key_sequence.empty() && !mask.query_sequence.empty()) {
    kernel.query_sequence = mask.query_sequence.data() + first;
    kernel.key_sequence = mask.key_sequence.data();
  }
  if (mask.cells.data() != nullptr) kernel.cells = mask.cells.data() + first * keys;
  return kernel;
}

AttentionMask WithCellsTogether(const AttentionMask& mask, std::vector<std::uint8_t>& memory) {
  const auto& cells = mask.cells;
  if (cells.data() == nullptr || cells.stride()[0] == cells.extent(1)) return mask;
  memory.clear();
  for (Index i = 0; i < cells.extent(0); ++i) {
    const auto row = cells[i].span();
    memory.insert(memory.end(), row.begin(), row.end());
  }
  AttentionMask together = mask;
  together.cells = {memory.data(), cells.shape()};
  return together;
}

void CheckLayout(const char* name, const HeadsLayout& heads, const void* data) {
  const auto fail = [&](const char* rule) {
    throw Error("attention", std::string(name) + rule + ", got [" + std::to_string(heads.tokens) +
                                 ", " + std::to_string(heads.heads) + ", " +
                                 std::to_string(heads.head_dim) + "] in strides of " +
                                 std::to_string(heads.token_stride) + " and " +
                                 std::to_string(heads.head_stride));
  };
  if (std::min({heads.tokens, heads.heads, heads.head_dim, heads.token_stride, heads.head_stride}) <
      0) {
    fail(" must have no negative size or stride");
  }
  const bool numbers = heads.tokens > 0 && heads.heads > 0 && heads.head_dim > 0;
  if (numbers && data == nullptr) fail(" has no numbers");
}

void CheckHeads(const Scheme& scheme, Weights weights, const PositionedHeads& in) {
  CheckLayout("query", in.query, in.query.data());
  CheckLayout("key", in.key, in.key.data());
  CheckLayout("value", in.value, in.value.data());
  CheckSizes(scheme, weights,
             {ShapeOf(in.query), ShapeOf(in.key), ShapeOf(in.value), in.query_positions.count(),
              in.key_positions.count()});
  CheckMask(in.mask, in.query.tokens, in.key.tokens);
  for (std::int32_t sequence : in.mask.query_sequence) {
    if (sequence == INT32_MIN) throw Error("attention", "a sequence may not be numbered -2^31");
  }
}

void CheckOut(const PositionedHeads& in, const HeadsOut& out) {
  CheckLayout("out", out, out.data());
  if (!out.SameShape(in.query)) throw Error("attention", "out must have the shape of the queries");
  for (const HeadsIn* read : {&in.query, &in.key, &in.value}) {
    if (Overlap(*read, out)) throw Error("attention", "out must not overlap an input");
  }
}

FusedCall::FusedCall(const KernelTables& tables, const PositionedHeads& in,
                     const AttentionSettings& settings)
    : tables_(tables), in_(in), settings_(settings) {
  Check();
  if (ReadsDistances(tables.scheme())) {
    by_distance_ =
        DistanceTables::Of(tables, DistancesShown(in.mask, in.query_positions, in.key_positions),
                           in.query.heads, in.query.head_dim);
  }
  key_encoding_ = EncodingOf(tables, in.key_positions, Side::kKey, in.key.heads, in.key.head_dim);
  EncodeQuery();
  key_ = Encoded(key_encoding_, in.key, key_memory_);
}

FusedCall::FusedCall(const KernelTables& tables, const PositionedHeads& in,
                     const AttentionSettings& settings, DistanceTables by_distance)
    : tables_(tables), in_(in), settings_(settings), by_distance_(std::move(by_distance)) {
  Check();
  EncodeQuery();
  key_ = in.key;
}

void FusedCall::Check() {
  CheckSizes(tables_.scheme(), tables_.weights(),
             {ShapeOf(in_.query), ShapeOf(in_.key), ShapeOf(in_.value), in_.query_positions.count(),
              in_.key_positions.count()});
  CheckMask(in_.mask, in_.query.tokens, in_.key.tokens);
  mask_ = WithCellsTogether(in_.mask, cells_);
  part_ = std::max<Index>(1, in_.query.tokens);
  if (!tables_.scheme().offers(Hook::kTileBias)) return;
  const Index row = std::max<Index>(1, in_.query.heads * in_.key.tokens) * Index{sizeof(float)};
  part_ = std::clamp<Index>(Index(settings_.tile_bytes) / row, 1, part_);
  FillTile();
}

void FusedCall::EncodeQuery() {
  scales_ = tables_.Scales(in_.query_positions);
  query_encoding_ =
      EncodingOf(tables_, in_.query_positions, Side::kQuery, in_.query.heads, in_.query.head_dim);
  query_ = Encoded(query_encoding_, in_.query, query_memory_);
}

HeadsIn FusedCall::Encoded(const HeadsEncoding& encoding, const HeadsIn& x,
                           std::vector<float>& memory) const {
  if (!encoding.changes()) return x;
  memory.resize(static_cast<std::size_t>(x.tokens * x.heads * x.head_dim));
  const HeadsOf<float> encoded = DenseHeads(memory.data(), x.tokens, x.heads, x.head_dim);
  EncodeHeads(encoding, x, encoded, tables_.executor());
  return encoded;
}

void FusedCall::FillTile() {
  if (parts() == 1) {
    tile_ = tables_.Tile(in_.query_positions, in_.key_positions);
  } else if (in_.key.tokens > 0) {
    // What a later part would find comes after the first part is written.
    DistancesBetween(in_.query_positions, in_.key_positions);
    tables_.Tile(in_.query_positions, Slice(in_.key_positions, 0, 1));
    tables_.Tile(Slice(in_.query_positions, 0, 1), in_.key_positions);
  }
}

FusedCall::Part FusedCall::PartAt(Index n) const {
  Part part{n * part_, std::min(part_, in_.query.tokens - n * part_), nullptr};
  if (parts() == 1) {
    part.tile = tile_;
    return part;
  }
  part.tile = tables_.Tile(Slice(in_.query_positions, part.first, part.count), in_.key_positions);
  return part;
}

FusedAttention FusedCall::Kernel(const Part& part) const {
  FusedAttention call;
  call.query = Tokens(query_, part.first, part.count);
  call.key = key_;
  call.value = in_.value;
  const double scale = in_.scale != 0 ? in_.scale : 1 / std::sqrt(double(in_.query.head_dim));
  call.scale = static_cast<float>(scale * tables_.scheme().softmax_multiplier());
  call.mask = KernelMaskOf(mask_, part.first, key_.tokens);
  if (part.count > 0 && key_.tokens > 0) {
    call.query_position = in_.query_positions.values.data() + part.first;
    call.key_position = in_.key_positions.values.data();
  }
  by_distance_.GiveTo(call);
  if (part.tile != nullptr) {
    call.tile = {part.tile->values.data(), part.count * key_.tokens, key_.tokens};
  }
  if (scales_ != nullptr) call.query_scale = scales_->values.data() + part.first;
  call.skip = settings_.skip;
  return call;
}

bool FusedCall::Decodes(const FusedAttention& call) {
  const KernelMask& mask = call.mask;
  const VectorsByDistance& vectors = call.vectors;
  return call.query.tokens <= kDecodedQueries && call.tile.values == nullptr &&
         mask.cells == nullptr && mask.query_sequence == nullptr && vectors.row == nullptr;
}

DecodeAttention FusedCall::Decoding(const FusedAttention& call) {
  DecodeAttention decode;
  decode.query = call.query;
  decode.key = call.key;
  decode.value = call.value;
  decode.scale = call.scale;
  decode.causal = call.mask.causal;
  decode.window = call.mask.window;
  decode.key_valid = call.mask.key_valid;
  decode.query_position = call.query_position;
  decode.key_position = call.key_position;
  decode.bias = call.bias.values;
  decode.bias_head_stride = call.bias.head_stride;
  decode.first_distance = call.first_distance;
  decode.distances = call.distances;
  decode.query_scale = call.query_scale;
  return decode;
}

void FusedCall::Forward(const HeadsOut& out, float* log_sum_exp) const {
  const Index heads = in_.query.heads, queries = in_.query.tokens;
  std::vector<float> sums;
  for (Index n = 0; n < parts(); ++n) {
    const Part part = PartAt(n);
    const bool straight = parts() == 1 && log_sum_exp != nullptr;
    if (!straight) sums.resize(static_cast<std::size_t>(heads * part.count));
    const FusedAttention call = Kernel(part);
    const HeadsOut rows = Tokens(out, part.first, part.count);
    float* const sums_of_part = straight ? log_sum_exp : sums.data();
    if (Decodes(call)) {
      AttentionDecode(Decoding(call), rows, sums_of_part, tables_.executor());
    } else {
      AttentionForward(call, rows, sums_of_part, tables_.executor());
    }
    for (Index h = 0; !straight && log_sum_exp != nullptr && h < heads; ++h) {
      std::copy_n(sums.data() + h * part.count, part.count, log_sum_exp + h * queries + part.first);
    }
  }
}

}  // namespace sextant
