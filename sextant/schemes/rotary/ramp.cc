// Where a ramp begins and ends, and when it makes no sense.
#include "sextant/schemes/rotary/ramp.h"

#include "sextant/core/error.h"

namespace sextant {

double PairOfTurns(double turns, double base, double length, int rotated_dims) {
  return rotated_dims * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
}

void CheckRamp(std::string_view where, const Ramp& ramp, double base, int original_length,
               int rotated_dims) {
  if (ramp.fast < ramp.slow) {
    throw Error(where,
                "frequencies.beta_fast must be at least beta_slow, got " + ToText(ramp.fast) +
                    " and " + ToText(ramp.slow),
                "they look swapped: fast pairs turn more often over the original length");
  }
  const RampTable<double> table = RampOf<double>(ramp, base, original_length, rotated_dims);
  if (table.low <= table.high) return;
  const bool short_length = table.raw_high < 0;
  throw Error(where,
              "no pair lies between the ends of the ramp, " + ToText(table.raw_low) + " and " +
                  ToText(table.raw_high) + ", for frequencies.original_length " +
                  std::to_string(original_length) + " and base " + ToText(base),
              short_length ? "over so few positions no pair turns as often as the slow end asks: "
                             "is original_length the trained length in positions?"
                           : "over so many positions every pair turns more often than the fast end "
                             "asks: is the base right?");
}

}  // namespace sextant
