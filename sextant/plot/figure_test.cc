// The frame of figures: style, identity and growth with its text.
#include "sextant/plot/figure.h"

#include <gtest/gtest.h>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

TEST(FigureCss, NeedsNoEscapes) { EXPECT_EQ(EscapeXml(FigureCss()), FigureCss()); }

TEST(FigureCss, FollowsPageAndTheme) {
  const std::string css = FigureCss();
  for (const char* part : {"var(--ink,", "var(--series-12,", "prefers-color-scheme:dark",
                           ":root[data-theme=dark]", ":root:not([data-theme=light])"}) {
    EXPECT_NE(css.find(part), css.npos) << part;
  }
}

TEST(Figure, IdsFollowTheContent) {
  const Figure a("test", "title", "one", Embedding::kInPage);
  const Figure b("test", "title", "two", Embedding::kInPage);
  EXPECT_NE(a.Id("clip"), b.Id("clip"));
  EXPECT_EQ(a.Id("clip"), Figure("test", "title", "one", Embedding::kInPage).Id("clip"));
}

TEST(Figure, GrowsWithItsText) {
  Figure figure("test", "title", "", Embedding::kInPage);
  const double start = figure.bottom();
  figure.AddText("short");
  EXPECT_EQ(figure.bottom(), start + kLineHeight);
  figure.AddText(
      "so long that it takes more than the one line that a short text needs in a figure");
  EXPECT_GE(figure.bottom(), start + 3 * kLineHeight);
  EXPECT_TRUE(figure.Finish().ends_with("</g></svg>"));
}

TEST(Figure, NeedsATitle) { EXPECT_THROW(Figure("test", "", "", Embedding::kInPage), Error); }

}  // namespace
}  // namespace sextant::plot
