// Axes: scales, ranges, places and ticks, shared by the pictures in SVG and on a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::plot {

enum class Scale { kLinear, kLog2, kLog10 };

struct Axis {
  std::string title = {};
  std::string unit = {};  // shown as "title (unit)"
  Scale scale = Scale::kLinear;
  std::optional<double> from = {};  // the data's least value where not given
  std::optional<double> to = {};
};

// "title (unit)", or what there is of it.
std::string AxisTitle(const Axis& axis);

struct Range {
  double low = 0;
  double high = 1;
};

// Whether a scale has a place for `value`: finite, within 1e100 of 0, and above 0 on a log scale.
bool HasPlace(Scale scale, double value);

// The range to show: `axis.from` and `axis.to` where given, else that of the `values` that have a
// place, widened on both sides by `padding` of its length. Never empty: a single value gets some
// room around it, no value gives 0..1 (1..10 on a log scale). Throws Error starting with `where`
// where from and to have no place or from is not below to.
Range ShownRange(const Axis& axis, std::span<const double> values, double padding,
                 std::string_view where);

// Maps a range of values to places between `start` (range.low) and `end` (range.high).
class AxisMap {
 public:
  AxisMap(Scale scale, Range range, double start, double end);

  // The place of a value that has one. Values beyond the range lie beyond start and end, at most
  // 20 lengths away.
  double operator()(double value) const;
  bool InRange(double value) const;

  Scale scale() const { return scale_; }
  const Range& range() const { return range_; }

 private:
  Scale scale_;
  Range range_;
  double start_;
  double end_;
};

struct Tick {
  double value = 0;
  std::string label = {};
};

// About `wanted` ticks inside the range: multiples of 1, 2 or 5 times a power of 10 on a linear
// scale, powers of the base on a log scale with round numbers between them where those are few.
std::vector<Tick> Ticks(Scale scale, Range range, int wanted);

// At most about `most` ticks, fewer where labels of `text_size` written along the axis from left to
// right would touch.
std::vector<Tick> FittingTicks(const AxisMap& map, int most, double text_size);

// A number for people: whole numbers below 1e9 in full, others with `digits` significant digits:
// 65536, 3.142, 1.5e-07.
std::string NumberText(double value, int digits = 4);

}  // namespace sextant::plot
