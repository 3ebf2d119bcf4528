// Paths of lines and bands, and the shapes of markers.
#include "sextant/plot/marks.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace sextant::plot {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

// Writes the first, lowest, highest and last of `points`, in their order, and empties it.
void WriteExtremes(PathData& path, std::vector<Point>& points, bool& starts) {
  const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
  const auto [least, most] = std::ranges::minmax_element(points, by_y);
  for (auto point = points.begin(); point != points.end(); ++point) {
    const bool end = point == points.begin() || point + 1 == points.end();
    if (!end && point != least && point != most) continue;
    starts ? path.MoveTo(point->x, point->y) : path.LineTo(point->x, point->y);
    starts = false;
  }
  points.clear();
}

// Fewest units between two markers of a long series.
constexpr double kMarkerGap = 70;
constexpr std::size_t kShortSeries = 24;

bool Drawn(const Series& series, std::size_t i, const AxisMap& x, const AxisMap& y) {
  return i < series.y.size() && HasPlace(x.scale(), series.x[i]) &&
         HasPlace(y.scale(), series.y[i]);
}

std::optional<double> LowOf(const Series& series, std::size_t i, const AxisMap& y) {
  const double low = series.low[i];
  if (HasPlace(y.scale(), low)) return y(low);
  if (y.scale() != Scale::kLinear && low <= 0) return y(y.range().low);
  return std::nullopt;
}

PathData StarPath(double x, double y) {
  PathData path;
  for (int i = 0; i < 10; ++i) {
    const double radius = i % 2 == 0 ? 6.5 : 2.6;
    const double angle = std::numbers::pi * (i / 5. - 0.5);
    const double px = x + radius * std::cos(angle), py = y + radius * std::sin(angle);
    i == 0 ? path.MoveTo(px, py) : path.LineTo(px, py);
  }
  path.Close();
  return path;
}

PathData Polygon(double x, double y, std::initializer_list<Point> corners) {
  PathData path;
  for (const Point& corner : corners) {
    path.empty() ? path.MoveTo(x + corner.x, y + corner.y)
                 : path.LineTo(x + corner.x, y + corner.y);
  }
  path.Close();
  return path;
}

PathData MarkerPath(MarkerShape shape, double x, double y) {
  PathData path;
  switch (shape) {
    case MarkerShape::kSquare:
      return Polygon(x, y, {{-4, -4}, {4, -4}, {4, 4}, {-4, 4}});
    case MarkerShape::kTriangle:
      return Polygon(x, y, {{0, -5.5}, {5, 4}, {-5, 4}});
    case MarkerShape::kWedge:
      return Polygon(x, y, {{0, 5.5}, {5, -4}, {-5, -4}});
    case MarkerShape::kDiamond:
      return Polygon(x, y, {{0, -6}, {5, 0}, {0, 6}, {-5, 0}});
    case MarkerShape::kStar:
      return StarPath(x, y);
    case MarkerShape::kCross:
      path.MoveTo(x - 4, y - 4);
      path.LineTo(x + 4, y + 4);
      path.MoveTo(x - 4, y + 4);
      path.LineTo(x + 4, y - 4);
      return path;
    case MarkerShape::kPlus:
      path.MoveTo(x - 5, y);
      path.LineTo(x + 5, y);
      path.MoveTo(x, y - 5);
      path.LineTo(x, y + 5);
      return path;
    case MarkerShape::kCircle:
      break;
  }
  return path;
}

bool IsStroke(MarkerShape shape) {
  return shape == MarkerShape::kCross || shape == MarkerShape::kPlus;
}

}  // namespace

PathData LinePath(const Series& series, const AxisMap& x, const AxisMap& y) {
  PathData path;
  std::vector<Point> unit;
  bool starts = true;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!Drawn(series, i, x, y)) {
      WriteExtremes(path, unit, starts);
      starts = true;
      continue;
    }
    const Point point{x(series.x[i]), y(series.y[i])};
    const bool same_unit = !unit.empty() && std::floor(unit.front().x) == std::floor(point.x);
    if (!same_unit) WriteExtremes(path, unit, starts);
    unit.push_back(point);
  }
  WriteExtremes(path, unit, starts);
  return path;
}

PathData BandPath(const Series& series, const AxisMap& x, const AxisMap& y) {
  PathData path;
  std::vector<Point> above, below;
  const auto flush = [&] {
    for (std::size_t i = 0; i < above.size(); ++i) {
      i == 0 ? path.MoveTo(above[i].x, above[i].y) : path.LineTo(above[i].x, above[i].y);
    }
    for (std::size_t i = below.size(); i-- > 0;) path.LineTo(below[i].x, below[i].y);
    if (!above.empty()) path.Close();
    above.clear();
    below.clear();
  };
  for (std::size_t i = 0; i < series.low.size(); ++i) {
    const std::optional<double> low = LowOf(series, i, y);
    if (!low || !HasPlace(y.scale(), series.high[i]) || !HasPlace(x.scale(), series.x[i])) {
      flush();
      continue;
    }
    const double place = x(series.x[i]), high = y(series.high[i]);
    if (!above.empty() && std::floor(above.back().x) == std::floor(place)) {
      above.back().y = std::min(above.back().y, high);
      below.back().y = std::max(below.back().y, *low);
    } else {
      above.push_back({place, high});
      below.push_back({place, *low});
    }
  }
  flush();
  return path;
}

void DrawMarker(Svg& svg, Marker marker, double x, double y) {
  const bool hollow = marker.fill == MarkerFill::kHollow;
  const std::string_view css_class = hollow ? "sx-hollow" : "sx-full";
  const std::string_view fill = IsStroke(marker.shape) ? "none" : hollow ? "#fff" : "currentColor";
  const double width = IsStroke(marker.shape) ? 2.4 : hollow ? 1.8 : 0;
  if (marker.shape == MarkerShape::kCircle) {
    svg.Empty("circle", {{"class", css_class},
                         {"cx", x},
                         {"cy", y},
                         {"r", 4.4},
                         {"fill", fill},
                         {"stroke", "currentColor"},
                         {"stroke-width", width}});
    return;
  }
  svg.Empty("path", {{"class", css_class},
                     {"d", MarkerPath(marker.shape, x, y).text()},
                     {"fill", fill},
                     {"stroke", "currentColor"},
                     {"stroke-width", width}});
}

void DrawMarkers(Svg& svg, const Series& series, std::size_t at, std::size_t count,
                 const AxisMap& x, const AxisMap& y) {
  const bool all = series.markers == Markers::kAll ||
                   (series.markers == Markers::kSome && series.y.size() <= kShortSeries);
  const bool some = series.markers == Markers::kSome;
  // Series start at different places, so that markers of close lines do not cover one another.
  const double share =
      (static_cast<double>(at) + 0.5) / static_cast<double>(std::max(count, at + 1));
  double next = x(x.range().low) + kMarkerGap * share;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!Drawn(series, i, x, y)) continue;
    if (!x.InRange(series.x[i]) || !y.InRange(series.y[i])) continue;
    const bool alone = !(i > 0 && Drawn(series, i - 1, x, y)) && !Drawn(series, i + 1, x, y);
    const double place = x(series.x[i]);
    const bool due = some && place >= next;
    if (!all && !due && !alone) continue;
    DrawMarker(svg, SeriesMarker(at), place, y(series.y[i]));
    while (next <= place) next += kMarkerGap;
  }
}

}  // namespace sextant::plot
