// Held-out loss of a trained model, each figure under a named protocol.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lab/dataset.h"
#include "lab/gpt.h"

namespace sextant::lab {

// Mean loss in nats a token of the first `tokens` held-out targets, in windows of the training
// context that share no target: a point of the loss curve.
double CurveLoss(Gpt& model, const Dataset& dataset, const Settings& settings);

// A list of {protocol, length, multiple, loss, bits_per_byte, tokens}, or with `cannot` in place of
// the figures where the scheme ends before that length:
//   non-overlapping   windows of length 1x, 2x, 4x .. longest x context that share no target; the
//                     same number of targets for each length
//   last-K-fixed      the same targets at every length, K = min(128, context) at the end of each
//                     window, with a growing context before them
nlohmann::ordered_json EvaluateLengths(Gpt& model, const Dataset& dataset,
                                       const Settings& settings);

// A list of {from, to, loss}: mean loss by position within the training context, from inclusive, to
// exclusive, in buckets that double.
nlohmann::ordered_json EvaluateByPosition(Gpt& model, const Dataset& dataset,
                                          const Settings& settings);

}  // namespace sextant::lab
