// The mistakes ports make, each as vectors that contain it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sextant/vectors/golden.h"

namespace sextant {

// One mistake: what it is called, what to say of it, and the vectors a port with it would give.
struct Mistake {
  std::string kind;
  std::string explanation;
  std::function<GoldenVectors()> make;
};

// Mistakes in how a scheme is set and positions are counted; `right` and `registry` must outlive
// the result. `make` may throw Error where a mistake is not possible.
std::vector<Mistake> MistakesOf(const GoldenVectors& right, const Registry& registry);

// A wrong array made from the right one of the same name.
struct ArrayMistake {
  std::string kind;
  std::string explanation;
  std::function<std::vector<double>(const NamedArray& right)> make;
};
// Signs, orders of channels and halves, swapped sines and cosines.
std::vector<ArrayMistake> ArrayMistakes(const GoldenVectors& right);

}  // namespace sextant
