// Resident memory of this process, as the kernel counts it.
#pragma once

namespace sextant::bench {

// Bytes resident now, the most since ForgetPeak (or the start), and the most since the start.
double ResidentBytes();
double PeakBytes();
double ProcessPeakBytes();
void ForgetPeak();

}  // namespace sextant::bench
