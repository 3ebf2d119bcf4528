// Figures the examples print beside the largest value that is right.
#pragma once

#include <cstdio>

class Figures {
 public:
  // Prints "<what>: <value> (at most <limit>)"; NaN is wrong too.
  void Add(const char* what, double value, double limit) {
    std::printf("%s: %.3g (at most %.3g)\n", what, value, limit);
    if (!(value <= limit)) all_right_ = false;
  }

  // What main returns: 0 if every figure was right.
  int exit_code() const { return all_right_ ? 0 : 1; }

 private:
  bool all_right_ = true;
};
