// Kernels on the threads ATen works with.
#pragma once

#include <ATen/Parallel.h>

#include "sextant/kernels/executor.h"

namespace sextant::nn {

// Gives pieces of work to at::parallel_for, so that one process has one pool of threads.
class AtenExecutor final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override {
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) task(i);
    });
  }
};

}  // namespace sextant::nn
