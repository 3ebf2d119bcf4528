// Numbers, estimates and lists of names as text for readers of the report.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lab/report/statistics.h"

namespace sextant::lab {

// With `decimals` after the point and a true minus sign; huge ones as 1.2e+20.
std::string FixedText(double number, int decimals);

// With a sign, also where it is positive: +0.120.
std::string SignedText(double number, int decimals);

// About `digits` significant digits: 0.00012, 2.94, 1048576.
std::string RoundText(double number, int digits = 3);

// A count with its thousands apart: 1,048,576.
std::string CountText(double count);

// "2×" of the training length.
std::string MultipleText(double multiple);

// "2.661 ± 0.012", or "2.661" where there is no interval; decimals as the interval deserves.
std::string EstimateText(const Estimate& estimate);

// "−0.212 [−0.250, −0.174]", or "−0.212 (one seed)".
std::string DifferenceText(const Estimate& difference);

// "1 seed", "3 seeds".
std::string Counted(std::size_t count, std::string_view noun);

// The name of a scheme in quotation marks, for sentences that "none" would upset.
std::string Quoted(std::string_view name);

// "a", "a and b", "a, b and c"; beyond `most` names the rest is counted: "a, b and 3 more".
std::string JoinNames(std::span<const std::string> names, std::size_t most);

}  // namespace sextant::lab
