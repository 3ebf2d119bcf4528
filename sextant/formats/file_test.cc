// Files are replaced whole or not at all.
#include "sextant/formats/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "sextant/core/error.h"

namespace sextant {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "file_test_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    MakeFolder(folder_ + "/a/b");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(FileTest, ReadsBackWhatItWrote) {
  const std::string path = folder_ + "/a/b/file";
  WriteFile(path, std::string("one\0two", 7));
  EXPECT_EQ(ReadFile(path, 7), std::string("one\0two", 7));
  WriteFile(path, "");
  EXPECT_EQ(ReadFile(path, 7), "");
  EXPECT_FALSE(std::filesystem::exists(path + ".writing"));
}

TEST_F(FileTest, RefusesWhatIsNoFileOrTooLong) {
  EXPECT_THROW(ReadFile(folder_ + "/missing", 10), UnreadableInput);
  EXPECT_THROW(ReadFile(folder_, 10), UnreadableInput);
  WriteFile(folder_ + "/file", "12345678");
  EXPECT_THROW(ReadFile(folder_ + "/file", 7), UnreadableInput);
}

TEST_F(FileTest, RefusesWhereNothingCanBeWritten) {
  EXPECT_THROW(WriteFile(folder_ + "/missing/file", "x"), UnwritableOutput);
  EXPECT_THROW(WriteFile(folder_ + "/a", "x"), UnwritableOutput);
  WriteFile(folder_ + "/file", "x");
  EXPECT_THROW(MakeFolder(folder_ + "/file/b"), UnwritableOutput);
}

TEST_F(FileTest, ADeviceIsWrittenToAndNotReplaced) {
  WriteFile("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THROW(WriteFile("/dev/full", "x"), UnwritableOutput);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// A limit on the size of files fails a write half-way, as a full disk does.
TEST_F(FileTest, AWriteThatFailsHalfWayLeavesTheOldFile) {
  const std::string path = folder_ + "/file";
  WriteFile(path, "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(WriteFile(path, std::string(100000, 'x')), UnwritableOutput);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(ReadFile(path, 10), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".writing"));
}

}  // namespace
}  // namespace sextant
