// Frequency rules of rotary schemes: how fast each channel pair turns.
#pragma once

#include <cmath>
#include <variant>
#include <vector>

namespace sextant {

// inv_freq[i] = base^(-2i / rotated_dims).  Su et al. 2021, arXiv 2104.09864, equation 15.
struct DefaultFrequencies {
  static constexpr const char* rule = "default";
  double base = 1e4;

  void fields(auto& field) {
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength, theta");
  }
  std::vector<double> inv_freq(int rotated_dims) const {
    std::vector<double> frequencies(static_cast<std::size_t>(rotated_dims / 2));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / rotated_dims);
    }
    return frequencies;
  }
};

// The default rule with every frequency divided by `factor` (position interpolation).
// Chen et al. 2023, arXiv 2306.15595, equation 4.
struct LinearFrequencies {
  static constexpr const char* rule = "linear";
  double base = 1e4;
  double factor = 1;

  void fields(auto& field) {
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength, theta");
    field("factor", factor, 1, 1e6, "how many times longer the context becomes");
  }
  std::vector<double> inv_freq(int rotated_dims) const {
    std::vector<double> frequencies = DefaultFrequencies{base}.inv_freq(rotated_dims);
    for (double& frequency : frequencies) frequency /= factor;
    return frequencies;
  }
};

using FrequencyRule = std::variant<DefaultFrequencies, LinearFrequencies>;

}  // namespace sextant
