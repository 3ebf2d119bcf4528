// LongRoPE: a divisor of its own for each pair, one list up to the original length and one past it.
#pragma once

#include "sextant/schemes/rotary/frequency_table.h"

namespace sextant {

//   inv_freq[i] = base^(-2i / d) / e_i,  e = long_factors if length > original_length, else
//                 short_factors
//   magnitude   = attention_factor, or sqrt(1 + ln(factor) / ln(original_length)); short_mscale and
//                 long_mscale, where set, replace it for their list
// Ding et al. 2024, arXiv 2402.13753; Hugging Face "longrope" (once "su"). Keys cached under the
// short list are wrong under the long one: rerotate.h turns them.
struct LongRopeFrequencies {
  static constexpr const char* rule = "longrope";
  double base = 1e4;
  double factor = 1;
  int original_length = 0;
  std::vector<double> short_factors;
  std::vector<double> long_factors;
  double attention_factor = 0;
  double short_mscale = 0;
  double long_mscale = 0;

  void fields(auto& field) {
    AddBaseField(field, base);
    field("factor", factor, 1, 1e6,
          "longest over original length (131072 / 4096: 32); sets the magnitude alone");
    AddOriginalLengthField(field, original_length);
    field("short_factors", short_factors, 0.001, 1e6,
          "divisors up to original_length, one a pair; empty: all 1");
    field("long_factors", long_factors, 0.001, 1e6,
          "divisors past original_length, one a pair; empty: all 1");
    field("attention_factor", attention_factor, 0, 100,
          "factor on cos and sin; 0: by the rule, sqrt(1 + ln(factor) / ln(original_length))");
    field("short_mscale", short_mscale, 0, 100, "in its place up to original_length; 0: not set");
    field("long_mscale", long_mscale, 0, 100, "in its place past original_length; 0: not set");
  }
  void check(std::string_view where, int rotated_dims) const;
  Frequencies at(int rotated_dims, std::int64_t length, Numerics numerics) const;
};

}  // namespace sextant
