// The setting of whether all layers of a model share a scheme's weights.
#pragma once

#include "sextant/schemes/scheme.h"

namespace sextant {

inline constexpr Choice<WeightScope> kWeightScopes[] = {{"shared", WeightScope::kModel},
                                                        {"per_layer", WeightScope::kLayer}};

}  // namespace sextant
