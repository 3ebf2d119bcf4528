// The program with small settings, for tests of compare and lab.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"

namespace sextant::cli {

// Seconds of work: a model and a run as small as they can be and still learn.
inline std::vector<std::string> SmallSettings() {
  return {"--layers",
          "1",
          "--width",
          "16",
          "--heads",
          "2",
          "--context",
          "16",
          "--batch",
          "4",
          "--steps",
          "12",
          "--warmup",
          "2",
          "--tokens",
          "bytes",
          "--curve-tokens",
          "64",
          "--final-tokens",
          "64",
          "--evaluate-every",
          "4",
          "--longest",
          "4",
          "--sample-tokens",
          "8",
          "--checkpoint-every",
          "2"};
}

inline std::vector<std::string> With(std::vector<std::string> first,
                                     const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// A folder of the test's own, empty at first and removed at the end.
class LabProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "lab_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  // Enough stories for the small settings.
  std::string Stories(const std::string& name) const {
    std::string text;
    for (int story = 0; story < 80; ++story) {
      text += "The fox saw hen number " + std::to_string(story) + " and it ran away.\n\n";
    }
    return Write(name, text);
  }

  std::string folder_;
};

}  // namespace sextant::cli
