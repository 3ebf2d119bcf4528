// Sources and coordinates of each axis layout.
#include "sextant/schemes/rotary/axes.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "sextant/core/error.h"
#include "sextant/schemes/positions.h"

namespace sextant {
namespace {

using Sections = std::vector<double>;

// Pairs of each axis as given, or in the proportions of the model that brought the layout: two axes
// have equal parts, time takes what is left.
Sections Resolved(const SectionAxes& layout, Index pairs) {
  if (!layout.sections.empty()) return layout.sections;
  const double part = double(3 * pairs / 8);
  return {double(pairs) - 2 * part, part, part};
}
// (5 pairs + 1) / 16 is at most pairs / 3 for any number of pairs, as the pattern needs.
Sections Resolved(const InterleavedAxes& layout, Index pairs) {
  if (!layout.sections.empty()) return layout.sections;
  const double part = double((5 * pairs + 1) / 16);
  return {double(pairs) - 2 * part, part, part};
}
Sections Resolved(const ErnieAxes& layout, Index pairs) {
  if (!layout.sections.empty()) return layout.sections;
  const double part = double(11 * pairs / 32);
  return {part, part, double(pairs) - 2 * part};
}

// Cut after eight numbers, so that what a file holds cannot flood a message.
std::string Text(Sections sections) {
  const std::size_t count = sections.size();
  if (count <= 8) return ToText(ParameterValue(sections));
  sections.resize(8);
  return ToText(ParameterValue(sections)) + " and " + std::to_string(count - 8) + " more";
}

Sections Scaled(Sections sections, double factor) {
  for (double& section : sections) section *= factor;
  return sections;
}

bool Whole(const Sections& sections) {
  for (double section : sections) {
    if (section != std::floor(section)) return false;
  }
  return true;
}

// What sections of a wrong sum were probably meant to be.
std::string SumHint(const Sections& sections, double sum, int rotated_dims) {
  const double pairs = rotated_dims / 2;
  if (sum == 2 * pairs && Whole(Scaled(sections, 0.5))) {
    return "sections count pairs, not channels: did you mean " + Text(Scaled(sections, 0.5)) + "?";
  }
  if (std::abs(sum - 1) < 1e-9 && Whole(Scaled(sections, pairs))) {
    return "sections count pairs, not shares of them: did you mean " +
           Text(Scaled(sections, pairs)) + "?";
  }
  if (Whole(sections) && sum >= 1 && sum <= 2048) {
    return "these sections fit rotated_dims=" + std::to_string(2 * static_cast<int>(sum));
  }
  return "released models of 64 pairs have [16,24,24] (sections), [24,20,20] (interleaved) or "
         "[22,22,20] (ernie)";
}

// What all layouts of sections ask for; `names` are the axes in the order of the list.
void CheckSections(std::string_view where, const Sections& sections, int rotated_dims,
                   const std::string& names) {
  const double sum = std::accumulate(sections.begin(), sections.end(), 0.0);
  if (sum != double(rotated_dims / 2) || !Whole(sections)) {
    throw Error(where,
                "axes.sections must be whole numbers that add up to the " +
                    std::to_string(rotated_dims / 2) + " pairs of rotated_dims=" +
                    std::to_string(rotated_dims) + " (" + names + "), got " + Text(sections),
                SumHint(sections, sum, rotated_dims));
  }
}

void CheckThree(std::string_view where, const Sections& sections, const std::string& names) {
  if (sections.size() == 3) return;
  throw Error(where, "axes.sections must name 3 axes (" + names + "), got " + Text(sections),
              sections.size() == 4 ? "four axes are laid out by axes=sections" : "");
}

void Check(std::string_view, const TextAxes&, int) {}

void Check(std::string_view where, const SectionAxes& layout, int rotated_dims) {
  const Sections sections = Resolved(layout, rotated_dims / 2);
  if (sections.size() != 3 && sections.size() != 4) {
    throw Error(where, "axes.sections must name 3 or 4 axes, got " + Text(sections),
                sections.size() == 2 ? "for rows and columns alone use axes=grid"
                                     : "for one axis use axes=text");
  }
  CheckSections(where, sections, rotated_dims,
                sections.size() == 3 ? "time, rows, columns" : "text, columns, rows, time");
}

void Check(std::string_view where, const InterleavedAxes& layout, int rotated_dims) {
  const Sections sections = Resolved(layout, rotated_dims / 2);
  CheckThree(where, sections, "time, rows, columns");
  CheckSections(where, sections, rotated_dims, "time, rows, columns");
  const int pairs = rotated_dims / 2;
  for (int axis : {1, 2}) {
    const int most = (pairs + 2 - axis) / 3;
    if (sections[std::size_t(axis)] <= most) continue;
    throw Error(where,
                "axes=interleaved has room for " + std::to_string(most) + " pairs of " +
                    (axis == 1 ? "rows" : "columns") + " among " + std::to_string(pairs) +
                    ", got axes.sections " + Text(sections),
                "contiguous bands like Qwen2-VL's [16,24,24] are axes=sections");
  }
}

void Check(std::string_view where, const ErnieAxes& layout, int rotated_dims) {
  const Sections sections = Resolved(layout, rotated_dims / 2);
  CheckThree(where, sections, "rows, columns, time");
  CheckSections(where, sections, rotated_dims, "rows, columns, time");
  if (sections[0] == sections[1]) return;
  throw Error(where,
              "axes=ernie alternates rows and columns, so their sections must be equal, got "
              "axes.sections " +
                  Text(sections),
              sections[1] == sections[2] ? "time stands last: did you mean " +
                                               Text({sections[1], sections[2], sections[0]}) + "?"
                                         : "the order is rows, columns, time, like [22,22,20]");
}

void Check(std::string_view where, const GridAxes& layout, int rotated_dims) {
  if (rotated_dims < 4) {
    throw Error(where,
                "axes=grid needs at least 4 rotated channels, a pair for rows and a pair for "
                "columns, got rotated_dims=" +
                    std::to_string(rotated_dims),
                "set rotated_dims to a multiple of 4");
  }
  if (layout.blocks == GridBlocks::kEachAxis && layout.spread == GridSpread::kAlternate) {
    throw Error(where,
                "axes.blocks=each_axis keeps each axis in a half of its own, got "
                "axes.spread=alternate, which mixes them",
                "use spread=bands (Gemma-4), or blocks=whole (Kimi)");
  }
}

std::vector<PairSource> Sources(const TextAxes&, Index pairs) {
  std::vector<PairSource> sources;
  for (Index i = 0; i < pairs; ++i) sources.push_back({0, i});
  return sources;
}

std::vector<PairSource> Sources(const SectionAxes& layout, Index pairs) {
  std::vector<PairSource> sources;
  const Sections sections = Resolved(layout, pairs);
  for (std::size_t axis = 0; axis < sections.size(); ++axis) {
    for (double k = 0; k < sections[axis]; ++k) {
      sources.push_back({Index(axis), Index(sources.size())});
    }
  }
  return sources;
}

std::vector<PairSource> Sources(const InterleavedAxes& layout, Index pairs) {
  std::vector<PairSource> sources;
  const Sections sections = Resolved(layout, pairs);
  for (Index i = 0; i < pairs; ++i) {
    const bool within = double(i) < 3 * sections[std::size_t(i % 3)];
    sources.push_back({within ? i % 3 : 0, i});
  }
  return sources;
}

std::vector<PairSource> Sources(const ErnieAxes& layout, Index pairs) {
  std::vector<PairSource> sources;
  const Sections sections = Resolved(layout, pairs);
  for (Index i = 0; i < pairs; ++i) {
    const bool spatial = double(i) < sections[0] + sections[1];
    sources.push_back({spatial ? 1 + i % 2 : 0, i});
  }
  return sources;
}

std::vector<PairSource> Sources(const GridAxes& layout, Index pairs) {
  std::vector<PairSource> sources;
  for (Index i = 0; i < pairs; ++i) {
    const bool bands = layout.spread == GridSpread::kBands;
    const Index side = bands ? i / (pairs / 2) : i % 2;
    const Index within = bands ? i % (pairs / 2) : i / 2;
    const bool split = layout.axis_frequencies == GridFrequencies::kSplit;
    sources.push_back({layout.order == GridOrder::kRowsFirst ? side : 1 - side,
                       split ? 2 * within + side : within});
  }
  return sources;
}

// The axes of positions that a layout names.
Index AxesOf(const TextAxes&) { return 1; }
Index AxesOf(const SectionAxes& layout) { return layout.sections.size() == 4 ? 4 : 3; }
Index AxesOf(const InterleavedAxes&) { return 3; }
Index AxesOf(const ErnieAxes&) { return 3; }

void CheckPositionAxes(std::string_view where, Index named, Index given) {
  if (given == 1 || given == named) return;
  throw Error(where,
              "axes.sections name " + std::to_string(named) + " axes, got positions of " +
                  std::to_string(given),
              given < named ? "give a row of positions for each axis, or one row for text"
                            : "leave out rows that are no axis, like the text row some programs "
                              "keep beside time, rows and columns");
}

template <class Layout>
Array<double, 2> Coordinates(std::string_view where, const Layout& layout,
                             const Positions& positions) {
  const Index axes = AxesOf(layout);
  if (axes > 1) CheckPositionAxes(where, axes, positions.axes());
  Array<double, 2> coordinates({axes, positions.count()});
  for (Index axis = 0; axis < axes; ++axis) {
    const Index from = positions.axes() == 1 ? 0 : axis;
    for (Index n = 0; n < positions.count(); ++n) {
      coordinates(axis, n) = double(positions.values(from, n));
    }
  }
  return coordinates;
}

double GridCoordinate(const GridAxes& layout, std::int64_t cell, int cells) {
  const double at = double(cell) + layout.offset;
  if (layout.coordinates == GridCoordinates::kCells) return at;
  return 2 * std::numbers::pi * (2 * (at + 0.5) / cells - 1);
}

Array<double, 2> Coordinates(std::string_view where, const GridAxes& layout,
                             const Positions& positions) {
  if (positions.axes() > 2) {
    throw Error(where,
                "axes=grid reads positions of 2 axes (row, column) or 1 (cells row by row), got " +
                    std::to_string(positions.axes()),
                "time, rows and columns are axes=sections, interleaved or ernie");
  }
  Array<double, 2> coordinates({2, positions.count()});
  for (Index n = 0; n < positions.count(); ++n) {
    const GridCell cell = CellOf(positions, n, layout.width);
    coordinates(0, n) = GridCoordinate(layout, cell.row, layout.height);
    coordinates(1, n) = GridCoordinate(layout, cell.column, layout.width);
  }
  return coordinates;
}

}  // namespace

void CheckAxes(std::string_view where, const AxisLayout& layout, int rotated_dims) {
  std::visit([&](const auto& chosen) { Check(where, chosen, rotated_dims); }, layout);
}

int TurnedDims(const AxisLayout& layout, int rotated_dims) {
  return std::holds_alternative<GridAxes>(layout) ? rotated_dims - rotated_dims % 4 : rotated_dims;
}

int FrequencyDims(const AxisLayout& layout, int rotated_dims) {
  const int turned = TurnedDims(layout, rotated_dims);
  const auto* grid = std::get_if<GridAxes>(&layout);
  const bool shared = grid != nullptr && grid->axis_frequencies == GridFrequencies::kShared;
  return shared ? turned / 2 : turned;
}

Index AxisBlocks(const AxisLayout& layout) {
  const auto* grid = std::get_if<GridAxes>(&layout);
  return grid != nullptr && grid->blocks == GridBlocks::kEachAxis ? 2 : 1;
}

std::vector<PairSource> PairSources(const AxisLayout& layout, int rotated_dims) {
  const Index pairs = TurnedDims(layout, rotated_dims) / 2;
  return std::visit([&](const auto& chosen) { return Sources(chosen, pairs); }, layout);
}

Array<double, 2> AxisCoordinates(std::string_view where, const AxisLayout& layout,
                                 const Positions& positions) {
  return std::visit([&](const auto& chosen) { return Coordinates(where, chosen, positions); },
                    layout);
}

bool RelativeInOneAxis(const AxisLayout& layout) {
  const auto* grid = std::get_if<GridAxes>(&layout);
  return grid == nullptr || grid->width == 1;
}

std::string AxisLetters(const AxisLayout& layout, int rotated_dims) {
  const auto* sections = std::get_if<SectionAxes>(&layout);
  std::string_view names = "THW";
  if (std::holds_alternative<GridAxes>(layout)) names = "HW";
  if (sections != nullptr && sections->sections.size() == 4) names = "PWHT";
  std::string letters;
  for (const PairSource& source : PairSources(layout, rotated_dims)) {
    letters += names[std::size_t(source.axis)];
  }
  return letters;
}

}  // namespace sextant
