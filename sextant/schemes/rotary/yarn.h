// YaRN: fast pairs kept, slow pairs divided, a ramp between, and scores made a little sharper.
#pragma once

#include "sextant/schemes/rotary/ramp.h"

namespace sextant {

// Whether the softmax scale is multiplied too (multi-head latent attention of DeepSeek).
enum class YarnSoftmax { kPlain, kDeepSeek };

//   inv_freq[i] = w_i (ramp_i / factor + 1 - ramp_i),  w_i = base^(-2i / d),  ramp.h
//   magnitude   = attention_factor, or g(factor, mscale) / g(factor, mscale_all_dim) where both are
//                 set, or g(factor, 1);  g(s, m) = 0.1 m ln(s) + 1
//   softmax     = g(factor, mscale_all_dim)^2 with softmax=deepseek
// Peng et al. 2023, arXiv 2309.00071, sections 3.2 to 3.4; Hugging Face "yarn".
struct YarnFrequencies {
  static constexpr const char* rule = "yarn";
  static constexpr Choice<RampEnds> kRampEnds[] = {{"rounded", RampEnds::kRounded},
                                                   {"exact", RampEnds::kExact}};
  static constexpr Choice<YarnSoftmax> kSoftmax[] = {{"plain", YarnSoftmax::kPlain},
                                                     {"deepseek", YarnSoftmax::kDeepSeek}};
  double base = 1e4;
  double factor = 1;
  int original_length = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  RampEnds ramp_ends = RampEnds::kRounded;
  double attention_factor = 0;
  double mscale = 0;
  double mscale_all_dim = 0;
  double extrapolation_factor = 1;
  YarnSoftmax softmax = YarnSoftmax::kPlain;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddFactorField(field, factor);
    AddOriginalLengthField(field, original_length);
    field("beta_fast", beta_fast, 0.01, 1e6,
          "pairs that turn more often over original_length keep their frequency");
    field("beta_slow", beta_slow, 0.01, 1e6,
          "pairs that turn less often over original_length are divided by factor");
    field("ramp_ends", ramp_ends, kRampEnds,
          "ends of the ramp: whole pairs (truncate=true), or between them (gpt-oss)");
    field("attention_factor", attention_factor, 0, 100,
          "factor on cos and sin; 0: by the rule, 0.1 ln(factor) + 1");
    field("mscale", mscale, 0, 10, "with mscale_all_dim, changes the rule's factor; 0: not set");
    field("mscale_all_dim", mscale_all_dim, 0, 10,
          "divides the rule's factor again, and sets the softmax multiplier; 0: not set");
    field("extrapolation_factor", extrapolation_factor, 0, 1,
          "how much of their own frequency the fast pairs keep");
    field("softmax", softmax, kSoftmax,
          "whether the softmax scale is multiplied by (0.1 mscale_all_dim ln(factor) + 1)^2");
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

// YaRN whose factor is max(length / original_length, 1).  jquesnelle/yarn,
// LlamaDynamicYaRNScaledRotaryEmbedding.
struct DynamicYarnFrequencies {
  static constexpr const char* rule = "dynamic_yarn";
  double base = 1e4;
  int original_length = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  double extrapolation_factor = 1;

  void fields(auto& field) {
    AddBaseField(field, base);
    AddOriginalLengthField(field, original_length);
    field("beta_fast", beta_fast, 0.01, 1e6,
          "pairs that turn more often over original_length keep their frequency");
    field("beta_slow", beta_slow, 0.01, 1e6,
          "pairs that turn less often over original_length are divided");
    field("extrapolation_factor", extrapolation_factor, 0, 1,
          "how much of their own frequency the fast pairs keep");
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

}  // namespace sextant
