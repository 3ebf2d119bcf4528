// The one exception type of the library: where it happened, the rule broken, and a hint.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace sextant {

// what() is "<where>: <rule>" followed, where there is a hint, by "; <hint>". A rule names the
// value it got: "rotated_dims must be even, got 63". Every public function reports misuse with this
// type and leaves its outputs and the disk as they were.
class Error : public std::runtime_error {
 public:
  Error(std::string_view where, std::string_view rule, std::string_view hint = "");

  const std::string& where() const { return where_; }
  const std::string& rule() const { return rule_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string where_;
  std::string rule_;
  std::string hint_;
};

// A file or a stream that cannot be read or does not hold what it should (exit code 3 on the
// command line; a plain Error is exit code 2).
class UnreadableInput : public Error {
 public:
  using Error::Error;
};

// A file or folder that cannot be written (exit code 3); what was there before is still there.
class UnwritableOutput : public Error {
 public:
  using Error::Error;
};

}  // namespace sextant
