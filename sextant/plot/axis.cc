// Nice ticks after Heckbert 1990, "Nice numbers for graph labels", and their log forms.
#include "sextant/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sextant/core/error.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

constexpr double kLargest = 1e100;

double Exponent(Scale scale, double value) {
  switch (scale) {
    case Scale::kLog2:
      return std::log2(value);
    case Scale::kLog10:
      return std::log10(value);
    case Scale::kLinear:
      break;
  }
  return value;
}

double FromExponent(Scale scale, double exponent) {
  switch (scale) {
    case Scale::kLog2:
      return std::exp2(exponent);
    case Scale::kLog10:
      return std::pow(10, exponent);
    case Scale::kLinear:
      break;
  }
  return exponent;
}

// The nearest to `wanted`, by ratio, of 1, 2, 5 times a power of 10.
double NiceStep(double wanted) {
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  const double part = wanted / power;
  const double multiple = part < std::sqrt(2)    ? 1
                          : part < std::sqrt(10) ? 2
                          : part < std::sqrt(50) ? 5
                                                 : 10;
  return multiple * power;
}

std::string Superscript(int number) {
  constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (char c : std::to_string(number)) text += c == '-' ? "⁻" : kDigits[c - '0'];
  return text;
}

std::string StepLabel(double value, double step, double largest) {
  struct Unit {
    double size;
    const char* suffix;
  };
  constexpr Unit kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  if (value == 0) return "0";
  if (largest >= 1e13 || largest < 1e-4) return NumberText(value, 3);
  double size = 1;
  const char* suffix = "";
  for (const Unit& unit : kUnits) {
    const bool many_digits = largest >= 1e5 && largest >= unit.size;
    if (many_digits && size == 1) std::tie(size, suffix) = std::pair(unit.size, unit.suffix);
  }
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step / size) + 1e-9)));
  return fmt::format("{:.{}f}{}", value / size, std::min(decimals, 9), suffix);
}

std::vector<Tick> LinearTicks(Range range, int wanted) {
  const double step = NiceStep((range.high - range.low) / std::max(1, wanted));
  const double slack = step * 1e-6;
  const double first = std::ceil((range.low - slack) / step);
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  std::vector<Tick> ticks;
  for (int i = 0; i <= 2 * wanted + 2; ++i) {
    const double value = (first + i) * step;
    if (value > range.high + slack) break;
    ticks.push_back({value, StepLabel(value, step, largest)});
  }
  return ticks;
}

std::string PowerLabel(Scale scale, int exponent) {
  if (scale == Scale::kLog2) {
    if (exponent >= 0 && exponent <= 16) return fmt::format("{}", 1 << exponent);
    return "2" + Superscript(exponent);
  }
  if (exponent >= -3 && exponent <= 4) return fmt::format("{:g}", std::pow(10, exponent));
  return "10" + Superscript(exponent);
}

std::vector<Tick> PowerTicks(Scale scale, Range range, int wanted) {
  const int first = static_cast<int>(std::ceil(Exponent(scale, range.low) - 1e-9));
  const int last = static_cast<int>(std::floor(Exponent(scale, range.high) + 1e-9));
  const int step = std::max(1, (last - first + wanted) / std::max(1, wanted));
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; exponent += step) {
    ticks.push_back({FromExponent(scale, exponent), PowerLabel(scale, exponent)});
  }
  return ticks;
}

// 1, 2 and 5 times the powers of 10.
std::vector<Tick> DecadeTicks(Range range) {
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::floor(std::log10(range.high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    for (double multiple : {1., 2., 5.}) {
      const double value = multiple * std::pow(10, exponent);
      if (value < range.low * (1 - 1e-9) || value > range.high * (1 + 1e-9)) continue;
      ticks.push_back({value, NumberText(value)});
    }
  }
  return ticks;
}

Range Widened(Scale scale, Range range, double padding) {
  double low = Exponent(scale, range.low), high = Exponent(scale, range.high);
  double room = padding * (high - low);
  const double tiny = 1e-9 * std::max(std::abs(low), std::abs(high));
  if (high - low <= tiny) {
    room = scale == Scale::kLinear ? std::max(std::abs(low) * 0.1, low == 0 ? 1 : 0.) : 1;
  }
  return {FromExponent(scale, low - room), FromExponent(scale, high + room)};
}

}  // namespace

std::string AxisTitle(const Axis& axis) {
  if (axis.unit.empty()) return axis.title;
  if (axis.title.empty()) return axis.unit;
  return axis.title + " (" + axis.unit + ")";
}

bool HasPlace(Scale scale, double value) {
  if (!(std::abs(value) <= kLargest)) return false;
  return scale == Scale::kLinear || value >= 1 / kLargest;
}

Range ShownRange(const Axis& axis, std::span<const double> values, double padding,
                 std::string_view where) {
  for (const std::optional<double>& end : {axis.from, axis.to}) {
    if (end && !HasPlace(axis.scale, *end)) {
      throw Error(where, fmt::format("from and to of an axis must be finite{}, got {}",
                                     axis.scale == Scale::kLinear ? "" : " and above 0", *end));
    }
  }
  bool any = false;
  Range data;
  for (double value : values) {
    if (!HasPlace(axis.scale, value)) continue;
    data = any ? Range{std::min(data.low, value), std::max(data.high, value)} : Range{value, value};
    any = true;
  }
  if (!any) data = axis.scale == Scale::kLinear ? Range{0, 1} : Range{1, 10};
  Range shown = any ? Widened(axis.scale, data, padding) : data;
  if (axis.from) shown.low = *axis.from;
  if (axis.to) shown.high = *axis.to;
  if (shown.low >= shown.high) {
    if (axis.from && axis.to) {
      throw Error(where, fmt::format("from of an axis must be below to, got {} and {}", *axis.from,
                                     *axis.to));
    }
    const double given = axis.from ? *axis.from : *axis.to;
    const Range around = Widened(axis.scale, {given, given}, 0);
    if (axis.from) shown.high = around.high;
    if (axis.to) shown.low = around.low;
  }
  return shown;
}

AxisMap::AxisMap(Scale scale, Range range, double start, double end)
    : scale_(scale), range_(range), start_(start), end_(end) {}

double AxisMap::operator()(double value) const {
  const double low = Exponent(scale_, range_.low), high = Exponent(scale_, range_.high);
  const double part = (Exponent(scale_, value) - low) / (high - low);
  return start_ + std::clamp(part, -20., 20.) * (end_ - start_);
}

bool AxisMap::InRange(double value) const {
  if (!HasPlace(scale_, value)) return false;
  const double part = ((*this)(value)-start_) / (end_ - start_);
  return part >= -1e-6 && part <= 1 + 1e-6;
}

std::vector<Tick> Ticks(Scale scale, Range range, int wanted) {
  if (scale == Scale::kLinear) return LinearTicks(range, wanted);
  std::vector<Tick> ticks = PowerTicks(scale, range, wanted);
  if (ticks.size() < 3 && scale == Scale::kLog10) ticks = DecadeTicks(range);
  if (ticks.size() < 3) ticks = LinearTicks(range, wanted);
  std::erase_if(ticks, [&](const Tick& tick) { return !HasPlace(scale, tick.value); });
  return ticks;
}

std::vector<Tick> FittingTicks(const AxisMap& map, int most, double text_size) {
  for (int wanted = most; wanted > 1; --wanted) {
    std::vector<Tick> ticks = Ticks(map.scale(), map.range(), wanted);
    double free_from = -1e9;
    bool fits = true;
    for (const Tick& tick : ticks) {
      const double half = TextWidth(tick.label, text_size) / 2;
      fits = fits && map(tick.value) - half >= free_from;
      free_from = map(tick.value) + half + text_size / 3;
    }
    if (fits) return ticks;
  }
  std::vector<Tick> ticks = Ticks(map.scale(), map.range(), 2);
  ticks.resize(std::min<std::size_t>(1, ticks.size()));
  return ticks;
}

std::string NumberText(double value, int digits) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  const bool whole = value == std::trunc(value) || size >= std::pow(10, digits);
  if (size < 1e9 && whole) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace sextant::plot
