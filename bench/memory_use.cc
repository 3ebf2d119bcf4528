// Reads /proc/self/status and getrusage.
#include "bench/memory_use.h"

#include <sys/resource.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace sextant::bench {
namespace {

double StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1)) * 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + field);
}

}  // namespace

double ResidentBytes() { return StatusBytes("VmRSS"); }
double PeakBytes() { return StatusBytes("VmHWM"); }

double ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024;
}

void ForgetPeak() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  if (!clear) throw std::runtime_error("the peak of resident memory cannot be reset");
}

}  // namespace sextant::bench
