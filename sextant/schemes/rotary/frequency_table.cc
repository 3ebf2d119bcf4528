// Checks and measures that frequency rules share.
#include "sextant/schemes/rotary/frequency_table.h"

#include <algorithm>
#include <numeric>

#include "sextant/core/error.h"

namespace sextant {

void CheckOriginalLength(std::string_view where, int original_length) {
  if (original_length >= 1) return;
  throw Error(where, "frequencies.original_length must be stated, got 0",
              "give the positions the model was trained on before stretching, like "
              "original_length=4096 (in a model it follows the context)");
}

void CheckNtkWidth(std::string_view where, int rotated_dims) {
  if (rotated_dims >= 4) return;
  throw Error(
      where,
      "this rule needs rotated_dims of at least 4 because its exponent is d / (d - 2), got " +
          std::to_string(rotated_dims),
      "one pair alone has no slowest pair to stretch: use frequencies=linear");
}

double NtkBase(double base, double factor, int rotated_dims) {
  return base * std::pow(factor, double(rotated_dims) / (rotated_dims - 2));
}

bool FallsWithDistance(std::span<const double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  // 1 - 6 sum (rank difference)^2 / (n (n^2 - 1))
  double squares = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double difference = double(rank) - double(order[rank]);
    squares += difference * difference;
  }
  const double count = double(order.size());
  return 1 - 6 * squares / (count * (count * count - 1)) < -0.5;
}

}  // namespace sextant
