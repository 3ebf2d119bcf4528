// One thread, or oneTBB.
#include "sextant/kernels/executor.h"

#include <oneapi/tbb/parallel_for.h>

namespace sextant {
namespace {

class Serial final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override {
    for (Index i = 0; i < count; ++i) task(i);
  }
};

class Tbb final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override {
    if (count == 1) return task(0);
    oneapi::tbb::parallel_for(Index{0}, count, task);
  }
};

}  // namespace

Executor& SerialExecutor() {
  static Serial executor;
  return executor;
}

Executor& DefaultExecutor() {
  static Tbb executor;
  return executor;
}

}  // namespace sextant
