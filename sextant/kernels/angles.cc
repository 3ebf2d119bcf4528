// Tables of angles for every SIMD target of the machine, by Highway's run-time dispatch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/angles.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <new>
#include <string>

#include "sextant/core/error.h"
#include "sextant/kernels/angles.h"
#include "sextant/kernels/storage-inl.h"

#ifndef SEXTANT_KERNELS_ANGLES_ONCE
#define SEXTANT_KERNELS_ANGLES_ONCE
namespace sextant {
namespace {

// A position is 4096 a + 512 d3 + 64 d2 + 8 d1 + d0. Its turn is that of 4096 a, exact; times
// those of its digits d3 and d2 in double: the anchor, rounded to float32; times that of 8 d1 + d0,
// a product in double rounded to float32 once for the whole table.
constexpr Index kRadix = 8, kLevels = 4;
constexpr int kBlockBits = 6, kRangeBits = 12;
constexpr Index kBlock = Index{1} << kBlockBits;  // positions of an anchor
constexpr Index kRange = Index{1} << kRangeBits;  // positions of an exact turn
constexpr Index kStretch = 256;                   // frequencies at a time
constexpr Index kPadding = 16;  // frequencies are padded to a multiple, the longest vector

// cos and sin of the padded frequencies, a row each for different angles.
template <class Real>
struct TurnsOf {
  hwy::AlignedFreeUniquePtr<Real[]> memory;
  Index padded = 0, count = 0;

  TurnsOf() = default;
  TurnsOf(Index rows, Index frequencies) : padded(frequencies), count(rows) {
    memory = hwy::AllocateAligned<Real>(std::size_t(2 * rows * frequencies));
    if (memory == nullptr) throw std::bad_alloc();
  }
  Real* cos(Index row) const { return memory.get() + row * padded; }
  Real* sin(Index row) const { return cos(count + row); }
};

struct AngleCall {
  RowPositions positions;
  std::span<const double> inv_freq;
  double magnitude;
  TurnsOf<double> powers;         // row kRadix level + digit: the turn of digit kRadix^level
  TurnsOf<float> block;           // row r: the turn of r = 8 d1 + d0
  std::bitset<kBlock> used = {};  // rows of `block` that positions have
  std::int64_t first_range = 0;
  TurnsOf<double> ranges = {};  // of a run: the exact turns of its ranges, magnitude folded in

  Index padded() const { return powers.padded; }
};

// Where the cosine and the sine of frequency i of row n go: row_stride n + step i from the first.
struct Destination {
  float *cos, *sin;
  Index cosines, sines, row_stride;
  Index step;  // 1, or 2 where they stand side by side
};

// position * frequency is hi + lo exactly; lo is so small that its square is nothing.
inline void ExactTurn(std::int64_t position, double frequency, double magnitude, double& cos,
                      double& sin) {
  const double hi = double(position) * frequency;
  const double lo = std::fma(double(position), frequency, -hi);
  const double c = std::cos(hi), s = std::sin(hi);
  cos = magnitude * (c - lo * s);
  sin = magnitude * (s + lo * c);
}

}  // namespace
}  // namespace sextant
#endif

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

static_assert(HWY_MAX_BYTES <= kPadding * sizeof(float));

using DD = hn::ScalableTag<double>;
using DNarrow = hn::Rebind<float, DD>;

struct Turn {
  hn::Vec<DD> cos, sin;
};
HWY_INLINE Turn LoadTurn(const double* cos, const double* sin, Index i) {
  return {hn::LoadU(DD(), cos + i), hn::LoadU(DD(), sin + i)};
}
HWY_INLINE Turn LoadTurn(const TurnsOf<double>& turns, Index row, Index i) {
  return LoadTurn(turns.cos(row), turns.sin(row), i);
}
HWY_INLINE Turn Product(Turn a, Turn b) {
  return {hn::MulSub(a.cos, b.cos, hn::Mul(a.sin, b.sin)),
          hn::MulAdd(a.sin, b.cos, hn::Mul(a.cos, b.sin))};
}
HWY_INLINE void StoreRounded(Turn turn, float* cos, float* sin, Index i) {
  const DNarrow d;
  hn::StoreU(hn::DemoteTo(d, turn.cos), d, cos + i);
  hn::StoreU(hn::DemoteTo(d, turn.sin), d, sin + i);
}

// All powers from the turn of 1, and the rows of `block` that are used.
void Prepare(const AngleCall& call) {
  const Index lanes = Index(hn::Lanes(DD()));
  const auto store = [&](Turn turn, Index row, Index i) {
    hn::StoreU(turn.cos, DD(), call.powers.cos(row) + i);
    hn::StoreU(turn.sin, DD(), call.powers.sin(row) + i);
  };
  for (Index i = 0; i < call.padded(); i += lanes) {
    Turn unit = LoadTurn(call.powers, 1, i);
    for (Index level = 0; level < kLevels; ++level) {
      Turn turn{hn::Set(DD(), 1.0), hn::Zero(DD())};
      for (Index digit = 0; digit < kRadix; ++digit) {
        store(turn, kRadix * level + digit, i);
        turn = digit == 0 ? unit : Product(turn, unit);
      }
      unit = turn;
    }
  }
  for (Index row = 0; row < kBlock; ++row) {
    if (!call.used[std::size_t(row)]) continue;
    for (Index i = 0; i < call.padded(); i += lanes) {
      const Turn turn = Product(LoadTurn(call.powers, kRadix + row / kRadix, i),
                                LoadTurn(call.powers, row % kRadix, i));
      StoreRounded(turn, call.block.cos(row), call.block.sin(row), i);
    }
  }
}

// The frequencies from `start` on, for rows of one task.
class Stretch {
 public:
  Stretch(const AngleCall& call, const Destination& to, Index start)
      : call_(call), to_(to), start_(start), width_(std::min(kStretch, call.padded() - start)) {}

  void Fill(Index row) {
    const std::int64_t position = call_.positions[row];
    if (!has_anchor_ || position >> kBlockBits != anchor_of_) MakeAnchor(position >> kBlockBits);
    const Index r = position & (kBlock - 1), offset = row * to_.row_stride + to_.step * start_;
    block_cos_ = call_.block.cos(r) + start_;
    block_sin_ = call_.block.sin(r) + start_;
    if (to_.step == 1) {
      FillApart(to_.cos + offset, to_.sin + offset);
    } else {
      FillSideBySide(std::min(to_.cos, to_.sin) + offset);
    }
  }

 private:
  void MakeAnchor(std::int64_t block) {
    has_anchor_ = true;
    anchor_of_ = block;
    const double *cos, *sin;
    FindRange(block >> (kRangeBits - kBlockBits), cos, sin);
    const Index d3 = block >> (kBlockBits / 2) & (kRadix - 1), d2 = block & (kRadix - 1);
    const Index lanes = Index(hn::Lanes(DD()));
    for (Index i = 0; i < width_; i += lanes) {
      const Turn turn = Product(
          Product(LoadTurn(cos, sin, i), LoadTurn(call_.powers, 3 * kRadix + d3, start_ + i)),
          LoadTurn(call_.powers, 2 * kRadix + d2, start_ + i));
      StoreRounded(turn, anchor_cos_, anchor_sin_, i);
    }
  }
  // A run has its ranges made; a list makes each when it comes.
  void FindRange(std::int64_t range, const double*& cos, const double*& sin) {
    if (call_.positions.is_run()) {
      cos = call_.ranges.cos(range - call_.first_range) + start_;
      sin = call_.ranges.sin(range - call_.first_range) + start_;
      return;
    }
    cos = range_cos_;
    sin = range_sin_;
    if (has_range_ && range == range_of_) return;
    has_range_ = true;
    range_of_ = range;
    const Index known = std::min(width_, Index(call_.inv_freq.size()) - start_);
    for (Index i = 0; i < width_; ++i) {
      const double frequency = i < known ? call_.inv_freq[std::size_t(start_ + i)] : 0;
      ExactTurn(range * kRange, frequency, call_.magnitude, range_cos_[i], range_sin_[i]);
    }
  }
  VF Cos(Index i) const {
    return hn::MulSub(LoadFloats(anchor_cos_ + i), LoadFloats(block_cos_ + i),
                      hn::Mul(LoadFloats(anchor_sin_ + i), LoadFloats(block_sin_ + i)));
  }
  VF Sin(Index i) const {
    return hn::MulAdd(LoadFloats(anchor_sin_ + i), LoadFloats(block_cos_ + i),
                      hn::Mul(LoadFloats(anchor_cos_ + i), LoadFloats(block_sin_ + i)));
  }
  void FillApart(float* cos, float* sin) const {
    const Index lanes = Index(hn::Lanes(DF()));
    const Index cosines = std::min(width_, to_.cosines - start_);
    const Index sines = std::min(width_, to_.sines - start_);
    Index i = 0;
    for (; i + lanes <= std::min(cosines, sines); i += lanes) {
      StoreFloats(Cos(i), cos + i);
      StoreFloats(Sin(i), sin + i);
    }
    if (i < cosines) StoreUpTo(Cos(i), cosines - i, cos + i);
    if (i < sines) StoreUpTo(Sin(i), sines - i, sin + i);
  }
  void FillSideBySide(float* to) const {
    const Index lanes = Index(hn::Lanes(DF()));
    const Index numbers = std::min(2 * width_, to_.cosines + to_.sines - 2 * start_);
    const bool cos_first = to_.cos < to_.sin;
    Index i = 0;
    for (; 2 * (i + lanes) <= numbers; i += lanes) {
      const VF c = Cos(i), s = Sin(i);
      hn::StoreInterleaved2(cos_first ? c : s, cos_first ? s : c, DF(), to + 2 * i);
    }
    if (2 * i >= numbers) return;
    HWY_ALIGN float both[2 * kPadding];
    const VF c = Cos(i), s = Sin(i);
    hn::StoreInterleaved2(cos_first ? c : s, cos_first ? s : c, DF(), both);
    std::copy(both, both + numbers - 2 * i, to + 2 * i);
  }

  const AngleCall& call_;
  const Destination& to_;
  Index start_, width_;
  bool has_anchor_ = false, has_range_ = false;
  std::int64_t anchor_of_ = 0, range_of_ = 0;
  const float *block_cos_ = nullptr, *block_sin_ = nullptr;
  HWY_ALIGN float anchor_cos_[kStretch], anchor_sin_[kStretch];
  HWY_ALIGN double range_cos_[kStretch], range_sin_[kStretch];
};

void FillRows(const AngleCall& call, const Destination& to, Index begin, Index end) {
  for (Index start = 0; start < call.padded(); start += kStretch) {
    Stretch stretch(call, to, start);
    for (Index row = begin; row < end; ++row) stretch.Fill(row);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(Prepare);
HWY_EXPORT(FillRows);

namespace {

constexpr Index kTaskBytes = Index{64} << 10;
constexpr Index kAloneBytes = Index{256} << 10;  // made in 12 us, in which no thread wakes up
constexpr std::int64_t kMostPosition = std::int64_t{1} << 53;

void CheckPositions(const char* where, const RowPositions& positions) {
  if (positions.count() < 0) throw Error(where, "counts must not be negative");
  const auto check = [&](std::int64_t position) {
    if (position >= -kMostPosition && position <= kMostPosition) return;
    throw Error(where, "positions must be within 2^53 of 0, got " + std::to_string(position));
  };
  if (positions.count() == 0) return;
  if (!positions.is_run()) {
    for (Index n = 0; n < positions.count(); ++n) check(positions[n]);
    return;
  }
  check(positions[0]);
  if (positions.count() > 2 * kMostPosition) throw Error(where, "there are too many positions");
  check(positions[positions.count() - 1]);
}

void CheckStride(const char* where, const RowPositions& positions, Index row_stride, Index width) {
  if (positions.count() > 1 && row_stride < width) {
    throw Error(where, "rows must hold " + std::to_string(width) + " numbers, got " +
                           std::to_string(row_stride));
  }
}

AngleCall MakeCall(const RowPositions& positions, std::span<const double> inv_freq,
                   double magnitude) {
  const Index frequencies = Index(inv_freq.size()), count = positions.count();
  const Index padded = (frequencies + kPadding - 1) / kPadding * kPadding;
  AngleCall call{positions, inv_freq, magnitude, TurnsOf<double>(kLevels * kRadix, padded),
                 TurnsOf<float>(kBlock, padded)};
  for (Index i = 0; i < padded; ++i) {
    const double frequency = i < frequencies ? inv_freq[std::size_t(i)] : 0;
    call.powers.cos(1)[i] = std::cos(frequency);
    call.powers.sin(1)[i] = std::sin(frequency);
  }
  for (Index n = 0; n < count && !call.used.all(); ++n) {
    call.used.set(std::size_t(positions[n] & (kBlock - 1)));
  }
  if (!positions.is_run()) return call;
  call.first_range = positions[0] >> kRangeBits;
  const Index ranges = (positions[count - 1] >> kRangeBits) - call.first_range + 1;
  call.ranges = TurnsOf<double>(ranges, padded);
  for (Index range = 0; range < call.ranges.count; ++range) {
    for (Index i = 0; i < padded; ++i) {
      ExactTurn((call.first_range + range) * kRange, i < frequencies ? inv_freq[std::size_t(i)] : 0,
                magnitude, call.ranges.cos(range)[i], call.ranges.sin(range)[i]);
    }
  }
  return call;
}

void Fill(const RowPositions& positions, std::span<const double> inv_freq, double magnitude,
          const Destination& to, Executor& executor) {
  const Index count = positions.count();
  if (count == 0 || inv_freq.empty()) return;
  const AngleCall call = MakeCall(positions, inv_freq, magnitude);
  HWY_DYNAMIC_DISPATCH(Prepare)(call);
  const Index row_bytes = (to.cosines + to.sines) * Index(sizeof(float));
  if (count <= kAloneBytes / row_bytes) return HWY_DYNAMIC_DISPATCH(FillRows)(call, to, 0, count);
  const Index step = (kTaskBytes / row_bytes / kBlock + 1) * kBlock;
  executor.Run((count + step - 1) / step, [&](Index task) {
    HWY_DYNAMIC_DISPATCH(FillRows)(call, to, task * step, std::min(count, (task + 1) * step));
  });
}

}  // namespace

void FillTurns(const RowPositions& positions, std::span<const double> inv_freq, double magnitude,
               const TurnRows& rows, Executor& executor) {
  const Index pairs = Index(inv_freq.size());
  CheckPositions("turns", positions);
  CheckStride("turns", positions, rows.row_stride, pairs);
  Fill(positions, inv_freq, magnitude, {rows.cos, rows.sin, pairs, pairs, rows.row_stride, 1},
       executor);
}

void FillWaves(const RowPositions& positions, std::span<const double> inv_freq, double magnitude,
               const WaveRows& rows, Executor& executor) {
  const Index firsts = (rows.width + 1) / 2, seconds = rows.width - firsts;
  CheckPositions("waves", positions);
  if (rows.width < 0) throw Error("waves", "counts must not be negative");
  if (Index(inv_freq.size()) != firsts) {
    throw Error("waves", "a width of " + std::to_string(rows.width) + " takes " +
                             std::to_string(firsts) + " frequencies, got " +
                             std::to_string(inv_freq.size()));
  }
  CheckStride("waves", positions, rows.row_stride, rows.width);
  const Index step = rows.layout == PairOrder::kAdjacent ? 2 : 1;
  float* const second = rows.data + (step == 2 ? 1 : firsts);
  Destination to{rows.data, second, firsts, seconds, rows.row_stride, step};
  if (rows.order == WaveRows::Order::kSinFirst) {
    std::swap(to.cos, to.sin);
    std::swap(to.cosines, to.sines);
  }
  Fill(positions, inv_freq, magnitude, to, executor);
}

}  // namespace sextant
#endif  // HWY_ONCE
