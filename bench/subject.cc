// The list of subjects, and how one is timed.
#include "bench/subject.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace sextant::bench {

Subject Repeated(double work, std::function<void()> once) {
  return {work,
          [once = std::move(once)](int repeats) {
            for (int i = 0; i < repeats; ++i) once();
          },
          {}};
}

const SubjectList& AllSubjects() {
  static const SubjectList all = [] {
    SubjectList list;
    AddLimits(list);
    AddRotation(list);
    AddAttention(list);
    AddDecoding(list);
    AddTables(list);
    return list;
  }();
  return all;
}

double SecondsOf(const Subject& subject, double least_seconds, double expected) {
  // A run this long is not made faster by what the caches held before it.
  constexpr double kLong = 0.25;
  const auto time = [&](int repeats) {
    const auto start = std::chrono::steady_clock::now();
    subject.run(repeats);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
           repeats;
  };
  if (expected < kLong) expected = time(1);
  const double repeats = std::ceil(least_seconds / std::max(expected, 1e-8));
  return time(static_cast<int>(std::clamp(repeats, 1.0, 1e6)));
}

}  // namespace sextant::bench
