// Blocks of tokens: read, rows added, pairs turned, written.
#include "sextant/attention/encode_heads.h"

#include <algorithm>
#include <vector>

#include "sextant/attention/encode.h"
#include "sextant/kernels/add_rows.h"

namespace sextant {
namespace {

// Numbers of a block of tokens: small enough for a processor's own cache.
constexpr Index kBlockNumbers = 1 << 14;

template <class T>
HeadsOf<const T> Typed(const HeadsIn& x) {
  return {static_cast<const T*>(x.data()),
          x.tokens,
          x.heads,
          x.head_dim,
          x.token_stride,
          x.head_stride};
}
template <class T>
HeadsOf<T> Typed(const HeadsOut& x) {
  return {static_cast<T*>(x.data()), x.tokens, x.heads, x.head_dim, x.token_stride, x.head_stride};
}

template <class T>
HeadsOf<T> Part(HeadsOf<T> heads, Index first, Index count) {
  if (count > 0) heads.data += first * heads.token_stride;
  heads.tokens = count;
  return heads;
}

// A block of float32 heads, tokens one after another.
struct Block {
  Block(Index tokens, Index heads, Index head_dim)
      : values(static_cast<std::size_t>(tokens * heads * head_dim)) {
    view = {values.data(), tokens, heads, head_dim, heads * head_dim, head_dim};
  }
  float* Row(Index token, Index head) const {
    return view.data + token * view.token_stride + head * view.head_stride;
  }

  std::vector<float> values;
  HeadsOf<float> view;
};

TurnTable From(const RotaryRows& turns, Index token) {
  const Index at = token * turns.pairs;
  return {turns.cos.data() + at, turns.sin.data() + at, turns.pairs};
}

// Tokens from `first` on as float32, with their rows.
void ReadWithRows(const HeadsEncoding& encoding, const HeadsIn& x, Index first,
                  const Block& block) {
  const HeadsOf<float>& to = block.view;
  for (Index n = 0; n < to.tokens; ++n) {
    for (Index h = 0; h < x.heads; ++h) x.Read(h, first + n, 1, x.head_dim, block.Row(n, h));
  }
  if (encoding.rows == nullptr) return;
  // A row is cut into heads, which lie together in a block, or all heads get it.
  ActivationsOf<float> heads{to.data,        1, to.tokens, to.heads * to.head_dim, to.head_stride,
                             to.token_stride};
  if (encoding.row_step == 0) {
    heads.batch = to.heads;
    heads.model_dim = to.head_dim;
  }
  const AddedRows& rows = *encoding.rows;
  AddRows({heads.data, heads.batch, heads.tokens, heads.model_dim, heads.batch_stride,
           heads.token_stride},
          RowsOf<const float>{rows.values.data() + first * rows.width, rows.width}, heads,
          SerialExecutor());
}

// act(first, count) for blocks of tokens of such heads.
template <class Act>
void ForEachBlock(const HeadsLayout& heads, Executor& executor, const Act& act) {
  const Index numbers = std::max<Index>(1, heads.heads * heads.head_dim);
  const Index tokens = std::max<Index>(1, kBlockNumbers / numbers);
  const Index blocks = (heads.tokens + tokens - 1) / tokens;
  const auto task = [&](Index n) { act(n * tokens, std::min(tokens, heads.tokens - n * tokens)); };
  if (blocks == 1) return task(0);
  executor.Run(blocks, task);
}

template <class T>
void CopyRows(const HeadsOf<const T>& from, const HeadsOf<T>& to, Index first, Index count) {
  for (Index h = 0; h < from.heads; ++h) {
    for (Index n = first; n < first + count; ++n) {
      std::copy_n(from.data + n * from.token_stride + h * from.head_stride, from.head_dim,
                  to.data + n * to.token_stride + h * to.head_stride);
    }
  }
}

// Of one storage, apart from each other.
void CopyTokens(const HeadsIn& from, const HeadsOut& to, Index first, Index count) {
  switch (to.storage()) {
    case Storage::kF32:
      return CopyRows(Typed<float>(from), Typed<float>(to), first, count);
    case Storage::kBf16:
      return CopyRows(Typed<Bf16>(from), Typed<Bf16>(to), first, count);
    case Storage::kF16:
      return CopyRows(Typed<F16>(from), Typed<F16>(to), first, count);
  }
}

}  // namespace

HeadsEncoding EncodingOf(const KernelTables& tables, const Positions& positions, Side side,
                         Index heads, Index head_dim) {
  const Scheme& scheme = tables.scheme();
  HeadsEncoding encoding;
  if (scheme.offers(Hook::kAdditive)) {
    encoding.row_step = RowStep(scheme, heads, head_dim);
    encoding.rows = tables.Rows(positions);
  }
  if (scheme.offers(Hook::kRotary)) {
    CheckRotaryFits(scheme, head_dim);
    encoding.channels = TurnedChannelsOf(scheme.rotary_shape());
    encoding.turns = tables.Turns(positions, side);
  }
  return encoding;
}

void EncodeHeads(const HeadsEncoding& encoding, const HeadsIn& x, const HeadsOut& out,
                 Executor& executor) {
  const bool turns = encoding.turns != nullptr;
  if (turns && encoding.rows == nullptr && x.storage() == out.storage()) {
    return TurnHeads(x, out, encoding.turns->table(), encoding.channels, TurnDirection::kForth,
                     executor);
  }
  const bool copies = !encoding.changes() && x.storage() == out.storage() && !Overlap(x, out);
  ForEachBlock(x, executor, [&](Index first, Index count) {
    if (copies) return CopyTokens(x, out, first, count);
    const Block block(count, x.heads, x.head_dim);
    ReadWithRows(encoding, x, first, block);
    if (turns) {
      TurnHeads(block.view, block.view, From(*encoding.turns, first), encoding.channels,
                TurnDirection::kForth, SerialExecutor());
    }
    for (Index n = 0; n < count; ++n) {
      for (Index h = 0; h < x.heads; ++h) out.Write(first + n, h, block.Row(n, h));
    }
  });
}

void EncodeHeadsBackward(const KernelTables& tables, const HeadsEncoding& encoding,
                         const Positions& positions, Side side, const HeadsIn& x,
                         const HeadsOf<float>& d_encoded, const HeadsOut& d_x,
                         WeightGradients d_weights) {
  const bool turns = encoding.turns != nullptr, rows = encoding.rows != nullptr;
  const bool trained = !d_weights.empty();
  Array<double, 2> d_cos, d_sin, d_rows;
  if (turns && trained) d_cos = d_sin = Array<double, 2>({x.tokens, encoding.turns->pairs});
  if (rows && trained) d_rows = Array<double, 2>({x.tokens, encoding.rows->width});
  const auto add_turns = [&](Index first, const HeadsOf<float>& d) {
    const RotaryShape shape = tables.scheme().rotary_shape();
    const Block block(d.tokens, d.heads, d.head_dim);
    ReadWithRows(encoding, x, first, block);
    for (Index n = 0; n < d.tokens; ++n) {
      for (Index h = 0; h < d.heads; ++h) {
        const float *from = block.Row(n, h),
                    *grad = d.data + n * d.token_stride + h * d.head_stride;
        for (Index i = 0; i < encoding.turns->pairs; ++i) {
          const PairChannels at = ChannelsOf(shape, i);
          const double d0 = grad[at.write0], d1 = grad[at.write1];
          const double x0 = from[at.read0], x1 = from[at.read1];
          d_cos(first + n, i) += d0 * x0 + d1 * x1;
          d_sin(first + n, i) += d1 * x0 - d0 * x1;
        }
      }
    }
  };
  ForEachBlock(x, tables.executor(), [&](Index first, Index count) {
    const HeadsOf<float> d = Part(d_encoded, first, count);
    if (!d_cos.empty()) add_turns(first, d);
    if (turns) {
      TurnHeads(d, d, From(*encoding.turns, first), encoding.channels, TurnDirection::kBack,
                SerialExecutor());
    }
    for (Index n = 0; n < count; ++n) {
      for (Index h = 0; h < x.heads; ++h) {
        const float* row = d.data + n * d.token_stride + h * d.head_stride;
        d_x.Write(first + n, h, row);
        for (Index c = 0; !d_rows.empty() && c < x.head_dim; ++c) {
          d_rows(first + n, h * encoding.row_step + c) += row[c];
        }
      }
    }
  });
  const Scheme& scheme = tables.scheme();
  if (turns && trained) {
    scheme.BackRotary(tables.weights(), positions, side, d_cos, d_sin, d_weights);
  }
  if (rows && trained) scheme.BackAdditive(tables.weights(), positions, d_rows, d_weights);
}

HeadsIn Tokens(const HeadsIn& heads, Index first, Index count) {
  switch (heads.storage()) {
    case Storage::kF32:
      return Part(Typed<float>(heads), first, count);
    case Storage::kBf16:
      return Part(Typed<Bf16>(heads), first, count);
    case Storage::kF16:
      return Part(Typed<F16>(heads), first, count);
  }
  return {};
}

HeadsOut Tokens(const HeadsOut& heads, Index first, Index count) {
  switch (heads.storage()) {
    case Storage::kF32:
      return Part(Typed<float>(heads), first, count);
    case Storage::kBf16:
      return Part(Typed<Bf16>(heads), first, count);
    case Storage::kF16:
      return Part(Typed<F16>(heads), first, count);
  }
  return {};
}

void TurnHeads(const HeadsIn& x, const HeadsOut& out, const TurnTable& table,
               const TurnedChannels& channels, TurnDirection direction, Executor& executor) {
  switch (out.storage()) {
    case Storage::kF32:
      return Rotate(Typed<float>(x), Typed<float>(out), table, channels, direction, executor);
    case Storage::kBf16:
      return Rotate(Typed<Bf16>(x), Typed<Bf16>(out), table, channels, direction, executor);
    case Storage::kF16:
      return Rotate(Typed<F16>(x), Typed<F16>(out), table, channels, direction, executor);
  }
}

}  // namespace sextant
