// Several schemes at once: their rows and biases add up.
#pragma once

#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// A scheme whose rows, biases and query factors are those of all its parts together. Weights are
// those of the parts one after the other, named "<part>.<weight>". Throws Error where parts exclude
// each other: two rotary tables, two sets of distance vectors, two contextual biases, different
// widths or head counts.
SchemePtr Compose(std::vector<SchemePtr> parts);

// What holds for several schemes together: a promise is kept where every part keeps it.
Claims ClaimsOfAll(const std::vector<SchemePtr>& parts);
// The parts' initial values, one after the other.
std::vector<std::vector<double>> InitialWeightsOfAll(const std::vector<SchemePtr>& parts,
                                                     Random& random);

}  // namespace sextant
