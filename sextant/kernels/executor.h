// Who runs the pieces of a kernel: the caller's threads, one thread, or oneTBB's.
#pragma once

#include <functional>

#include "sextant/core/view.h"

namespace sextant {

// Runs pieces of work. A kernel's results do not depend on which executor it is given: pieces are
// cut by shape, not by threads.
class Executor {
 public:
  virtual ~Executor() = default;

  // Calls task(i) once for each i in 0 .. count - 1, maybe several at the same time, and returns
  // when all are done. `task` throws nothing.
  virtual void Run(Index count, const std::function<void(Index)>& task) = 0;
};

// The calling thread alone.
Executor& SerialExecutor();

// oneTBB's threads, as many as the process was given. Waking them costs microseconds, so kernels
// run small work on the calling thread.
Executor& DefaultExecutor();

}  // namespace sextant
