// The command line as a function: arguments in, exit code out.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "sextant/schemes/registry.h"

// Only files that use CLI11 include it: it takes seconds to compile.
namespace CLI {
class App;
}

namespace sextant::cli {

// 0 fine; 1 findings (a run that diverged, a check that failed); 2 the arguments are wrong; 3 a
// file cannot be read or written; 130 interrupted.
enum ExitCode { kFine = 0, kFindings = 1, kUsage = 2, kUnreadable = 3, kInterrupted = 130 };

// What a subcommand works with. Data goes to `out`, messages to `err`.
struct Session {
  std::ostream& out;
  std::ostream& err;
  const Registry& registry;
  bool err_is_terminal = false;  // live progress only there
  bool color = false;            // colour on `out` is wanted
};

// Runs `sextant` with `arguments` (without the program's name).
int RunProgram(const std::vector<std::string>& arguments, const Session& session);

// Each subcommand's file adds itself; `exit_code` is what RunProgram returns if the callback ends
// without an exception. CLI11 calls the callback once the arguments are read.
using AddCommand = void (*)(CLI::App& app, const Session& session, int& exit_code);
void AddSchemes(CLI::App& app, const Session& session, int& exit_code);
void AddTable(CLI::App& app, const Session& session, int& exit_code);
void AddProbe(CLI::App& app, const Session& session, int& exit_code);
void AddVectors(CLI::App& app, const Session& session, int& exit_code);
void AddCompare(CLI::App& app, const Session& session, int& exit_code);
void AddLab(CLI::App& app, const Session& session, int& exit_code);

}  // namespace sextant::cli
