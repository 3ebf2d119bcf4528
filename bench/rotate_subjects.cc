// The rotary kernel in place: storage formats, both pairings.
#include <cmath>
#include <memory>
#include <string>

#include "bench/buffer.h"
#include "bench/subject.h"
#include "sextant/core/half.h"
#include "sextant/kernels/rotate.h"

namespace sextant::bench {
namespace {

// Counts how often a kernel asks for other threads.
class CountingExecutor final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override {
    ++runs;
    DefaultExecutor().Run(count, task);
  }
  int runs = 0;
};

template <class T>
T Rounded(float value) {
  if constexpr (std::is_same_v<T, Bf16>) return {Bf16Bits(value)};
  if constexpr (std::is_same_v<T, F16>) return {F16Bits(value)};
  if constexpr (std::is_same_v<T, float>) return value;
}

template <class T>
struct Rotation {
  explicit Rotation(const Sizes& sizes)
      : tokens(sizes.tokens),
        heads(sizes.heads),
        head_dim(sizes.head_dim),
        x(tokens * heads * head_dim),
        cos(tokens * head_dim / 2),
        sin(tokens * head_dim / 2) {
    Random random(1);
    for (Index i = 0; i < x.count(); ++i) x.data()[i] = Rounded<T>(float(random.Uniform() - 0.5));
    for (Index n = 0; n < tokens; ++n) {
      for (Index pair = 0; pair < head_dim / 2; ++pair) {
        const double angle = double(n) * std::pow(1e4, -2.0 * double(pair) / double(head_dim));
        cos.data()[n * head_dim / 2 + pair] = float(std::cos(angle));
        sin.data()[n * head_dim / 2 + pair] = float(std::sin(angle));
      }
    }
  }

  void Turn(PairOrder order, Executor& executor) const {
    const Index row = heads * head_dim;
    Rotate(HeadsOf<const T>{x.data(), tokens, heads, head_dim, row, head_dim},
           HeadsOf<T>{x.data(), tokens, heads, head_dim, row, head_dim},
           {cos.data(), sin.data(), head_dim / 2}, {0, head_dim, 1, order, order},
           TurnDirection::kForth, executor);
  }

  Index tokens, heads, head_dim;
  Buffer<T> x;
  Buffer<float> cos, sin;
};

template <class T>
MakeSubject InPlace(PairOrder order) {
  return [order](const Sizes& sizes) {
    auto rotation = std::make_shared<Rotation<T>>(sizes);
    CountingExecutor counting;
    rotation->Turn(order, counting);
    Subject subject = Repeated(2 * rotation->x.bytes(),
                               [rotation, order] { rotation->Turn(order, DefaultExecutor()); });
    subject.figures["calls for other threads"] = counting.runs;
    return subject;
  };
}

}  // namespace

void AddRotation(SubjectList& list) {
  list["rotate/f32/halves"] = InPlace<float>(PairOrder::kHalves);
  list["rotate/f32/adjacent"] = InPlace<float>(PairOrder::kAdjacent);
  list["rotate/bf16/halves"] = InPlace<Bf16>(PairOrder::kHalves);
  list["rotate/f16/halves"] = InPlace<F16>(PairOrder::kHalves);
}

}  // namespace sextant::bench
