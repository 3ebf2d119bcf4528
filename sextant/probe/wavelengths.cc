// Frequencies from the angle at position 1.
#include "sextant/probe/wavelengths.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "sextant/core/error.h"
#include "sextant/probe/subject.h"

namespace sextant {
namespace {

constexpr double kTolerance = 1e-9;

TurningPair PairOf(double frequency) {
  return {frequency, frequency == 0 ? std::numeric_limits<double>::infinity()
                                    : 2 * std::numbers::pi / std::abs(frequency)};
}

std::vector<TurningPair> OfRotary(const Subject& subject) {
  const PositionList one = PositionList::Range(1, 1);
  const Index pairs = subject.scheme.rotary_shape().rotated_dims / 2;
  Array<double, 2> cos({1, pairs}), sin({1, pairs});
  subject.scheme.FillRotary(subject.weights, one, Side::kQuery, cos, sin);
  std::vector<TurningPair> turning;
  for (Index i = 0; i < pairs; ++i) turning.push_back(PairOf(std::atan2(sin(0, i), cos(0, i))));
  return turning;
}

// The frequency of channels (sine, cosine) of rows at positions 0, 1, 2, 3, if they are that.
std::optional<double> FrequencyOf(View<const double, 2> rows, Index sine, Index cosine) {
  const double frequency = std::atan2(rows(1, sine), rows(1, cosine));
  for (Index p = 0; p < rows.extent(0); ++p) {
    const double angle = double(p) * frequency;
    if (!(std::abs(rows(p, sine) - std::sin(angle)) <= kTolerance &&
          std::abs(rows(p, cosine) - std::cos(angle)) <= kTolerance)) {
      return std::nullopt;
    }
  }
  return frequency;
}

std::vector<TurningPair> OfRows(View<const double, 2> rows, Index sine_step, Index cosine_from) {
  std::vector<TurningPair> turning;
  for (Index i = 0; i < rows.extent(1) / 2; ++i) {
    const Index sine = i * sine_step;
    const auto frequency = FrequencyOf(rows, sine, sine + cosine_from);
    if (!frequency) return {};
    turning.push_back(PairOf(*frequency));
  }
  return turning;
}

std::vector<TurningPair> OfAdditive(const Subject& subject) {
  const Index width = subject.scheme.model_dim();
  if (width % 2 != 0) return {};
  Array<double, 2> rows({4, width});
  try {
    subject.scheme.FillAdditive(subject.weights, PositionList::Range(0, 4), rows);
  } catch (const Error&) {
    return {};  // a table that ends before position 3 is no sinusoid
  }
  const std::vector<TurningPair> interleaved = OfRows(rows, 2, 1);
  return interleaved.empty() ? OfRows(rows, 1, width / 2) : interleaved;
}

}  // namespace

std::vector<TurningPair> TurningPairs(const Scheme& scheme, std::uint64_t seed) {
  for (const SchemePtr& part : scheme.parts()) {
    std::vector<TurningPair> turning = TurningPairs(*part, seed);
    if (!turning.empty()) return turning;
  }
  if (!scheme.parts().empty()) return {};
  if (scheme.offers(Hook::kRotary)) return OfRotary(MakeSubject(scheme, seed));
  if (scheme.offers(Hook::kAdditive)) return OfAdditive(MakeSubject(scheme, seed));
  return {};
}

}  // namespace sextant
