// Llama 3.1's blend.
#include "sextant/schemes/rotary/llama3.h"

#include <numbers>

#include "sextant/core/error.h"

namespace sextant {

void Llama3Frequencies::check(std::string_view where, int) const {
  CheckOriginalLength(where, original_length);
  if (low_freq_factor < high_freq_factor) return;
  const std::string got = ToText(low_freq_factor) + " and " + ToText(high_freq_factor);
  throw Error(where,
              "frequencies.low_freq_factor must be below high_freq_factor because frequencies are "
              "blended between them, got " +
                  got,
              low_freq_factor > high_freq_factor ? "they look swapped: Llama 3.1 has 1 and 4"
                                                 : "Llama 3.1 has 1 and 4");
}

Frequencies Llama3Frequencies::at(int rotated_dims, std::int64_t, Numerics numerics) const {
  Frequencies result;
  result.base = base;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    using Real = decltype(real);
    const Real longest_kept = Real(original_length / high_freq_factor);
    const Real shortest_divided = Real(original_length / low_freq_factor);
    std::vector<Real> frequencies = PowerFrequencies<Real>(base, rotated_dims, rotated_dims / 2);
    for (Real& frequency : frequencies) {
      const Real wavelength = Real(2 * std::numbers::pi) / frequency;
      if (wavelength < longest_kept) continue;
      if (wavelength > shortest_divided) {
        frequency /= Real(factor);
        continue;
      }
      const Real kept = (Real(original_length) / wavelength - Real(low_freq_factor)) /
                        Real(high_freq_factor - low_freq_factor);
      frequency = (1 - kept) * frequency / Real(factor) + kept * frequency;
    }
    return frequencies;
  });
  return result;
}

}  // namespace sextant
