// The signal handler behind InterruptFlag.
#include "sextant/cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace sextant::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void Raise(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted = false;
  std::signal(SIGINT, Raise);
  std::signal(SIGTERM, Raise);
}

InterruptFlag::~InterruptFlag() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptFlag::raised() { return interrupted; }

}  // namespace sextant::cli
