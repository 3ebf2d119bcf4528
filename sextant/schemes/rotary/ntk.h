// Frequency rules that change the base, so that slow pairs are stretched and fast ones kept.
#pragma once

#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {

// inv_freq of base alpha^(d / (d - 2)).  "NTK-aware", bloc97 2023; HunYuan's alpha.
struct NtkFrequencies {
  static constexpr const char* rule = "ntk";
  double base = 1e4;
  double alpha = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    field("alpha", alpha, 1, 1e6, "how many times longer the slowest wavelength becomes");
  }
  void check(std::string_view where, int rotated_dims) const { CheckNtkWidth(where, rotated_dims); }
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq of base * factor, divided by factor^(2 / d).  Su, kexue.fm 9706; vLLM's "ntk".
struct NtkFixedFrequencies {
  static constexpr const char* rule = "ntk_fixed";
  double base = 1e4;
  double factor = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
  }
  void check(std::string_view, int) const {}
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq[i] = base^(-2i / d) / exp(a (i + 1)^b),  a = ln(factor) / (d / 2)^b.  Su, kexue.fm 9706.
struct NtkMixedFrequencies {
  static constexpr const char* rule = "ntk_mixed";
  double base = 1e4;
  double factor = 1;
  double mixed_b = 0.625;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
    field("mixed_b", mixed_b, 0.01, 2, "exponent b: small stretches the fast pairs more");
  }
  void check(std::string_view, int) const {}
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq of base (factor s / L - (factor - 1))^(d / (d - 2)),  L = original_length,
// s = max(length, L); with alpha above 1, of base alpha^(d / (d - 2)) at every length: HunYuan's
// checkpoints are labelled so.  emozilla 2023; Hugging Face "dynamic" (its L is
// max_position_embeddings).
struct DynamicFrequencies {
  static constexpr const char* rule = "dynamic";
  double base = 1e4;
  double factor = 1;
  int original_length = 0;
  double alpha = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
    AddOriginalLengthField(field, original_length);
    field("alpha", alpha, 1, 1e6,
          "above 1, fixes the base at base alpha^(d/(d-2)) at every length (HunYuan: 1000)");
  }
  void check(std::string_view where, int rotated_dims) const {
    CheckNtkWidth(where, rotated_dims);
    CheckOriginalLength(where, original_length);
  }
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// inv_freq[i] = base^(-2i / d) L / max(length, L),  L = original_length.  jquesnelle/yarn.
struct DynamicLinearFrequencies {
  static constexpr const char* rule = "dynamic_linear";
  double base = 1e4;
  int original_length = 0;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddOriginalLengthField(field, original_length);
  }
  void check(std::string_view where, int) const { CheckOriginalLength(where, original_length); }
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// YaRN's forerunner: two ramps (yarn.h), one from NTK to linear between 1.25 and 0.75 turns over
// original_length, one from unchanged to that between 16 and 2.  jquesnelle/yarn,
// LlamaPartNTKScaledRotaryEmbedding.
struct NtkByPartsFrequencies {
  static constexpr const char* rule = "ntk_by_parts";
  double base = 1e4;
  double factor = 1;
  int original_length = 0;
  double ntk_factor = 1;
  double extrapolation_factor = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
    AddOriginalLengthField(field, original_length);
    field("ntk_factor", ntk_factor, 0, 1, "how much of NTK the middle pairs take");
    field("extrapolation_factor", extrapolation_factor, 0, 1,
          "how much of their own frequency the fast pairs keep");
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

}  // namespace sextant
