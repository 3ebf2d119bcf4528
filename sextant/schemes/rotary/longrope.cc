// LongRoPE's choice of list and magnitude.
#include "sextant/schemes/rotary/longrope.h"

#include "sextant/core/error.h"

namespace sextant {
namespace {

void CheckList(std::string_view where, const char* name, const std::vector<double>& list,
               int rotated_dims) {
  if (list.empty() || list.size() == std::size_t(rotated_dims / 2)) return;
  throw Error(where,
              std::string("frequencies.") + name + " must hold " +
                  std::to_string(rotated_dims / 2) +
                  " numbers, one for each pair of rotated_dims " + std::to_string(rotated_dims) +
                  ", got " + std::to_string(list.size()),
              "a list of " + std::to_string(list.size()) + " fits rotated_dims=" +
                  std::to_string(2 * list.size()) + " (head_dim times partial_rotary_factor)");
}

}  // namespace

void LongRopeFrequencies::check(std::string_view where, int rotated_dims) const {
  CheckOriginalLength(where, original_length);
  CheckList(where, "short_factors", short_factors, rotated_dims);
  CheckList(where, "long_factors", long_factors, rotated_dims);
  if (original_length > 1 || factor == 1) return;
  throw Error(where,
              "frequencies.original_length must be at least 2 because the magnitude divides by its "
              "logarithm, got 1");
}

Frequencies LongRopeFrequencies::at(int rotated_dims, std::int64_t length,
                                    Numerics numerics) const {
  const bool is_long = length > original_length;
  const std::vector<double>& divisors = is_long ? long_factors : short_factors;
  Frequencies result;
  result.base = base;
  result.inv_freq = InNumerics(numerics, [&](auto real) {
    using Real = decltype(real);
    std::vector<Real> frequencies;
    for (int i = 0; i < rotated_dims / 2; ++i) {
      const Real power = std::pow(Real(base), Real(2 * i) / Real(rotated_dims));
      const Real divisor = divisors.empty() ? Real(1) : Real(divisors[std::size_t(i)]);
      frequencies.push_back(1 / (divisor * power));
    }
    return frequencies;
  });
  const double own = is_long ? long_mscale : short_mscale;
  if (own > 0) {
    result.magnitude = own;
  } else if (attention_factor > 0) {
    result.magnitude = attention_factor;
  } else if (factor > 1) {
    result.magnitude = std::sqrt(1 + std::log(factor) / std::log(double(original_length)));
  }
  return result;
}

}  // namespace sextant
