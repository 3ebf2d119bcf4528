// Compiler, libraries and processor as text.
#include "lab/environment.h"

#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace sextant::lab {
namespace {

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

nlohmann::ordered_json DescribeEnvironment(int threads) {
  return {{"version", "0.1.0"},     {"compiler", "g++ " __VERSION__},
          {"torch", TORCH_VERSION}, {"vector_unit", at::get_cpu_capability()},
          {"cpu", ProcessorName()}, {"cores", std::thread::hardware_concurrency()},
          {"threads", threads},     {"number", "float32"}};
}

}  // namespace sextant::lab
