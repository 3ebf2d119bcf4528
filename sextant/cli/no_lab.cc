// Stands in for compare and lab in a build without torch.
#include <CLI/CLI.hpp>

#include "sextant/cli/program.h"
#include "sextant/core/error.h"

namespace sextant::cli {
namespace {

void AddAbsent(CLI::App& app, const char* name) {
  CLI::App* command = app.add_subcommand(name, "(needs a build with -DSEXTANT_LAB=ON)");
  command->allow_extras();
  command->callback([name] {
    throw Error(name, "this program was built without the lab",
                "run script/setup and configure with -DSEXTANT_LAB=ON");
  });
}

}  // namespace

void AddCompare(CLI::App& app, const Session&, int&) { AddAbsent(app, "compare"); }
void AddLab(CLI::App& app, const Session&, int&) { AddAbsent(app, "lab"); }

}  // namespace sextant::cli
