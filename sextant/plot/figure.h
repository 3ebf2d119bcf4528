// The frame of every figure in SVG: accessible name, colours that follow the page, text in lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sextant/plot/svg.h"

namespace sextant::plot {

// kStandAlone: the SVG carries its style and its paper, and follows prefers-color-scheme by itself,
// as a file or inside a page. kInPage: neither; the page includes FigureCss() once, for pages that
// hold many figures or forbid inline styles.
enum class Embedding { kStandAlone, kInPage };

// The rules for class names starting with "sx-". Colours are taken from the page's variables --ink,
// --muted, --grid, --paper and --series-1 .. --series-12 where it defines them, else from fallbacks
// for the theme: `data-theme` ("light", "dark") of the root element, else prefers-color-scheme.
// --figure-width (40rem) is the largest width, --figure-font the font, --figure-text (11.5px, at
// most 15px) the size of text in units of the view box on pages of 520 px or more.
std::string FigureCss();

// Units of the view box. Text laid out for kLabelSize is 11 px on a page of 360 px; on wider pages
// the style makes it smaller than its layout.
inline constexpr double kFigureWidth = 440;
inline constexpr double kLabelSize = 15;
inline constexpr double kTitleSize = 17;
inline constexpr double kLineHeight = 20;

// Collects a figure from top to bottom.
class Figure {
 public:
  // `title` is shown and names the figure, `description` is for those who do not see it. Throws
  // Error starting with `where` where the title is empty.
  Figure(std::string_view where, std::string title, std::string description, Embedding embedding);

  Svg& body() { return body_; }

  // How far down the figure is filled.
  double bottom() const { return bottom_; }
  void Skip(double height) { bottom_ += height; }

  // Text below what is there, wrapped, starting at `left`.
  void AddText(std::string_view text, double left = 4);
  // The same, centred between `left` and `right`.
  void AddCentredText(std::string_view text, double left, double right);

  // "<id of this figure>-<part>", for elements that others refer to. Equal figures have equal ids.
  std::string Id(std::string_view part) const;

  std::string Finish();

 private:
  void AddLines(const std::vector<std::string>& lines, double x, std::string_view anchor,
                std::string_view css_class, double line_height);

  std::string title_;
  std::string description_;
  Embedding embedding_;
  std::string id_;
  Svg body_;
  double bottom_ = 6;
};

}  // namespace sextant::plot
