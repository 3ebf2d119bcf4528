// What the backward pass of fused attention does to queries before and after the tiles, for every
// SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sextant/kernels/attention_queries.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "sextant/kernels/attention_shares.h"
#include "sextant/kernels/heads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sextant {
namespace HWY_NAMESPACE {
namespace {

constexpr float kLog2E = 1.44269504088896341f;

// a . b of rows of `width`, in double.
double Dot(const float* a, const float* b, Index width) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> singles;
  auto sum = hn::Zero(d);
  for (Index c = 0; c < width; c += Index(hn::Lanes(d))) {
    sum = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(singles, a + c)),
                     hn::PromoteTo(d, hn::LoadU(singles, b + c)), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

float Square(const float* x, Index count) {
  const DF d;
  VF square = hn::Zero(d);
  for (Index n = 0; n < count; n += Index(hn::Lanes(d))) {
    const VF value = hn::LoadU(d, x + n);
    square = hn::MulAdd(value, value, square);
  }
  return hn::GetLane(hn::SumOfLanes(d, square));
}

void ReadQueries(BackwardCall& call, Index head, float shared) {
  const AttentionPlan& plan = call.plan;
  const AttentionGradient& gradient = call.gradient;
  const Index width = plan.width;
  Scratch::Slab slab(call.scratch);
  float *out = slab.Cut(kQueryBlock * width), *d_out = slab.Cut(kQueryBlock * width),
        *query = slab.Cut(kQueryBlock * width);
  for (Index q0 = 0; q0 < plan.queries; q0 += kQueryBlock) {
    const Index rows = std::min(kQueryBlock, plan.queries - q0);
    ReadTokens(gradient.out, head, q0, rows, width, out);
    ReadTokens(gradient.d_out, head, q0, rows, width, d_out);
    ReadTokens(plan.in.query, head, q0, rows, width, query);
    // Not finite if anything of the block is not.
    float sum = shared + Square(query, rows * width) + Square(d_out, rows * width);
    for (Index i = 0; i < rows; ++i) {
      const auto at = std::size_t(head * plan.queries + q0 + i);
      const float natural = gradient.log_sum_exp[at];
      call.mean[at] = float(Dot(out + i * width, d_out + i * width, width));
      call.log2_sum[at] = natural == kNothingSeen ? 0 : natural * kLog2E;
      sum += call.mean[at] + call.log2_sum[at] + plan.ScoreScale(q0 + i);
    }
    call.finite[std::size_t(head * call.blocks + q0 / kQueryBlock)] = std::isfinite(sum);
  }
}

void WriteQueries(BackwardCall& call, Index head) {
  const DF d;
  const AttentionPlan& plan = call.plan;
  const Index stride = call.parts * plan.width;
  float* sums = call.ShareOf(head, 0).d_query.get();
  for (Index i = 0; i < plan.queries; ++i) {
    float* row = sums + i * stride;
    const bool sees = call.gradient.log_sum_exp[head * plan.queries + i] != kNothingSeen;
    const float own = plan.in.query_scale == nullptr ? 1.0f : plan.in.query_scale[i];
    const VF scale = hn::Set(d, plan.in.scale * own);
    for (Index c = 0; c < plan.width; c += Index(hn::Lanes(d))) {
      VF sum = hn::LoadU(d, row + c);
      if (call.parts == 2) sum = hn::Add(sum, hn::LoadU(d, row + plan.width + c));
      hn::StoreU(sees ? hn::Mul(scale, sum) : hn::Zero(d), d, row + c);
    }
  }
  WriteTokens(call.gradient.d_query, head, 0, plan.queries, sums, stride);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant {
HWY_EXPORT(ReadQueries);
HWY_EXPORT(WriteQueries);

void ReadQueryOutputs(BackwardCall& call, Index head, float shared) {
  HWY_DYNAMIC_DISPATCH(ReadQueries)(call, head, shared);
}
void WriteQueryGradients(BackwardCall& call, Index head) {
  HWY_DYNAMIC_DISPATCH(WriteQueries)(call, head);
}

}  // namespace sextant
#endif  // HWY_ONCE
