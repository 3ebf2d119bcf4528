// Markup of figures, tables and facts.
#include "lab/report/page_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "lab/report/number_text.h"
#include "sextant/plot/marks.h"
#include "sextant/plot/palette.h"

namespace sextant::lab {
namespace {

// The value of a series at x, empty where it has none.
std::string ValueAt(const plot::Series& series, double x) {
  for (std::size_t at = 0; at < series.x.size(); ++at) {
    if (series.x[at] != x || !std::isfinite(series.y[at])) continue;
    const std::string value = FixedText(series.y[at], 3);
    if (series.low.empty() || series.low[at] == series.high[at]) return value;
    return fmt::format("{} ({} to {})", value, FixedText(series.low[at], 3),
                       FixedText(series.high[at], 3));
  }
  return "";
}

TextTable NumbersOf(const plot::Chart& chart) {
  TextTable table{chart.title, {plot::AxisTitle(chart.x)}, {}};
  std::set<double> places;
  for (const plot::Series& series : chart.series) {
    table.heads.push_back(series.name);
    for (double x : series.x) {
      if (std::isfinite(x)) places.insert(x);
    }
  }
  for (double x : places) {
    std::vector<std::string> row = {RoundText(x, 6)};
    for (const plot::Series& series : chart.series) row.push_back(ValueAt(series, x));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

void AddFigure(Html& html, const std::string& svg, std::string_view caption) {
  const Html::Inside figure = html.In("figure");
  html.Markup(svg);
  html.Element("figcaption", caption);
}

void AddChart(Html& html, const plot::Chart& chart, std::string_view caption) {
  const Html::Inside figure = html.In("figure");
  html.Markup(plot::RenderSvg(chart, plot::Embedding::kInPage));
  const Html::Inside text = html.In("figcaption");
  html.Text(caption);
  const Html::Inside details = html.In("details");
  html.Element("summary", "Numbers");
  AddTable(html, NumbersOf(chart));
}

Html::Inside InScrollBox(Html& html, std::string_view name) {
  return html.In(
      "div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", name}, {"tabindex", "0"}});
}

void AddCaption(Html& html, std::string_view text) {
  const Html::Inside caption = html.In("caption");
  html.Element("span", text);
}

void AddTable(Html& html, const TextTable& table) {
  const auto alignment = [&](std::size_t column) {
    return column >= table.first_number ? "number" : "words";
  };
  const Html::Inside box = InScrollBox(html, table.caption);
  const Html::Inside element = html.In("table", {{"class", "pinned"}});
  AddCaption(html, table.caption);
  {
    const Html::Inside head = html.In("thead");
    const Html::Inside row = html.In("tr");
    for (std::size_t column = 0; column < table.heads.size(); ++column) {
      html.Element("th", {{"scope", "col"}, {"class", alignment(column)}}, table.heads[column]);
    }
  }
  const Html::Inside body = html.In("tbody");
  for (const std::vector<std::string>& cells : table.rows) {
    const Html::Inside row = html.In("tr");
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (column == 0) {
        const Html::Inside head = html.In("th", {{"scope", "row"}});
        AddName(html, cells[column]);
      } else {
        html.Element("td", {{"class", alignment(column)}}, cells[column]);
      }
    }
  }
}

void AddFacts(Html& html, const std::vector<NamedText>& facts) {
  const Html::Inside list = html.In("dl", {{"class", "facts"}});
  for (const auto& [name, value] : facts) {
    const Html::Inside pair = html.In("div");
    html.Element("dt", name);
    html.Element("dd", value.empty() ? "(empty)" : value);
  }
}

void AddName(Html& html, std::string_view name) {
  constexpr std::string_view kJoints = "+:,";
  while (true) {
    const std::size_t joint = name.find_first_of(kJoints);
    html.Text(name.substr(0, joint == std::string_view::npos ? joint : joint + 1));
    if (joint == std::string_view::npos) return;
    html.Void("wbr", {});
    name.remove_prefix(joint + 1);
  }
}

void AddSeriesKey(Html& html, std::size_t at) {
  constexpr double kWidth = 34, kHeight = 16;
  plot::Svg svg;
  svg.Open("svg", {{"class", fmt::format("key sx-figure sx-s{}", at % plot::kSeriesColors + 1)},
                   {"viewBox", fmt::format("0 0 {} {}", kWidth, kHeight)},
                   {"aria-hidden", "true"},
                   {"color", plot::SeriesColor(at, plot::Theme::kLight)}});
  const std::string_view dash = plot::SeriesDash(at);
  svg.Empty("path", {{"d", fmt::format("M0 {}h{}", kHeight / 2, kWidth)},
                     {"fill", "none"},
                     {"stroke", "currentColor"},
                     {"stroke-width", 1.9},
                     {"stroke-dasharray", dash.empty() ? "none" : dash}});
  plot::DrawMarker(svg, plot::SeriesMarker(at), kWidth / 2, kHeight / 2);
  svg.Close();
  html.Markup(svg.Take());
}

}  // namespace sextant::lab
