// Frequency rules whose frequencies are powers of one base: as they are, divided, and for some
// pairs.
#pragma once

#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {

// inv_freq[i] = base^(-2i / d).  Su et al. 2021, arXiv 2104.09864, equation 15.
struct DefaultFrequencies {
  static constexpr const char* rule = "default";
  double base = 1e4;

  void fields(auto& field) { AddBaseField(field, base); }
  void check(std::string_view, int) const {}
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq[i] = base^(-2i / d) / factor (position interpolation: the same as dividing positions).
// Chen et al. 2023, arXiv 2306.15595, equation 4.
struct LinearFrequencies {
  static constexpr const char* rule = "linear";
  double base = 1e4;
  double factor = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
  }
  void check(std::string_view, int) const {}
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq[i] = base^(-2i / d) / factor for the first int(fraction d / 2) pairs, 0 for the rest.
// The width in the exponent is that of all channels, unlike a small rotated_dims. Gemma 4.
struct ProportionalFrequencies {
  static constexpr const char* rule = "proportional";
  double base = 1e4;
  double fraction = 1;
  double factor = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    field("fraction", fraction, 0, 1,
          "part of the pairs that turn, above 0 (partial_rotary_factor; Gemma 4: 0.25)");
    AddFactorField(field, factor);
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;

 private:
  int TurningPairs(int rotated_dims) const { return int(fraction * rotated_dims / 2); }
};

}  // namespace sextant
