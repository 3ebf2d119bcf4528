// Which of the four requirements on a scheme hold, measured.
#pragma once

#include <string>
#include <vector>

#include "sextant/probe/subject.h"

namespace sextant {

// One requirement, the number it was judged by, and what that number is.
struct Requirement {
  const char* name = "";
  bool holds = false;
  double number = 0;
  std::string meaning;
};

struct RequirementReport {
  std::vector<Requirement> requirements;  // the four below, in this order
  std::string note;                       // what the numbers depend on, "" where on nothing
};

//   tells_apart  seen from the query at position offsets-1, the keys at 0 .. offsets-1 whose scores
//                differ from one another's by more than 1e-9 in some head, for one of 4 seeded
//                contents; holds if all do
//   any_length   the largest position every table exists at and is finite, at most 2^20; holds if
//                that is 2^20
//   bounded      the largest |score| over distances up to 1024 (or the last position) either way, 4
//                seeded contents and all heads, over |q| |k| / sqrt(head_dim), what content alone
//                can reach; holds up to 2
//   decays       Spearman's rank correlation of the offset with the score of equal unit vectors,
//                averaged over anchors, heads and 16 seeded contents; holds up to -0.5
// Throws as ProbeScores.
RequirementReport MeasureRequirements(const Scheme& scheme, const ProbeSettings& settings);

// The largest position up to 2^20 that every table of the scheme serves (biases and vectors: the
// distance, either way; contextual biases: a query or a key there, of `head_dim` channels), found
// by bisection on Error and on finite numbers; -1 if not even 0.
std::int64_t LargestPosition(const Subject& subject, Index head_dim);

// Spearman's rank correlation of 0, 1, 2 ... with values; values that differ by less than 1e-12 of
// the largest magnitude share a rank, and where all do the correlation is 0.
double RankCorrelation(std::span<const double> values);

}  // namespace sextant
