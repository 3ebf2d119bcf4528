// Frequencies from a list.
#include "sextant/schemes/rotary/list.h"

#include "sextant/core/error.h"
#include "sextant/schemes/rotary/linear.h"

namespace sextant {

void GivenFrequencies::check(std::string_view where, int rotated_dims) const {
  if (inv_freq.size() == std::size_t(rotated_dims / 2)) return;
  throw Error(where,
              "frequencies.inv_freq must hold " + std::to_string(rotated_dims / 2) +
                  " numbers, one for each pair of rotated_dims " + std::to_string(rotated_dims) +
                  ", got " + std::to_string(inv_freq.size()),
              inv_freq.size() == std::size_t(rotated_dims)
                  ? "a table with a number a channel holds each twice: give the first half"
                  : "");
}

Frequencies GivenFrequencies::at(int, std::int64_t, Numerics numerics) const {
  Frequencies result;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    return std::vector<decltype(real)>(inv_freq.begin(), inv_freq.end());
  });
  return result;
}

Frequencies TrainableFrequencies::at(int rotated_dims, std::int64_t length,
                                     Numerics numerics) const {
  return DefaultFrequencies{base}.at(rotated_dims, length, numerics);
}

}  // namespace sextant
