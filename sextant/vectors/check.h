// Comparing a port's arrays with the right ones, and saying what kind of difference there is.
#pragma once

#include <string>
#include <vector>

#include "sextant/vectors/golden.h"

namespace sextant {

// kAgrees: nothing to find. kRounding: right, in a format of fewer bits. kHarmless: other numbers
// that give the same attention. kMistake: one known mistake makes exactly these numbers. kUnknown:
// wrong in a way that none of the known mistakes explains.
enum class Verdict { kAgrees, kRounding, kHarmless, kMistake, kUnknown };

struct Difference {
  std::string array;
  Verdict verdict = Verdict::kUnknown;
  std::string kind;         // "other pairing", "sign", "shifted by one", "precision", ...
  std::string explanation;  // a sentence with the numbers and the setting that makes them
  double largest = 0;       // largest |port - right|
  double relative = 0;      // that over the largest |right|
  std::string where;        // the index of the largest difference, "[1][3][0]"
};

// Compares each of the port's arrays whose name the right vectors have; inputs and weights are not
// compared. A mistake is named when making it reproduces the port's numbers at least 20 times
// closer than the right ones and to the port's own precision. Mistakes tried: every other choice of
// every setting of the scheme (pairing, rule, form), other numbers for each setting (the bases in
// use, factors left out, offsets off by one), positions shifted by one, negated, ignored, rounded
// to bf16, of one side only, wrong sign, a constant factor, channels in another order, the table of
// one pairing with the rotation of the other. Throws UnreadableInput where a shape differs.
std::vector<Difference> CheckVectors(const GoldenVectors& right,
                                     const std::vector<NamedArray>& port,
                                     const Registry& registry = Registry::Builtin());

}  // namespace sextant
