// Entry point of `sextant`.
#include <unistd.h>

#include <exception>
#include <iostream>

#include "sextant/cli/program.h"

int main(int argc, char** argv) {
  const sextant::cli::Session session{.out = std::cout,
                                      .err = std::cerr,
                                      .registry = sextant::Registry::Builtin(),
                                      .out_is_terminal = isatty(STDOUT_FILENO) != 0,
                                      .err_is_terminal = isatty(STDERR_FILENO) != 0};
  try {
    return sextant::cli::RunProgram({argv + 1, argv + argc}, session);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\nThis is a fault in sextant; please report it.\n";
    return sextant::cli::kFindings;
  }
}
