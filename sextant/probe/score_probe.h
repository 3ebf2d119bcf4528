// The probe: the score of one query and one key by offset, from several anchors, and what it shows.
#pragma once

#include <vector>

#include "sextant/probe/subject.h"

namespace sextant {

// What a scheme does to the score of the same two vectors.
//   scores(h, a, o) = scaled score of the query at anchors[a] and the key at anchors[a] + o
// A scheme is relative where anchor_spread is at rounding level: at most 1e-12 of the larger of
// range and the largest |score|.
struct ScoreProbe {
  Array<double, 3> scores;   // [heads, anchors, offsets]
  double range = 0;          // largest - smallest score of a head, of the head where it is most
  double anchor_spread = 0;  // largest difference between anchors at one offset and head
  double norm_ratio = 1;     // |q encoded| / |q| at the anchor where it is farthest from 1
  bool relative = false;
};

// Measures with SeededQuery and SeededKey of index 0. Additive rows are added to both vectors as if
// projections were the identity. In double; for none range and spread are exactly 0 and the ratio
// exactly 1. Throws Error for settings out of range, widths that do not fit head_dim, and a scheme
// whose positions end before the last anchor + offsets - 1.
ScoreProbe ProbeScores(const Scheme& scheme, const ProbeSettings& settings);

// One of the four terms of (x + p_i) . (y + p_j), scaled, by anchor and offset.
struct TermProbe {
  const char* name = "";     // "content_position": the query's content with the key's position
  Array<double, 2> scores;   // [anchors, offsets], head 0
  double anchor_spread = 0;  // largest difference between anchors at one offset
  bool relative = false;     // as in ScoreProbe
};

// The four terms of a scheme that adds rows and turns nothing; empty for every other scheme. Biases
// and vectors are no part of them. Throws as ProbeScores.
std::vector<TermProbe> ProbeTerms(const Scheme& scheme, const ProbeSettings& settings);

}  // namespace sextant
