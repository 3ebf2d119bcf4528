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

inline Outcome RunWith(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const Session session{.out = out, .err = err, .registry = Registry::Builtin()};
  Outcome outcome;
  outcome.exit_code = RunProgram(arguments, session);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace sextant::cli
