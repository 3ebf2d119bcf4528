// at::parallel_for is a template that uses threads only where OpenMP is compiled in, as it is in
// this file alone (cmake/lab.cmake).
#include "torch/aten_executor.h"

#ifndef _OPENMP
#error "without OpenMP at::parallel_for would run on one thread"
#endif

namespace sextant::nn {

void AtenExecutor::Run(Index count, const std::function<void(Index)>& task) {
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) task(i);
  });
}

}  // namespace sextant::nn
