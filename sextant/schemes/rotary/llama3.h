// Llama 3.1's frequencies: short wavelengths kept, long ones divided, a blend between.
#pragma once

#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {

// With the wavelength l = 2 pi / w, w = base^(-2i / d), and L = original_length:
//   l < L / high  w      l > L / low  w / factor
//   else          w ((1 - s) / factor + s),  s = (L / l - low) / (high - low)
// Meta's llama-models (2024), apply_scaling; Hugging Face "llama3".
struct Llama3Frequencies {
  static constexpr const char* rule = "llama3";
  double base = 1e4;
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  int original_length = 0;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
    field("low_freq_factor", low_freq_factor, 0.01, 1e6,
          "pairs that turn less often over original_length are divided by factor");
    field("high_freq_factor", high_freq_factor, 0.01, 1e6,
          "pairs that turn more often over original_length are kept");
    AddOriginalLengthField(field, original_length);
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

}  // namespace sextant
