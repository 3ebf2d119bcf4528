// Frequency rules that are a list: one given, and one that training changes.
#pragma once

#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {

// inv_freq as given, a number a pair: what a checkpoint stores, or frequencies of one's own.
struct GivenFrequencies {
  static constexpr const char* rule = "given";
  std::vector<double> inv_freq;

  void fields(auto& field) {
    field("inv_freq", inv_freq, 0, 1e4,
          "radians a position, one for each of rotated_dims / 2 pairs");
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq is a weight that starts as base^(-2i / d); with as_trained its gradient is that of the
// formula, not of the rounding.  rotary-embedding-torch's learned_freq.
struct TrainableFrequencies {
  static constexpr const char* rule = "trainable";
  double base = 1e4;

  void fields(auto& field) { AddBaseField(field, base); }
  void check(std::string_view, int) const {}
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

}  // namespace sextant
