// Finding the mistake that explains a port's numbers.
#include "sextant/vectors/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sextant/core/error.h"
#include "sextant/core/half.h"
#include "sextant/vectors/mistakes.h"

namespace sextant {
namespace {

constexpr double kExact = 1e-12, kFloat32 = 2e-6, kExplained = 1e-5, kCloser = 20;
constexpr double kHiddenScore = -1e4;  // what ports put where a query may not look
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Distance {
  double largest = 0;
  double relative = 0;
  std::size_t at = 0;
};

// A score that is hidden in the right array counts as right where the port hides it too.
Distance Between(const std::vector<double>& right, const std::vector<double>& port) {
  Distance distance;
  double scale = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    double difference = std::abs(port[i] - right[i]);
    if (std::isnan(right[i])) {
      difference = std::isnan(port[i]) || port[i] <= kHiddenScore ? 0 : kNever;
    } else {
      scale = std::max(scale, std::abs(right[i]));
      if (std::isnan(difference)) difference = kNever;
    }
    if (difference > distance.largest) {
      distance.largest = difference;
      distance.at = i;
    }
  }
  distance.relative = distance.largest / (scale > 0 ? scale : 1);
  if (distance.largest == 0) distance.relative = 0;
  return distance;
}

std::string IndexText(const NamedArray& array, std::size_t at) {
  std::string text;
  for (std::size_t axis = array.shape.size(); axis-- > 0;) {
    const auto extent = std::size_t(array.shape[axis]);
    text = "[" + std::to_string(at % extent) + "]" + text;
    at /= extent;
  }
  return text;
}

// The format of fewest bits that holds every number of the port.
struct Format {
  const char* name;
  double rounding;  // largest relative error of one rounding
};
Format FormatOf(const std::vector<double>& values) {
  const auto held_by = [&](double (*round)(double)) {
    return std::all_of(values.begin(), values.end(), [&](double value) {
      return std::isnan(value) || std::isinf(value) || round(value) == value;
    });
  };
  if (held_by(RoundToBf16)) return {"bf16", 0x1p-9};
  if (held_by(RoundToF16)) return {"f16", 0x1p-12};
  if (held_by(RoundToF32)) return {"f32", 0x1p-25};
  return {"f64", 0x1p-54};
}

// Scores may differ by a constant a row: softmax does not see it.
bool DiffersByRowConstants(const NamedArray& right, const std::vector<double>& port,
                           double tolerance) {
  if (right.name != "scores") return false;
  const auto width = std::size_t(right.shape.back());
  std::vector<double> moved = port;
  for (std::size_t row = 0; row < port.size(); row += width) {
    double shift = 0;
    int seen = 0;
    for (std::size_t c = row; c < row + width; ++c) {
      if (std::isnan(right.values[c]) || std::isnan(port[c])) continue;
      shift += port[c] - right.values[c];
      ++seen;
    }
    if (seen == 0) continue;
    for (std::size_t c = row; c < row + width; ++c) {
      if (!std::isnan(right.values[c])) moved[c] -= shift / seen;
    }
  }
  return Between(right.values, moved).relative <= tolerance;
}

// The port's numbers over the right ones, where that is one number.
double ConstantFactor(const std::vector<double>& right, const std::vector<double>& port) {
  double cross = 0, square = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (std::isnan(right[i]) || std::isnan(port[i])) continue;
    cross += right[i] * port[i];
    square += right[i] * right[i];
  }
  return square > 0 ? cross / square : 1;
}

class Checker {
 public:
  Checker(const GoldenVectors& right, const Registry& registry) : right_(right) {
    for (const Mistake& mistake : MistakesOf(right, registry)) {
      try {
        made_.push_back({mistake.kind, mistake.explanation, mistake.make()});
      } catch (const Error&) {
        // This scheme cannot make that mistake.
      }
    }
  }

  Difference Check(const NamedArray& array, const NamedArray& port) const {
    const Distance distance = Between(array.values, port.values);
    const Format format = FormatOf(port.values);
    Difference found{array.name,
                     Verdict::kUnknown,
                     "",
                     "",
                     distance.largest,
                     distance.relative,
                     IndexText(array, distance.at)};
    const double rounding = std::max(4 * format.rounding, kFloat32);
    if (distance.relative <= kExact) {
      found.verdict = Verdict::kAgrees;
      found.explanation = "agrees";
    } else if (distance.relative <= rounding) {
      found.verdict = Verdict::kRounding;
      found.kind = "precision";
      found.explanation = fmt::format("agrees as far as {} numbers can", format.name);
    } else if (DiffersByRowConstants(array, port.values, rounding)) {
      found.verdict = Verdict::kHarmless;
      found.kind = "a constant a row";
      found.explanation = "each row differs by one number, which softmax does not see";
    } else {
      Explain(array, port, std::max(8 * format.rounding, kExplained), found);
    }
    return found;
  }

 private:
  struct Made {
    std::string kind, explanation;
    GoldenVectors vectors;
  };

  void Explain(const NamedArray& array, const NamedArray& port, double tolerance,
               Difference& found) const {
    double best = std::min(tolerance, found.relative / kCloser);
    const auto consider = [&](const std::vector<double>& wrong, const std::string& kind,
                              const std::string& explanation) {
      if (wrong.size() != port.values.size()) return;
      const double relative = Between(wrong, port.values).relative;
      if (relative > best || (relative == best && found.verdict == Verdict::kMistake)) return;
      best = relative;
      found.verdict = Verdict::kMistake;
      found.kind = kind;
      found.explanation = explanation;
    };
    for (const ArrayMistake& mistake : ArrayMistakes(right_)) {
      consider(mistake.make(array), mistake.kind, mistake.explanation);
    }
    for (const Made& made : made_) {
      const NamedArray* wrong = made.vectors.Find(array.name);
      if (wrong != nullptr) consider(wrong->values, made.kind, made.explanation);
    }
    if (found.verdict == Verdict::kMistake) return;
    const double factor = ConstantFactor(array.values, port.values);
    std::vector<double> scaled = array.values;
    for (double& value : scaled) value *= factor;
    consider(scaled, "missing factor",
             fmt::format("every number is {:.6g} times the right one", factor));
    if (found.verdict == Verdict::kMistake) return;
    if (found.relative < 0.05) {
      found.kind = "precision";
      found.explanation =
          "close but not equal: less precision somewhere inside, or a mistake of small effect";
    } else {
      found.kind = "unknown";
      found.explanation = "none of the known mistakes gives these numbers";
    }
  }

  const GoldenVectors& right_;
  std::vector<Made> made_;
};

}  // namespace

std::vector<Difference> CheckVectors(const GoldenVectors& right,
                                     const std::vector<NamedArray>& port,
                                     const Registry& registry) {
  const Checker checker(right, registry);
  std::vector<Difference> found;
  for (const NamedArray& given : port) {
    if (given.name.starts_with("inputs.") || given.name.starts_with("weights.")) continue;
    const NamedArray* array = right.Find(given.name);
    if (array == nullptr) continue;
    if (array->shape != given.shape) {
      throw UnreadableInput(
          given.name, fmt::format("must have the shape [{}], got [{}]",
                                  fmt::join(array->shape, ", "), fmt::join(given.shape, ", ")));
    }
    found.push_back(checker.Check(*array, given));
  }
  return found;
}

}  // namespace sextant
