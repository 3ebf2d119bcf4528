// What a comparison says in a sentence, no more than its intervals support.
#pragma once

#include <string>

#include "lab/report/summary.h"

namespace sextant::lab {

// "Lowest held-out loss at the training length: alibi 2.661 ± 0.012, not told apart from t5 by 3
// seeds; at 8× that length, in windows that do not overlap, the loss grows by less than 0.1 for
// alibi and t5, grows by more than 0.1 for rope (+1.20); learned cannot run at 8×."
std::string Conclude(const Summary& summary);

}  // namespace sextant::lab
