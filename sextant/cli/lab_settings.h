// The lab's settings as command-line flags, made from their declaration.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lab/settings.h"

namespace CLI {
class App;
}

namespace sextant::cli {

// Flags of every setting (--layers, --learning-rate, ...) and --config FILE. A flag wins over the
// file, the file over the default.
class SettingsFlags {
 public:
  explicit SettingsFlags(CLI::App& command);

  // Throws Error naming the setting, UnreadableInput for the file.
  lab::Settings settings() const;

 private:
  std::string config_;
  std::map<std::string, std::string> given_;  // by setting's name
};

// "--steps 100 --width 96" for what differs from the defaults, quoted for a shell.
std::string FlagsText(const lab::Settings& settings);

// A word as a shell reads it back.
std::string ShellWord(const std::string& word);

}  // namespace sextant::cli
