// Frequency rules of rotary schemes: how fast each channel pair turns.
#pragma once

#include <variant>

#include "sextant/schemes/rotary/linear.h"
#include "sextant/schemes/rotary/list.h"
#include "sextant/schemes/rotary/llama3.h"
#include "sextant/schemes/rotary/longrope.h"
#include "sextant/schemes/rotary/ntk.h"
#include "sextant/schemes/rotary/yarn.h"

namespace sextant {

// Each has fields, check(where, rotated_dims) which throws Error, and at(rotated_dims, length,
// numerics). Only dynamic, dynamic_linear, dynamic_yarn and longrope read the length; nothing is
// remembered between calls.
using FrequencyRule = std::variant<DefaultFrequencies, LinearFrequencies, NtkFrequencies,
                                   NtkFixedFrequencies, NtkMixedFrequencies, DynamicFrequencies,
                                   DynamicLinearFrequencies, NtkByPartsFrequencies, YarnFrequencies,
                                   DynamicYarnFrequencies, Llama3Frequencies, LongRopeFrequencies,
                                   ProportionalFrequencies, GivenFrequencies, TrainableFrequencies>;

inline Frequencies FrequenciesOf(const FrequencyRule& rule, int rotated_dims, std::int64_t length,
                                 Numerics numerics) {
  return std::visit([&](const auto& chosen) { return chosen.at(rotated_dims, length, numerics); },
                    rule);
}

}  // namespace sextant
