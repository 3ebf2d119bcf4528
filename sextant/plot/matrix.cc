// Block means, extremes and the ticks of cells.
#include "sextant/plot/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

Index CeilDivide(Index a, Index b) { return (a + b - 1) / b; }

double BlockMean(View<const double, 2> values, Index top, Index bottom, Index left, Index right) {
  double sum = 0;
  Index count = 0;
  for (Index row = top; row < bottom; ++row) {
    for (Index column = left; column < right; ++column) {
      const double value = values(row, column);
      if (!std::isfinite(value)) continue;
      sum += value;
      ++count;
    }
  }
  return sum / static_cast<double>(count);
}

void CheckAxis(const CellAxis& axis, const char* which, Index cells) {
  if (!axis.names.empty() && std::ssize(axis.names) != cells) {
    throw Error("heat map", fmt::format("{} must have one name for each of {}, got {}", which,
                                        cells, axis.names.size()));
  }
  if (!std::isfinite(axis.first) || !std::isfinite(axis.step) || axis.step == 0) {
    throw Error("heat map", fmt::format("{} need a finite first and a step that is not 0, got {} "
                                        "and {}",
                                        which, axis.first, axis.step));
  }
}

std::vector<Tick> NameTicks(const CellAxis& axis, Index cells, int wanted) {
  const Index stride = std::max<Index>(1, CeilDivide(cells, std::max(1, wanted)));
  std::vector<Tick> ticks;
  for (Index cell = 0; cell < cells; cell += stride) {
    ticks.push_back({static_cast<double>(cell), axis.names[static_cast<std::size_t>(cell)]});
  }
  return ticks;
}

}  // namespace

ReducedMatrix Reduce(View<const double, 2> values, Index most_rows, Index most_columns) {
  const Index rows = values.extent(0), columns = values.extent(1);
  ReducedMatrix reduced;
  reduced.block_rows = std::max<Index>(1, CeilDivide(rows, most_rows));
  reduced.block_columns = std::max<Index>(1, CeilDivide(columns, most_columns));
  reduced.values = Array<double, 2>(
      {CeilDivide(rows, reduced.block_rows), CeilDivide(columns, reduced.block_columns)});
  for (Index row = 0; row < reduced.values.extent(0); ++row) {
    const Index top = row * reduced.block_rows;
    for (Index column = 0; column < reduced.values.extent(1); ++column) {
      const Index left = column * reduced.block_columns;
      reduced.values(row, column) =
          BlockMean(values, top, std::min(rows, top + reduced.block_rows), left,
                    std::min(columns, left + reduced.block_columns));
    }
  }
  return reduced;
}

std::string ReductionNote(const ReducedMatrix& matrix) {
  if (matrix.block_rows == 1 && matrix.block_columns == 1) return "";
  return fmt::format("each cell is the mean of {} x {} values", matrix.block_rows,
                     matrix.block_columns);
}

MatrixFacts FactsOf(View<const double, 2> values) {
  MatrixFacts facts;
  for (Index row = 0; row < values.extent(0); ++row) {
    for (Index column = 0; column < values.extent(1); ++column) {
      const double value = values(row, column);
      if (!std::isfinite(value)) {
        ++facts.missing;
        continue;
      }
      const Extreme here{value, row, column};
      if (facts.finite == 0) facts.least = facts.most = here;
      if (value < facts.least.value) facts.least = here;
      if (value > facts.most.value) facts.most = here;
      ++facts.finite;
    }
  }
  return facts;
}

Range ColorRange(const Heatmap& map, const MatrixFacts& facts) {
  constexpr double kLargest = 1e300;
  Range range{map.from.value_or(facts.least.value), map.to.value_or(facts.most.value)};
  range.low = std::clamp(range.low, -kLargest, kLargest);
  range.high = std::clamp(range.high, -kLargest, kLargest);
  if (map.colors == ColorMap::kDiverging) {
    const double limit = std::max(std::abs(range.low), std::abs(range.high));
    return limit == 0 ? Range{-1, 1} : Range{-limit, limit};
  }
  if (range.low < range.high) return range;
  const double room = std::max(0.5 * std::abs(range.low), range.low == 0 ? 0.5 : 0);
  if (map.from) return {range.low, range.low + room};
  if (map.to) return {range.high - room, range.high};
  return {range.low - room, range.low + room};
}

void CheckHeatmap(const Heatmap& map) {
  if (map.title.empty()) {
    throw Error("heat map", "title must not be empty", "it names the figure for screen readers");
  }
  CheckAxis(map.rows, "rows", map.values.extent(0));
  CheckAxis(map.columns, "columns", map.values.extent(1));
  for (const std::optional<double>& end : {map.from, map.to}) {
    if (end && !std::isfinite(*end)) {
      throw Error("heat map", fmt::format("from and to must be finite, got {}", *end));
    }
  }
  if (map.from && map.to && *map.from >= *map.to) {
    throw Error("heat map",
                fmt::format("from must be below to, got {} and {}", *map.from, *map.to));
  }
}

std::string CellLabel(const CellAxis& axis, Index cell) {
  if (!axis.names.empty()) return axis.names[static_cast<std::size_t>(cell)];
  return NumberText(axis.first + axis.step * static_cast<double>(cell));
}

std::vector<Tick> CellTicks(const CellAxis& axis, Index cells, int wanted) {
  if (cells == 0) return {};
  if (!axis.names.empty()) return NameTicks(axis, cells, wanted);
  const double last = axis.first + axis.step * static_cast<double>(cells - 1);
  if (cells == 1 || !std::isfinite(last)) return {{0, NumberText(axis.first)}};
  constexpr Index kFew = 60;
  constexpr double kOnCell = 1e-6;
  std::vector<Tick> ticks =
      Ticks(Scale::kLinear, {std::min(axis.first, last), std::max(axis.first, last)}, wanted);
  for (Tick& tick : ticks) {
    tick.value = (tick.value - axis.first) / axis.step;
    const double cell = std::round(tick.value);
    if (std::abs(tick.value - cell) <= kOnCell) {
      tick.label = CellLabel(axis, static_cast<Index>(cell));
    }
  }
  // Between cells that can be told apart a label would be wrong.
  std::erase_if(ticks, [&](const Tick& tick) {
    return cells <= kFew && std::abs(tick.value - std::round(tick.value)) > kOnCell;
  });
  if (axis.step < 0) std::ranges::reverse(ticks);
  if (ticks.empty()) ticks = {{0, CellLabel(axis, 0)}};
  return ticks;
}

}  // namespace sextant::plot
