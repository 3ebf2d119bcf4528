// Runs the program inside a test and keeps what it printed.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sextant/cli/program.h"

namespace sextant::cli {

struct Outcome {
  int exit_code = 0;
  std::string out, err;

  nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(out); }
  bool out_has(std::string_view text) const { return out.find(text) != std::string::npos; }
  bool err_has(std::string_view text) const { return err.find(text) != std::string::npos; }
};

inline Outcome RunWith(const std::vector<std::string>& arguments,
                       const Registry& registry = Registry::Builtin()) {
  std::ostringstream out, err;
  const Session session{.out = out, .err = err, .registry = registry};
  const int exit_code = RunProgram(arguments, session);
  return {exit_code, out.str(), err.str()};
}

}  // namespace sextant::cli
