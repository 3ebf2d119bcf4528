// What the machine can do at most: fused multiply-adds, reading memory, and changing it in place.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limits.cc"
#include <hwy/foreach_target.h>
// The include above comes first, by Highway's rule.
#include <hwy/highway.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "bench/buffer.h"
#include "bench/subject.h"

HWY_BEFORE_NAMESPACE();
namespace sextant::bench {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// More than latency times units of any core so far, and fewer than AVX2's 16 registers.
constexpr int kChains = 12;

const char* Target() { return hwy::TargetName(HWY_TARGET); }

Index FmaFlopsPerStep() { return 2 * kChains * Index(hn::Lanes(DF())); }

// Independent chains of multiply-adds in registers.
float MultiplyAdds(Index steps) {
  const DF d;
  VF s0 = hn::Set(d, 0), s1 = hn::Set(d, 1), s2 = hn::Set(d, 2), s3 = hn::Set(d, 3);
  VF s4 = hn::Set(d, 4), s5 = hn::Set(d, 5), s6 = hn::Set(d, 6), s7 = hn::Set(d, 7);
  VF s8 = hn::Set(d, 8), s9 = hn::Set(d, 9), s10 = hn::Set(d, 10), s11 = hn::Set(d, 11);
  const VF factor = hn::Set(d, 0.9999f), addend = hn::Set(d, 1e-3f);
  for (Index i = 0; i < steps; ++i) {
    s0 = hn::MulAdd(s0, factor, addend);
    s1 = hn::MulAdd(s1, factor, addend);
    s2 = hn::MulAdd(s2, factor, addend);
    s3 = hn::MulAdd(s3, factor, addend);
    s4 = hn::MulAdd(s4, factor, addend);
    s5 = hn::MulAdd(s5, factor, addend);
    s6 = hn::MulAdd(s6, factor, addend);
    s7 = hn::MulAdd(s7, factor, addend);
    s8 = hn::MulAdd(s8, factor, addend);
    s9 = hn::MulAdd(s9, factor, addend);
    s10 = hn::MulAdd(s10, factor, addend);
    s11 = hn::MulAdd(s11, factor, addend);
  }
  const VF low = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
  const VF high = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(s10, s11));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
}

// `count` is a multiple of 4 vectors in the next two.
float Read(const float* data, Index count) {
  const DF d;
  const Index lanes = Index(hn::Lanes(d));
  VF s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (Index i = 0; i < count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, data + i));
    s1 = hn::Add(s1, hn::LoadU(d, data + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, data + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, data + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

void ChangeInPlace(float* data, Index count) {
  const DF d;
  const Index lanes = Index(hn::Lanes(d));
  const VF factor = hn::Set(d, 1.0000001f);
  for (Index i = 0; i < count; i += 4 * lanes) {
    float* const p = data + i;
    const VF a = hn::LoadU(d, p), b = hn::LoadU(d, p + lanes);
    const VF c = hn::LoadU(d, p + 2 * lanes), e = hn::LoadU(d, p + 3 * lanes);
    hn::StoreU(hn::Mul(a, factor), d, p);
    hn::StoreU(hn::Mul(b, factor), d, p + lanes);
    hn::StoreU(hn::Mul(c, factor), d, p + 2 * lanes);
    hn::StoreU(hn::Mul(e, factor), d, p + 3 * lanes);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sextant::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sextant::bench {
HWY_EXPORT(FmaFlopsPerStep);
HWY_EXPORT(Target);
HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(Read);
HWY_EXPORT(ChangeInPlace);

namespace {

std::atomic<float> used;  // so that no loop is left out

// Keeps the calling thread on the processor of that place among those it may use: a scheduler that
// leaves two threads on one core for a while would halve the limit.
void StayOn(int place) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  CPU_ZERO(&one);
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && seen++ % CPU_COUNT(&allowed) == place) CPU_SET(cpu, &one);
  }
  if (CPU_COUNT(&one) == 1) sched_setaffinity(0, sizeof(one), &one);
}

// Each thread does its own share again and again: nothing waits, nothing is handed over.
Subject OnEachThread(double work, int threads, const std::function<void(int thread)>& share) {
  return {work,
          [threads, share](int repeats) {
            std::vector<std::thread> all;
            for (int thread = 0; thread < threads; ++thread) {
              all.emplace_back([=] {
                StayOn(thread);
                for (int i = 0; i < repeats; ++i) share(thread);
              });
            }
            for (std::thread& one : all) one.join();
          },
          {}};
}

Subject Fma(const Sizes& sizes) {
  constexpr Index kSteps = 1'000'000;
  const double flops = double(kSteps * HWY_DYNAMIC_DISPATCH(FmaFlopsPerStep)()) * sizes.threads;
  return OnEachThread(flops, sizes.threads,
                      [](int) { used = HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kSteps); });
}

// Memory in equal shares, each in whole steps of the loops; a run passes over small shares often
// enough that starting threads does not count.
struct Shares {
  explicit Shares(const Sizes& sizes) {
    // Four vectors of up to 2048 bits; HWY_MAX_BYTES would be that of the last target compiled.
    constexpr Index kStep = 256, kLeast = Index{1} << 26;
    share = std::max<Index>(1, sizes.bytes / Index(sizeof(float)) / sizes.threads / kStep) * kStep;
    passes = std::max<Index>(1, kLeast / share);
    memory = std::make_shared<Buffer<float>>(share * sizes.threads);
    FillNormal(*memory, 1);
  }
  Index share = 0, passes = 0;
  std::shared_ptr<Buffer<float>> memory;
};

Subject ReadLimit(const Sizes& sizes) {
  const Shares shares(sizes);
  return OnEachThread(shares.memory->bytes() * double(shares.passes), sizes.threads,
                      [shares](int thread) {
                        const float* data = shares.memory->data() + thread * shares.share;
                        for (Index pass = 0; pass < shares.passes; ++pass) {
                          used = HWY_DYNAMIC_DISPATCH(Read)(data, shares.share);
                        }
                      });
}

Subject ChangeLimit(const Sizes& sizes) {
  const Shares shares(sizes);
  return OnEachThread(2 * shares.memory->bytes() * double(shares.passes), sizes.threads,
                      [shares](int thread) {
                        float* data = shares.memory->data() + thread * shares.share;
                        for (Index pass = 0; pass < shares.passes; ++pass) {
                          HWY_DYNAMIC_DISPATCH(ChangeInPlace)(data, shares.share);
                        }
                      });
}

}  // namespace

std::string SimdTarget() { return HWY_DYNAMIC_DISPATCH(Target)(); }

void AddLimits(SubjectList& list) {
  list["limit/fma"] = Fma;
  list["limit/read"] = ReadLimit;
  list["limit/read_modify_write"] = ChangeLimit;
}

}  // namespace sextant::bench
#endif  // HWY_ONCE
