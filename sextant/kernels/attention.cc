// Tiles of scores, softmax in base 2 and their gradients, for every SIMD target by Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/attention.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/kernels/attention.h"

#ifndef SEXTANT_KERNELS_ATTENTION_ONCE
#define SEXTANT_KERNELS_ATTENTION_ONCE
namespace sextant {

constexpr Index kQueryBlock = 48, kKeyBlock = 256;
constexpr float kLog2E = 1.44269504088896341f;
constexpr Index kPadding = HWY_MAX_BYTES / sizeof(float) * 4;  // rows of floats are padded to this

static_assert(kKeyBlock % kPadding == 0);

constexpr Index Padded(Index count) { return (count + kPadding - 1) / kPadding * kPadding; }

using Floats = hwy::AlignedFreeUniquePtr<float[]>;
inline Floats MakeFloats(Index count) {
  return hwy::AllocateAligned<float>(static_cast<std::size_t>(count + kPadding));
}

// Rows of one head, padded with zeros to [Padded(rows), Padded(head_dim)], and their transpose in
// panels: panel p holds [head_dim][kPadding] of rows p kPadding on.
struct PackedRows {
  Floats rows, panels;
};

// What all pieces of one call share.
struct AttentionCall {
  const FusedAttention* in = nullptr;
  const std::vector<PackedRows>* key = nullptr;    // by kv head
  const std::vector<PackedRows>* value = nullptr;  // by kv head
  Index queries = 0, keys = 0, heads = 0, group = 1, head_dim = 0;

  // One past the last key that query i sees.
  Index Seen(Index i) const {
    if (in->mask == KernelMask::kNone) return keys;
    return std::clamp<Index>(i + 1 + keys - queries, 0, keys);
  }
  // The bias of query i and key 0.
  const float* BiasRow(Index head, Index i) const {
    return in->bias + head * in->bias_stride + (queries - 1 - i);
  }
};

}  // namespace sextant
#endif  // SEXTANT_KERNELS_ATTENTION_ONCE

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

HWY_INLINE Index Lanes() { return Index(hn::Lanes(DF())); }

// 2^x for x <= 0, off by 2e-7 of it; 0 below -126, so that no denormals are made.
HWY_INLINE VF Exp2(VF x) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const VF whole = hn::Round(hn::Max(x, hn::Set(d, -127.0f)));
  const VF r = hn::Sub(x, whole);
  VF p = hn::Set(d, 1.5403530e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3333558e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.6181291e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.5504109e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.4022651e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.9314718e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -126.0f)), hn::Mul(p, hn::BitCast(d, exponent)));
}

// A small matrix A: element (row, k) at data[row * by_row + k * by_k].
struct Left {
  const float* data;
  Index by_row, by_k;
};

// C [rows, vectors] += A B for `rows` rows of C and `vectors` vectors of columns.
template <int rows, int vectors>
HWY_INLINE void Multiply(const Left& a, Index inner, const float* b, Index b_stride, float* c,
                         Index c_stride) {
  const DF d;
  const Index lanes = Lanes();
  VF sum[rows][vectors];
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::LoadU(d, c + r * c_stride + v * lanes);
  }
  for (Index k = 0; k < inner; ++k) {
    VF right[vectors];
    for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + k * b_stride + v * lanes);
    for (int r = 0; r < rows; ++r) {
      const VF left = hn::Set(d, a.data[r * a.by_row + k * a.by_k]);
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) hn::StoreU(sum[r][v], d, c + r * c_stride + v * lanes);
  }
}

template <int vectors>
HWY_INLINE void MultiplyRows(const Left& a, Index count, Index inner, const float* b,
                             Index b_stride, float* c, Index c_stride) {
  constexpr int kRows = 6;
  Index row = 0;
  for (; row + kRows <= count; row += kRows) {
    Multiply<kRows, vectors>({a.data + row * a.by_row, a.by_row, a.by_k}, inner, b, b_stride,
                             c + row * c_stride, c_stride);
  }
  for (; row < count; ++row) {
    Multiply<1, vectors>({a.data + row * a.by_row, a.by_row, a.by_k}, inner, b, b_stride,
                         c + row * c_stride, c_stride);
  }
}

// C [count, columns] += A [count, inner] B [inner, columns]; columns is a multiple of the lanes.
void MultiplyAdd(const Left& a, Index count, Index inner, const float* b, Index b_stride, float* c,
                 Index c_stride, Index columns) {
  const Index lanes = Lanes(), fours = columns / (4 * lanes), ones = columns / lanes;
  for (Index f = 0; f < fours; ++f) {
    const Index at = f * 4 * lanes;
    MultiplyRows<4>(a, count, inner, b + at, b_stride, c + at, c_stride);
  }
  for (Index v = 4 * fours; v < ones; ++v) {
    MultiplyRows<1>(a, count, inner, b + v * lanes, b_stride, c + v * lanes, c_stride);
  }
}

// tile [rows, key block] = left rows . packed rows, from key k0 on, `count` of them (padded up).
void Products(const float* left, Index left_stride, Index rows, Index head_dim,
              const PackedRows& right, Index k0, Index count, float* tile) {
  std::fill(tile, tile + rows * kKeyBlock, 0.0f);
  for (Index k = 0; k < count; k += kPadding) {
    const float* panel = right.panels.get() + (k0 + k) * head_dim;
    MultiplyAdd({left, left_stride, 1}, rows, head_dim, panel, kPadding, tile + k, kKeyBlock,
                kPadding);
  }
}

// Adds the bias in base 2 and hides the keys from `seen` on; returns the largest.
float FinishScores(float* scores, Index count, Index seen, const float* bias) {
  const DF d;
  const Index lanes = Lanes(), padded = Padded(count);
  if (bias != nullptr) {
    Index j = 0;
    for (; j + lanes <= count; j += lanes) {
      const VF sum =
          hn::MulAdd(hn::LoadU(d, bias + j), hn::Set(d, kLog2E), hn::LoadU(d, scores + j));
      hn::StoreU(sum, d, scores + j);
    }
    for (; j < count; ++j) scores[j] += bias[j] * kLog2E;
  }
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  std::fill(scores + std::clamp<Index>(seen, 0, padded), scores + padded, kHidden);
  VF most = hn::Set(d, kHidden);
  for (Index j = 0; j < padded; j += lanes) most = hn::Max(most, hn::LoadU(d, scores + j));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// scores := 2^(scores - most); returns their sum.
float Exponentials(float* scores, Index padded, float most) {
  const DF d;
  const VF shift = hn::Set(d, most);
  VF sum = hn::Zero(d);
  for (Index j = 0; j < padded; j += Lanes()) {
    const VF e = Exp2(hn::Sub(hn::LoadU(d, scores + j), shift));
    hn::StoreU(e, d, scores + j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void ScaleRow(float* row, Index width, float factor) {
  const DF d;
  for (Index c = 0; c < width; c += Lanes()) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + c), hn::Set(d, factor)), d, row + c);
  }
}

// One block of queries of one head.
void ForwardBlock(const AttentionCall& call, Index head, Index q0, const HeadsOf<float>& out,
                  float* log_sum_exp) {
  const FusedAttention& in = *call.in;
  const Index rows = std::min(kQueryBlock, call.queries - q0), dim = call.head_dim;
  const Index width = Padded(dim), kv = head / call.group;
  const Floats query = MakeFloats(kQueryBlock * dim), tile = MakeFloats(kQueryBlock * kKeyBlock),
               sums = MakeFloats(kQueryBlock * width);
  std::fill(sums.get(), sums.get() + rows * width, 0.0f);
  float most[kQueryBlock], total[kQueryBlock];
  for (Index i = 0; i < rows; ++i) {
    const float* from =
        in.query.data + (q0 + i) * in.query.token_stride + head * in.query.head_stride;
    for (Index c = 0; c < dim; ++c) query[std::size_t(i * dim + c)] = from[c] * in.scale * kLog2E;
    most[i] = -std::numeric_limits<float>::infinity();
    total[i] = 0;
  }
  const Index end = call.Seen(q0 + rows - 1);
  for (Index k0 = 0; k0 < end; k0 += kKeyBlock) {
    const Index count = std::min(kKeyBlock, end - k0), padded = Padded(count);
    Products(query.get(), dim, rows, dim, (*call.key)[std::size_t(kv)], k0, count, tile.get());
    for (Index i = 0; i < rows; ++i) {
      float* scores = tile.get() + i * kKeyBlock;
      const float* bias = in.bias == nullptr ? nullptr : call.BiasRow(head, q0 + i) + k0;
      const float here = FinishScores(scores, count, call.Seen(q0 + i) - k0, bias);
      const float now = std::max(most[i], here);
      if (now == -std::numeric_limits<float>::infinity()) {
        std::fill(scores, scores + padded, 0.0f);
        continue;
      }
      const float kept = std::exp2(most[i] - now);
      total[i] = total[i] * kept + Exponentials(scores, padded, now);
      if (kept != 1) ScaleRow(sums.get() + i * width, width, kept);
      most[i] = now;
    }
    const float* values = (*call.value)[std::size_t(kv)].rows.get() + k0 * width;
    MultiplyAdd({tile.get(), kKeyBlock, 1}, rows, count, values, width, sums.get(), width, width);
  }
  for (Index i = 0; i < rows; ++i) {
    float* to = out.data + (q0 + i) * out.token_stride + head * out.head_stride;
    const float factor = total[i] > 0 ? 1 / total[i] : 0;
    for (Index c = 0; c < dim; ++c) to[c] = sums[std::size_t(i * width + c)] * factor;
    log_sum_exp[head * call.queries + q0 + i] = total[i] > 0
                                                    ? (most[i] + std::log2(total[i])) / kLog2E
                                                    : -std::numeric_limits<float>::infinity();
  }
}

// dS = P (dP - D): turns the tiles of P and dP into dS, in place of dP.
void ScoreGradients(const float* weights, float* d_weights, Index padded, float mean) {
  const DF d;
  for (Index j = 0; j < padded; j += Lanes()) {
    const VF p = hn::LoadU(d, weights + j);
    hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(d, d_weights + j), hn::Set(d, mean))), d,
               d_weights + j);
  }
}

// Adds the rows of a tile of dS along its diagonals to d_bias, through floats of one tile.
void AddDiagonals(const float* d_scores, Index rows, Index count, double* d_bias, float* band) {
  const DF d;
  const Index lanes = Lanes(), width = rows + count - 1;
  std::fill(band, band + width + kPadding, 0.0f);
  for (Index i = 0; i < rows; ++i) {
    const float* row = d_scores + i * kKeyBlock;
    float* to = band + (rows - 1 - i);
    Index j = 0;
    for (; j + lanes <= count; j += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, to + j), hn::LoadU(d, row + j)), d, to + j);
    }
    for (; j < count; ++j) to[j] += row[j];
  }
  for (Index n = 0; n < width; ++n) d_bias[n] += double(band[n]);
}

// The rows of one head as [count, width] floats, padded with zeros.
void CopyRows(const HeadsOf<const float>& from, Index head, Index first, Index count, Index width,
              float* to) {
  for (Index n = 0; n < count; ++n) {
    const float* row = from.data + (first + n) * from.token_stride + head * from.head_stride;
    std::copy(row, row + from.head_dim, to + n * width);
    std::fill(to + n * width + from.head_dim, to + (n + 1) * width, 0.0f);
  }
}

struct BackwardBuffers {
  explicit BackwardBuffers(Index width, Index keys)
      : query(MakeFloats(kQueryBlock * width)),
        d_out(MakeFloats(kQueryBlock * width)),
        d_query(MakeFloats(kQueryBlock * width)),
        weights(MakeFloats(kQueryBlock * kKeyBlock)),
        d_scores(MakeFloats(kQueryBlock * kKeyBlock)),
        band(MakeFloats(kQueryBlock + kKeyBlock + kPadding)),
        d_key(MakeFloats(Padded(keys) * width)),
        d_value(MakeFloats(Padded(keys) * width)) {
    std::fill(d_key.get(), d_key.get() + Padded(keys) * width, 0.0f);
    std::fill(d_value.get(), d_value.get() + Padded(keys) * width, 0.0f);
  }
  Floats query, d_out, d_query, weights, d_scores, band, d_key, d_value;
};

void BackwardBlock(const AttentionCall& call, const AttentionGradient& gradient, Index head,
                   Index q0, BackwardBuffers& b) {
  const FusedAttention& in = *call.in;
  const Index rows = std::min(kQueryBlock, call.queries - q0), dim = call.head_dim;
  const Index width = Padded(dim), kv = head / call.group;
  const PackedRows &key = (*call.key)[std::size_t(kv)], &value = (*call.value)[std::size_t(kv)];
  CopyRows(in.query, head, q0, rows, width, b.query.get());
  CopyRows(gradient.d_out, head, q0, rows, width, b.d_out.get());
  std::fill(b.d_query.get(), b.d_query.get() + rows * width, 0.0f);
  float mean[kQueryBlock], log2_sum[kQueryBlock];
  for (Index i = 0; i < rows; ++i) {
    const float* out =
        gradient.out.data + (q0 + i) * gradient.out.token_stride + head * gradient.out.head_stride;
    double sum = 0;
    for (Index c = 0; c < dim; ++c) {
      sum += double(out[c]) * double(b.d_out[std::size_t(i * width + c)]);
    }
    mean[i] = float(sum);
    log2_sum[i] = gradient.log_sum_exp[head * call.queries + q0 + i] * kLog2E;
    ScaleRow(b.query.get() + i * width, width, in.scale * kLog2E);
  }
  const Index end = call.Seen(q0 + rows - 1);
  for (Index k0 = 0; k0 < end; k0 += kKeyBlock) {
    const Index count = std::min(kKeyBlock, end - k0), padded = Padded(count);
    Products(b.query.get(), width, rows, dim, key, k0, count, b.weights.get());
    Products(b.d_out.get(), width, rows, dim, value, k0, count, b.d_scores.get());
    for (Index i = 0; i < rows; ++i) {
      float* weights = b.weights.get() + i * kKeyBlock;
      const float* bias = in.bias == nullptr ? nullptr : call.BiasRow(head, q0 + i) + k0;
      const float most = FinishScores(weights, count, call.Seen(q0 + i) - k0, bias);
      if (most == -std::numeric_limits<float>::infinity()) {
        std::fill(weights, weights + padded, 0.0f);
      } else {
        Exponentials(weights, padded, log2_sum[i]);
      }
      ScoreGradients(weights, b.d_scores.get() + i * kKeyBlock, padded, mean[i]);
    }
    float *d_key = b.d_key.get() + k0 * width, *d_value = b.d_value.get() + k0 * width;
    MultiplyAdd({b.weights.get(), 1, kKeyBlock}, count, rows, b.d_out.get(), width, d_value, width,
                width);
    // The queries carry scale log2(e), which the copy out divides away again.
    MultiplyAdd({b.d_scores.get(), 1, kKeyBlock}, count, rows, b.query.get(), width, d_key, width,
                width);
    MultiplyAdd({b.d_scores.get(), kKeyBlock, 1}, rows, count, key.rows.get() + k0 * width, width,
                b.d_query.get(), width, width);
    if (gradient.d_bias != nullptr) {
      double* d_bias = gradient.d_bias + head * in.bias_stride + (call.queries - q0 - rows) + k0;
      AddDiagonals(b.d_scores.get(), rows, count, d_bias, b.band.get());
    }
  }
  for (Index i = 0; i < rows; ++i) {
    float* to = gradient.d_query.data + (q0 + i) * gradient.d_query.token_stride +
                head * gradient.d_query.head_stride;
    for (Index c = 0; c < dim; ++c) to[c] = b.d_query[std::size_t(i * width + c)] * in.scale;
  }
}

// All query heads of one key head, one after the other, so that its sums have one order.
void BackwardKvHead(const AttentionCall& call, const AttentionGradient& gradient, Index kv) {
  const Index width = Padded(call.head_dim);
  BackwardBuffers buffers(width, call.keys);
  for (Index head = kv * call.group; head < (kv + 1) * call.group; ++head) {
    if (gradient.d_bias != nullptr) {
      double* d_bias = gradient.d_bias + head * call.in->bias_stride;
      std::fill(d_bias, d_bias + call.queries + call.keys - 1, 0.0);
    }
    for (Index q0 = 0; q0 < call.queries; q0 += kQueryBlock) {
      BackwardBlock(call, gradient, head, q0, buffers);
    }
  }
  for (Index j = 0; j < call.keys; ++j) {
    float* d_key =
        gradient.d_key.data + j * gradient.d_key.token_stride + kv * gradient.d_key.head_stride;
    float* d_value = gradient.d_value.data + j * gradient.d_value.token_stride +
                     kv * gradient.d_value.head_stride;
    for (Index c = 0; c < call.head_dim; ++c) {
      d_key[c] = buffers.d_key[std::size_t(j * width + c)] / kLog2E;
      d_value[c] = buffers.d_value[std::size_t(j * width + c)];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(ForwardBlock);
HWY_EXPORT(BackwardKvHead);

namespace {

void Fail(const std::string& rule) { throw Error("attention kernel", rule); }

void Check(const FusedAttention& in) {
  const HeadsOf<const float>&q = in.query, &k = in.key, &v = in.value;
  if (k.tokens != v.tokens || k.heads != v.heads || k.head_dim != v.head_dim) {
    Fail("key and value must have the same shape");
  }
  if (q.head_dim != k.head_dim || q.head_dim < 1 || q.head_dim > 4096) {
    Fail("query and key must have the same head_dim from 1 to 4096, got " +
         std::to_string(q.head_dim) + " and " + std::to_string(k.head_dim));
  }
  if (k.heads < 1 || q.heads % k.heads != 0) {
    Fail("query heads must be a multiple of key heads, got " + std::to_string(q.heads) + " and " +
         std::to_string(k.heads));
  }
  if (in.bias != nullptr && in.bias_stride < q.tokens + k.tokens - 1) {
    Fail("the bias of a head must have " + std::to_string(q.tokens + k.tokens - 1) +
         " distances, got " + std::to_string(in.bias_stride));
  }
}

bool Like(const HeadsOf<const float>& one, Index tokens, Index heads, Index head_dim) {
  return one.tokens == tokens && one.heads == heads && one.head_dim == head_dim;
}
bool Like(const HeadsOf<float>& one, const HeadsOf<const float>& other) {
  return one.tokens == other.tokens && one.heads == other.heads && one.head_dim == other.head_dim;
}

PackedRows Pack(const HeadsOf<const float>& from, Index head) {
  const Index rows = Padded(from.tokens), width = Padded(from.head_dim);
  PackedRows packed{MakeFloats(rows * width), MakeFloats(rows * from.head_dim)};
  std::fill(packed.rows.get(), packed.rows.get() + rows * width, 0.0f);
  std::fill(packed.panels.get(), packed.panels.get() + rows * from.head_dim, 0.0f);
  for (Index n = 0; n < from.tokens; ++n) {
    const float* row = from.data + n * from.token_stride + head * from.head_stride;
    std::copy(row, row + from.head_dim, packed.rows.get() + n * width);
    float* panel = packed.panels.get() + n / kPadding * kPadding * from.head_dim + n % kPadding;
    for (Index c = 0; c < from.head_dim; ++c) panel[c * kPadding] = row[c];
  }
  return packed;
}

struct Packed {
  Packed(const FusedAttention& in, Executor& executor)
      : key(std::size_t(in.key.heads)), value(std::size_t(in.key.heads)) {
    executor.Run(2 * in.key.heads, [&](Index task) {
      const auto head = std::size_t(task / 2);
      (task % 2 == 0 ? key : value)[head] = Pack(task % 2 == 0 ? in.key : in.value, task / 2);
    });
    call = {&in,
            &key,
            &value,
            in.query.tokens,
            in.key.tokens,
            in.query.heads,
            in.query.heads / in.key.heads,
            in.query.head_dim};
  }
  std::vector<PackedRows> key, value;
  AttentionCall call;
};

}  // namespace

void AttentionForward(const FusedAttention& in, const HeadsOf<float>& out, float* log_sum_exp,
                      Executor& executor) {
  Check(in);
  if (!Like(out, in.query)) Fail("the output must have the shape of the queries");
  if (in.query.tokens == 0 || in.query.heads == 0) return;
  const Packed packed(in, executor);
  const Index blocks = (in.query.tokens + kQueryBlock - 1) / kQueryBlock;
  executor.Run(in.query.heads * blocks, [&](Index task) {
    // Causal blocks grow towards the end; the longest start first.
    const Index block = blocks - 1 - task % blocks;
    HWY_DYNAMIC_DISPATCH(ForwardBlock)
    (packed.call, task / blocks, block * kQueryBlock, out, log_sum_exp);
  });
}

void AttentionBackward(const FusedAttention& in, const AttentionGradient& gradient,
                       Executor& executor) {
  Check(in);
  const HeadsOf<const float>& q = in.query;
  if (!Like(gradient.out, q.tokens, q.heads, q.head_dim) ||
      !Like(gradient.d_out, q.tokens, q.heads, q.head_dim) || !Like(gradient.d_query, q) ||
      !Like(gradient.d_key, in.key) || !Like(gradient.d_value, in.key)) {
    Fail("gradients must have the shapes of what they belong to");
  }
  if (gradient.d_bias != nullptr && in.bias == nullptr) Fail("there is no bias to have a gradient");
  const Packed packed(in, executor);
  executor.Run(in.key.heads, [&](Index kv) {
    HWY_DYNAMIC_DISPATCH(BackwardKvHead)(packed.call, gradient, kv);
  });
}

}  // namespace sextant
#endif  // HWY_ONCE
