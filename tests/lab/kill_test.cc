// A comparison killed at any moment, stopped by Ctrl-C, or out of disk, ends as if it never was.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "sextant/formats/file.h"
#include "tests/lab/lab_program.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

class KillTest : public LabProgramTest {
 protected:
  void SetUp() override {
    LabProgramTest::SetUp();
    stories_ = Stories("stories.txt");
  }

  std::vector<std::string> Arguments(const std::string& output, const char* steps = "60") const {
    return With(
        {"compare", "rope", "t5", "--seeds", "2", "--data", stories_, "--output", Path(output)},
        With(SmallSettings(), {"--steps", steps}));
  }

  // The program in a process of its own; `limit` is the largest file it may write, 0 for any.
  pid_t Start(const std::string& output, rlim_t limit = 0, const char* steps = "60") const {
    const std::vector<std::string> arguments = Arguments(output, steps);
    const pid_t child = fork();
    if (child != 0) return child;
    if (limit != 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit largest{limit, limit};
      setrlimit(RLIMIT_FSIZE, &largest);
    }
    std::vector<char*> words = {const_cast<char*>(SEXTANT_PROGRAM)};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const std::string log = Path(output + ".log");
    if (freopen(log.c_str(), "w", stdout) == nullptr || dup2(fileno(stdout), 2) < 0) _exit(99);
    execv(SEXTANT_PROGRAM, words.data());
    _exit(98);
  }

  static int Wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  // Until the first checkpoint of the output's first run is there.
  void WaitForCheckpoint(const std::string& output) const {
    const std::string checkpoint = Path(output) + "/runs/rope/seed-1/ckpt/last.safetensors";
    for (int tries = 0; tries < 3000 && !std::filesystem::exists(checkpoint); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::vector<std::string> Weights(const std::string& output) const {
    std::vector<std::string> weights;
    const Json results = Json::parse(ReadFile(Path(output) + "/results.json", 1 << 26));
    for (const Json& scheme : results["schemes"]) {
      for (const Json& cell : scheme["cells"]) weights.push_back(cell["weights"]);
    }
    return weights;
  }

  std::string stories_;
};

TEST_F(KillTest, EndsWithTheWeightsOfAnUninterruptedRun) {
  ASSERT_EQ(Wait(Start("whole")), kFine);
  // Killed again and again at odd moments.
  int killed = 0;
  for (int kill_after = 1; kill_after <= 5; ++kill_after) {
    const pid_t child = Start("killed");
    if (kill_after == 1) WaitForCheckpoint("killed");
    std::this_thread::sleep_for(std::chrono::milliseconds(83 * kill_after));
    kill(child, SIGKILL);
    if (Wait(child) == 1000 + SIGKILL) ++killed;
  }
  EXPECT_GT(killed, 0) << "every run ended before it was killed: this tests nothing";
  ASSERT_EQ(Wait(Start("killed")), kFine) << ReadFile(Path("killed.log"), 1 << 20);
  const std::vector<std::string> whole = Weights("whole");
  ASSERT_EQ(whole.size(), 4u);
  EXPECT_EQ(Weights("killed"), whole);
}

TEST_F(KillTest, CtrlCSavesAndSaysHowToGoOn) {
  const pid_t child = Start("stopped");
  WaitForCheckpoint("stopped");
  kill(child, SIGINT);
  EXPECT_EQ(Wait(child), kInterrupted);
  const std::string log = ReadFile(Path("stopped.log"), 1 << 20);
  EXPECT_THAT(log, testing::HasSubstr("stopped; everything so far is saved. Go on with:"));
  EXPECT_THAT(ReadFile(Path("stopped") + "/report.html", 1 << 26), testing::HasSubstr("<html"));
  EXPECT_EQ(Wait(Start("stopped")), kFine);
  EXPECT_EQ(Wait(Start("whole")), kFine);
  EXPECT_EQ(Weights("stopped"), Weights("whole"));
}

// A limit on file size stands for a full disk: the checkpoint cannot be written.
TEST_F(KillTest, AFullDiskIsNamedAndNothingIsLost) {
  EXPECT_EQ(Wait(Start("full", 20000)), kUnreadable) << ReadFile(Path("full.log"), 1 << 20);
  const std::string log = ReadFile(Path("full.log"), 1 << 20);
  EXPECT_THAT(log, testing::HasSubstr("cannot be written: File too large"));
  EXPECT_EQ(Wait(Start("full")), kFine) << ReadFile(Path("full.log"), 1 << 20);
  EXPECT_EQ(Wait(Start("whole")), kFine);
  EXPECT_EQ(Weights("full"), Weights("whole"));
}

TEST_F(KillTest, TwoProcessesDoNotWorkInOneFolder) {
  const char* steps = "100000";  // it works on until it is killed
  const pid_t child = Start("report", 0, steps);
  WaitForCheckpoint("report");
  const Outcome second = RunWith(Arguments("report", steps));
  EXPECT_EQ(second.exit_code, kUsage);
  EXPECT_THAT(second.err, testing::HasSubstr("another process is working in this folder"));
  const Outcome cell = RunWith({"lab", "resume", Path("report") + "/runs/rope/seed-1"});
  EXPECT_EQ(cell.exit_code, kUsage);
  EXPECT_THAT(cell.err, testing::HasSubstr("another process is working in this folder"));
  kill(child, SIGKILL);
  EXPECT_EQ(Wait(child), 1000 + SIGKILL);
}

}  // namespace
}  // namespace sextant::cli
