// Progress of long work: one live line on a terminal, plain lines now and then elsewhere.
#pragma once

#include <chrono>
#include <iosfwd>
#include <mutex>
#include <string>

namespace sextant::lab {

enum class ProgressStyle { kLive, kPlain };

// Safe to call from several threads.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, ProgressStyle style);
  ~ProgressLine();

  // Shows the present state: on a terminal over the last one, elsewhere at most every ten seconds.
  void Update(const std::string& text);
  // A line that stays.
  void Print(const std::string& text);

 private:
  void Clear();

  std::ostream& out_;
  ProgressStyle style_;
  std::mutex mutex_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

// "42 s", "7 min 05 s", "2 h 10 min".
std::string DurationText(double seconds);

}  // namespace sextant::lab
