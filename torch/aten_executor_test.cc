// That kernels really run on ATen's threads.
#include "torch/aten_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sextant::nn {
namespace {

class AtenExecutorTest : public testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(2); }
  void TearDown() override { at::set_num_threads(threads_); }

 private:
  const int threads_ = at::get_num_threads();
};

TEST_F(AtenExecutorTest, RunsEveryPieceOnceOnSeveralThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> runs(100);
  AtenExecutor().Run(100, [&](Index piece) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    ++runs[std::size_t(piece)];
  });
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_EQ(std::count(runs.begin(), runs.end(), 1), 100);
}

TEST_F(AtenExecutorTest, SequencesAreOneAThreadAndTheLastOnAll) {
  std::mutex mutex;
  std::vector<std::thread::id> by(3);
  std::vector<bool> serial(3);
  ForEachSequence(3, 1e9, [&](Index b, Executor& executor) {
    const std::lock_guard lock(mutex);
    by[std::size_t(b)] = std::this_thread::get_id();
    serial[std::size_t(b)] = &executor == &SerialExecutor();
  });
  EXPECT_NE(by[0], by[1]);
  EXPECT_EQ(serial, (std::vector<bool>{true, true, false}));
  ForEachSequence(3, 1e3, [&](Index b, Executor& executor) {
    by[std::size_t(b)] = std::this_thread::get_id();
    EXPECT_EQ(&executor, &SerialExecutor());
  });
  for (const std::thread::id id : by) EXPECT_EQ(id, std::this_thread::get_id());
}

TEST_F(AtenExecutorTest, HandsOnWhatAPieceThrows) {
  EXPECT_THROW(AtenExecutor().Run(4,
                                  [](Index piece) {
                                    if (piece == 3) throw std::runtime_error("3");
                                  }),
               std::runtime_error);
}

}  // namespace
}  // namespace sextant::nn
