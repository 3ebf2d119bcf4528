// Line charts: what is drawn, what is said, and what is refused.
#include "sextant/plot/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sextant/core/error.h"
#include "sextant/plot/marks.h"

namespace sextant::plot {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t Count(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Chart TwoSeries() {
  Chart chart{.title = "Loss by length",
              .x = {.title = "length", .unit = "tokens", .scale = Scale::kLog2},
              .y = {.title = "loss", .unit = "nats"}};
  chart.series.push_back({"rope", {64, 128, 256}, {2.5, 2.25, 3}});
  chart.series.push_back({"a<b>&", {64, 128, 256}, {2, 2, 2}, {1.9, 1.8, 1.7}, {2.1, 2.2, 2.3}});
  return chart;
}

TEST(Chart, IsAnImageWithNameAndDescription) {
  const std::string svg = RenderSvg(TwoSeries());
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_NE(svg.find("role=\"img\""), svg.npos);
  EXPECT_NE(svg.find(">Loss by length</title>"), svg.npos);
  EXPECT_NE(svg.find("<desc id="), svg.npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), svg.npos);
  EXPECT_EQ(Count(svg, "width=\"100%\""), 1u);
}

TEST(Chart, DescribesItsData) {
  EXPECT_EQ(Describe(TwoSeries()),
            "Line chart of loss (nats) against length (tokens) (log 2 scale), 2 series. rope: from "
            "2.5 at 64 to 3 at 256, lowest 2.25 at 128. a<b>&: from 2 at 64 to 2 at 256.");
}

TEST(Chart, InPageHasNoStyleOfItsOwn) {
  const std::string svg = RenderSvg(TwoSeries(), Embedding::kInPage);
  EXPECT_EQ(svg.find("<style"), svg.npos);
  EXPECT_EQ(svg.find("sx-paper"), svg.npos);
  EXPECT_EQ(svg.find("style="), svg.npos) << "a strict policy forbids style attributes";
}

TEST(Chart, EscapesNames) {
  const std::string svg = RenderSvg(TwoSeries());
  EXPECT_EQ(svg.find("a<b>"), svg.npos);
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;"), svg.npos);
}

TEST(Chart, DrawsBandsAndGuides) {
  Chart chart = TwoSeries();
  EXPECT_EQ(Count(RenderSvg(chart), "class=\"sx-band\""), 1u);
  chart.guides.push_back({128, "trained length"});
  const std::string svg = RenderSvg(chart);
  EXPECT_NE(svg.find(">trained length</text>"), svg.npos);
  EXPECT_NE(Describe(chart).find("Line at 128: trained length."), std::string::npos);
}

TEST(Chart, GapsBreakTheLine) {
  const AxisMap x(Scale::kLinear, {0, 4}, 0, 400), y(Scale::kLinear, {0, 1}, 100, 0);
  const Series series{"s", {0, 1, 2, 3, 4}, {0, 1, kNan, 1, 0}};
  EXPECT_EQ(LinePath(series, x, y).text(), "M0 100L100 0M300 0L400 100");
  const AxisMap log_y(Scale::kLog10, {1, 10}, 100, 0);
  EXPECT_EQ(LinePath({"s", {0, 1, 2}, {1, 0, 10}}, x, log_y).text(), "M0 100M200 0");
}

TEST(Chart, AlonePointsGetAMarker) {
  const AxisMap x(Scale::kLinear, {0, 4}, 0, 400), y(Scale::kLinear, {0, 1}, 100, 0);
  Series series{"s", {0, 1, 2, 3, 4}, {0, 1, kNan, 1, kNan}};
  series.markers = Markers::kNone;
  Svg svg;
  DrawMarkers(svg, series, 0, 1, x, y);
  EXPECT_EQ(Count(svg.Take(), "<circle"), 1u);
}

TEST(Chart, LongSeriesAreThinnedKeepingExtremes) {
  Series series{"s", {}, {}};
  for (int i = 0; i < 100000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 54321 ? 9 : std::sin(i * 0.37));
  }
  const AxisMap x(Scale::kLinear, {0, 1e5}, 0, 400), y(Scale::kLinear, {0, 9}, 100, 0);
  const std::string path = LinePath(series, x, y).text();
  EXPECT_LT(path.size(), 25000u);
  EXPECT_NE(path.find("L217.3 0L"), path.npos) << "the peak stays";
}

TEST(Chart, NoDataIsSaid) {
  const Chart empty{.title = "t"};
  EXPECT_NE(RenderSvg(empty).find("no data"), std::string::npos);
  Chart gaps = empty;
  gaps.series.push_back({"s", {1, 2}, {kNan, INFINITY}});
  EXPECT_NE(RenderSvg(gaps).find("no data"), std::string::npos);
  EXPECT_NE(Describe(gaps).find("s: no points."), std::string::npos);
}

TEST(Chart, HoldsManySeriesAndOddNumbers) {
  Chart chart{.title = "many", .x = {.scale = Scale::kLog10}, .y = {.scale = Scale::kLog2}};
  for (int i = 0; i < 40; ++i) {
    chart.series.push_back({"series with a rather long name " + std::to_string(i),
                            {-1, 0, 1e-99, 1, 1e99, 1e300},
                            {1, kNan, 2, 1e-300, 1e30, 3},
                            {0, 1, -1, 2, 3, 4},
                            {1, INFINITY, 2, 3, 4, 5}});
  }
  const std::string svg = RenderSvg(chart);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
}

TEST(Chart, RefusesMisuse) {
  Chart chart = TwoSeries();
  chart.title.clear();
  EXPECT_THROW(RenderSvg(chart), Error);
  chart = TwoSeries();
  chart.series[0].y.pop_back();
  EXPECT_THROW(RenderSvg(chart), Error);
  chart = TwoSeries();
  chart.series[1].low.clear();
  EXPECT_THROW(RenderSvg(chart), Error);
  chart = TwoSeries();
  chart.y.from = 3;
  chart.y.to = 2;
  EXPECT_THROW(RenderSvg(chart), Error);
}

}  // namespace
}  // namespace sextant::plot
