// Tokens of a head to rows of floats and back, for each SIMD target. Included by kernel files only,
// inside Highway's foreach_target.
#if defined(SEXTANT_KERNELS_HEADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEXTANT_KERNELS_HEADS_INL_H_
#undef SEXTANT_KERNELS_HEADS_INL_H_
#else
#define SEXTANT_KERNELS_HEADS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "sextant/kernels/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

// Rows of a head lie too far apart for the processor to fetch the next ones by itself.
constexpr Index kTokensAhead = 12;

template <class T>
HWY_INLINE void PrefetchRow(const T* row, Index count) {
  for (Index c = 0; c < count; c += Index(64 / sizeof(T))) hwy::Prefetch(row + c);
}

template <class T>
void ReadTokensOf(const HeadsIn& from, Index head, Index first, Index count, Index width,
                  float* to) {
  const Index dim = from.head_dim, lanes = Index(hn::Lanes(DF()));
  const Index read = (dim + lanes - 1) / lanes * lanes;
  const T* row = static_cast<const T*>(from.data()) + from.Offset(first, head);
  for (Index n = 0; n < count; ++n, row += from.token_stride, to += width) {
    if (n + kTokensAhead < count) PrefetchRow(row + kTokensAhead * from.token_stride, dim);
    ReadFloats(row, dim, to);
    for (Index c = read; c < width; c += lanes) StoreFloats(hn::Zero(DF()), to + c);
  }
}

// As HeadsIn::Read; `width` is a multiple of the lanes.
HWY_MAYBE_UNUSED HWY_NOINLINE void ReadTokens(const HeadsIn& from, Index head, Index first,
                                              Index count, Index width, float* to) {
  switch (from.storage()) {
    case Storage::kF32:
      return ReadTokensOf<float>(from, head, first, count, width, to);
    case Storage::kBf16:
      return ReadTokensOf<Bf16>(from, head, first, count, width, to);
    case Storage::kF16:
      return ReadTokensOf<F16>(from, head, first, count, width, to);
  }
}

template <class T>
void WriteTokensOf(const HeadsOut& to, Index head, Index first, Index count, const float* from,
                   Index stride) {
  T* row = static_cast<T*>(to.data()) + to.Offset(first, head);
  for (Index n = 0; n < count; ++n, row += to.token_stride, from += stride) {
    WriteFloats(from, to.head_dim, row);
  }
}

// As HeadsOut::Write for tokens first .. first + count - 1, from rows `stride` apart that end with
// a whole vector.
HWY_MAYBE_UNUSED HWY_NOINLINE void WriteTokens(const HeadsOut& to, Index head, Index first,
                                               Index count, const float* from, Index stride) {
  switch (to.storage()) {
    case Storage::kF32:
      return WriteTokensOf<float>(to, head, first, count, from, stride);
    case Storage::kBf16:
      return WriteTokensOf<Bf16>(to, head, first, count, from, stride);
    case Storage::kF16:
      return WriteTokensOf<F16>(to, head, first, count, from, stride);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#endif  // SEXTANT_KERNELS_HEADS_INL_H_
