// What every measurement starts from: a scheme with initial weights, seeded vectors, and one
// query's scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// How a scheme is measured. Learned weights have their initial values, drawn from `seed`.
struct ProbeSettings {
  Index head_dim = 64;                             // channels of the query and the key
  Index offsets = 32;                              // key position - anchor runs over 0 .. offsets-1
  std::vector<std::int64_t> anchors = {0, 8, 24};  // positions of the query
  std::uint64_t seed = 1;
};

// Throws Error unless head_dim is 1..4096, offsets 1..4096, and there are 1..64 anchors in 0..2^40.
void CheckSettings(const ProbeSettings& settings);

// The sizes a scheme is made with to be probed: model_dim = head_dim, so that additive rows are
// added to the query and the key themselves. `heads` is left to the scheme.
ModelShape ProbeShape(Index head_dim);

// A scheme ready to be measured; it must outlive this.
struct Subject {
  const Scheme& scheme;
  std::vector<std::vector<double>> weights;  // at their initial values
  Index heads = 1;                           // what its bias or its vectors are made for, else 1
};

// Draws the weights from `seed`. Throws Error where they hold more than 2^27 numbers.
Subject MakeSubject(const Scheme& scheme, std::uint64_t seed);

// N(0, 1) numbers: the query and the key of content `index` (0 is the one whose scores are shown).
// Equal for every scheme; every seed and index has streams of its own.
std::vector<double> SeededQuery(Index head_dim, std::uint64_t seed, std::uint64_t index = 0);
std::vector<double> SeededKey(Index head_dim, std::uint64_t seed, std::uint64_t index = 0);

// Scaled scores [heads, keys] by ReferenceAttention, without a mask, of `query` at one position
// against the same `key` at each key position. Every head gets the same two vectors. `length` is
// that of the sequence, for rules that read it. Throws Error where the scheme has no row for a
// position or is made for other widths.
Array<double, 2> ScoresFrom(const Subject& subject, std::span<const double> query,
                            std::int64_t query_position, std::span<const double> key,
                            std::span<const std::int64_t> key_positions, std::int64_t length);

// One vector as [heads, count, head_dim].
Array<double, 3> RepeatVector(std::span<const double> vector, Index heads, Index count);

// first, first + 1, ... (count of them)
std::vector<std::int64_t> Consecutive(std::int64_t first, Index count);

}  // namespace sextant
