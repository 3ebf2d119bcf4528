// Kernels on the threads ATen works with.
#pragma once

#include <ATen/Parallel.h>

#include "sextant/kernels/executor.h"

namespace sextant::nn {

// Gives pieces of work to ATen's threads in equal ranges, as at::parallel_for does, so that one
// process has one pool of threads. Inside a parallel region pieces run on the calling thread.
class AtenExecutor final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override;
};

// Calls act(b, executor) for each sequence b of a batch. As many sequences at a time as there are
// threads run on a thread each; those left over run one after the other, each on all threads. Where
// the multiply-adds of all of them are few, no thread is woken.
template <class Act>
void ForEachSequence(Index batch, double multiply_adds, const Act& act) {
  constexpr double kFew = 1 << 18;
  const Index threads = multiply_adds < kFew ? 1 : at::get_num_threads();
  if (threads == 1) {
    for (Index b = 0; b < batch; ++b) act(b, SerialExecutor());
    return;
  }
  AtenExecutor executor;
  const Index together = batch - batch % threads;
  executor.Run(together, [&](Index b) { act(b, SerialExecutor()); });
  for (Index b = together; b < batch; ++b) act(b, executor);
}

}  // namespace sextant::nn
