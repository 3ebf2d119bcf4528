// The style sheet and the outer elements of figures.
#include "sextant/plot/figure.h"

#include <fmt/format.h>

#include <cstdint>

#include "sextant/core/error.h"
#include "sextant/plot/palette.h"
#include "sextant/plot/text_layout.h"

namespace sextant::plot {
namespace {

struct ThemeColors {
  Theme theme;
  std::string_view ink;
  std::string_view muted;
  std::string_view grid;
};

constexpr ThemeColors kLight = {Theme::kLight, "#1d2126", "#59616b", "#dde1e6"};
constexpr ThemeColors kDark = {Theme::kDark, "#e8eaed", "#a4acb6", "#343a42"};

// Rules are written without '<', '>', '&' and quotes, which SVG inside a page would escape.
constexpr std::string_view kShape = R"(
.sx-svg{display:block;width:100%;height:auto;max-width:var(--figure-width,40rem)}
.sx-figure{font-family:var(--figure-font,system-ui,sans-serif);font-size:15px;
font-variant-numeric:tabular-nums}
.sx-figure text{fill:var(--sx-ink)}
.sx-figure .sx-title{font-size:17px;font-weight:600}
.sx-figure .sx-tick{fill:var(--sx-muted)}
.sx-paper{fill:var(--sx-paper)}
.sx-grid{stroke:var(--sx-grid)}
.sx-axis{stroke:var(--sx-muted)}
.sx-hollow{fill:var(--sx-paper)}
.sx-hatch{stroke:var(--sx-muted)}
.sx-halo{stroke:var(--sx-paper)}
@media (min-width:520px){.sx-figure{font-size:var(--figure-text,11.5px)}
.sx-figure .sx-title{font-size:1.17em}}
)";

std::string ThemeRules(const ThemeColors& colors, std::string_view selector) {
  std::string rules = fmt::format(
      "{}.sx-figure{{--sx-ink:var(--ink,{});--sx-muted:var(--muted,{});--sx-grid:var(--grid,{});"
      "--sx-paper:var(--paper,{})}}\n",
      selector, colors.ink, colors.muted, colors.grid, PaperColor(colors.theme));
  for (std::size_t i = 0; i < kSeriesColors; ++i) {
    rules += fmt::format("{}.sx-s{}{{color:var(--series-{},{})}}\n", selector, i + 1, i + 1,
                         SeriesColor(i, colors.theme));
  }
  return rules;
}

std::string HashText(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:010x}", hash >> 24);
}

}  // namespace

std::string FigureCss() {
  return std::string(kShape.substr(1)) + ThemeRules(kLight, "") +
         "@media (prefers-color-scheme:dark){\n" +
         ThemeRules(kDark, ":root:not([data-theme=light]) ") + "}\n" +
         ThemeRules(kDark, ":root[data-theme=dark] ");
}

Figure::Figure(std::string_view where, std::string title, std::string description,
               Embedding embedding)
    : title_(std::move(title)),
      description_(std::move(description)),
      embedding_(embedding),
      id_("sx-" + HashText(title_ + "\n" + description_)) {
  if (title_.empty()) {
    throw Error(where, "title must not be empty", "it names the figure for screen readers");
  }
  AddLines(WrapText(title_, kFigureWidth - 8, kTitleSize), 4, "start", "sx-title", 22);
  Skip(4);
}

void Figure::AddLines(const std::vector<std::string>& lines, double x, std::string_view anchor,
                      std::string_view css_class, double line_height) {
  for (const std::string& line : lines) {
    body_.Element("text",
                  {{"class", css_class},
                   {"x", x},
                   {"y", bottom_ + 0.75 * line_height},
                   {"text-anchor", anchor}},
                  line);
    bottom_ += line_height;
  }
}

void Figure::AddText(std::string_view text, double left) {
  if (text.empty()) return;
  AddLines(WrapText(text, kFigureWidth - left - 4, kLabelSize), left, "start", "sx-label",
           kLineHeight);
}

void Figure::AddCentredText(std::string_view text, double left, double right) {
  if (text.empty()) return;
  AddLines(WrapText(text, right - left, kLabelSize), (left + right) / 2, "middle", "sx-label",
           kLineHeight);
}

std::string Figure::Id(std::string_view part) const { return id_ + "-" + std::string(part); }

std::string Figure::Finish() {
  const double height = bottom_ + 6;
  const std::string box = fmt::format("0 0 {} {}", SvgNumber(kFigureWidth), SvgNumber(height));
  Svg svg;
  svg.Open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                   {"class", "sx-svg"},
                   {"viewBox", box},
                   {"width", "100%"},
                   {"font-family", "sans-serif"},
                   {"font-size", kLabelSize},
                   {"role", "img"},
                   {"aria-labelledby", Id("title")},
                   {"aria-describedby", Id("desc")}});
  svg.Element("title", {{"id", Id("title")}}, title_);
  svg.Element("desc", {{"id", Id("desc")}}, description_);
  if (embedding_ == Embedding::kStandAlone) svg.Element("style", {}, FigureCss());
  svg.Open("g", {{"class", "sx-figure"}});
  if (embedding_ == Embedding::kStandAlone) {
    svg.Empty("rect", {{"class", "sx-paper"},
                       {"width", kFigureWidth},
                       {"height", height},
                       {"fill", PaperColor(Theme::kLight)}});
  }
  svg.Append(body_);
  svg.Close();
  svg.Close();
  return svg.Take();
}

}  // namespace sextant::plot
