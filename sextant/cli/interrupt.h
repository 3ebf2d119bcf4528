// Ctrl-C as a question a long computation can ask.
#pragma once

namespace sextant::cli {

// From construction to destruction the first SIGINT or SIGTERM sets a flag instead of ending the
// process; a second one ends it at once. One at a time.
class InterruptFlag {
 public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  static bool raised();
};

}  // namespace sextant::cli
