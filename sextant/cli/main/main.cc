// Entry point of `sextant`.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>

#include "sextant/cli/program.h"

int main(int argc, char** argv) {
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: set, colour is not wanted
  const sextant::cli::Session session{.out = std::cout,
                                      .err = std::cerr,
                                      .registry = sextant::Registry::Builtin(),
                                      .err_is_terminal = isatty(STDERR_FILENO) != 0,
                                      .color = isatty(STDOUT_FILENO) != 0 && no_color == nullptr};
  try {
    return sextant::cli::RunProgram({argv + 1, argv + argc}, session);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\nThis is a fault in sextant; please report it.\n";
    return sextant::cli::kFindings;
  }
}
