// Interleaved rounds: each thing measured once a round, medians over the rounds.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace sextant::bench {

struct Measured {
  std::string name;
  double work = 0;  // of one run: bytes read and written, or floating-point operations
  std::function<void()> run;
  std::vector<double> seconds = {};

  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

// Runs every one of them `rounds` times in turn after one round that does not count; each
// measurement repeats short work until it takes a millisecond.
inline void RunRounds(int rounds, std::vector<Measured>& all) {
  using Clock = std::chrono::steady_clock;
  const auto time = [](const std::function<void()>& run, int repeats) {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) run();
    return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
  };
  std::vector<int> repeats;
  for (Measured& one : all) {
    one.run();
    repeats.push_back(std::max(1, static_cast<int>(1e-3 / std::max(time(one.run, 1), 1e-8))));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].seconds.push_back(time(all[i].run, repeats[i]));
    }
  }
}

// A line each: time, bandwidth, and the ratio to the first, which is the limit.
inline void PrintRounds(const std::string& title, const std::vector<Measured>& all) {
  fmt::print("{}\n", title);
  const double limit = all[0].work / all[0].median();
  for (const Measured& one : all) {
    const double rate = one.work / one.median();
    fmt::print("  {:<44} {:>10.1f} us {:>8.2f} GB/s {:>6.3f} of the limit\n", one.name,
               one.median() * 1e6, rate * 1e-9, rate / limit);
  }
}

}  // namespace sextant::bench
