// The program: its subcommands, and how errors become messages and exit codes.
#include "sextant/cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "sextant/core/closest.h"
#include "sextant/core/error.h"

namespace sextant::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  sextant compare --output report      measure schemes and train small GPTs with each\n"
    "  sextant probe none sinusoidal rope   score by offset from three anchors\n"
    "  sextant table t5:direction=bidirectional --json\n"
    "  sextant schemes rope                 formula, parameters, claims and their tests\n"
    "\n"
    "A scheme is a name with settings (rope:base=500000,pairing=adjacent), parts joined by +\n"
    "(sinusoidal+learned), a JSON object, or @file.json.\n"
    "Exit codes: 0 fine, 1 findings, 2 wrong arguments, 3 a file cannot be read or written, 130\n"
    "interrupted.";

// CLI11 only says that a subcommand is missing; this says which was meant.
void CheckSubcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), arguments[0]) != names.end()) return;
  const std::string hint = DidYouMean(arguments[0], names);
  throw Error("sextant", "there is no subcommand " + arguments[0],
              hint.empty() ? "the subcommands are " + Join(names) : hint);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const Session& session) {
  CLI::App app("Positional encodings of transformers: measured, explained and compared.",
               "sextant");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sextant 0.1.0");
  app.footer(kFooter);
  int exit_code = kFine;
  for (const AddCommand add : {AddCompare, AddSchemes, AddTable, AddProbe, AddVectors, AddLab}) {
    add(app, session, exit_code);
  }
  try {
    CheckSubcommand(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    session.out.flush();
    if (!session.out) throw UnwritableOutput("standard output", "cannot be written");
    return exit_code;
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success, session.out, session.err);
    return kFine;
  } catch (const CLI::ParseError& error) {
    app.exit(error, session.out, session.err);
    return kUsage;
  } catch (const UnreadableInput& error) {
    session.err << "error: " << error.what() << "\n";
    return kUnreadable;
  } catch (const UnwritableOutput& error) {
    session.err << "error: " << error.what() << "\n";
    return kUnreadable;
  } catch (const Error& error) {
    session.err << "error: " << error.what() << "\n";
    return kUsage;
  }
}

}  // namespace sextant::cli
