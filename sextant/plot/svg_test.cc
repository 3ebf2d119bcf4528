// The SVG writer: escaping, numbers and balance.
#include "sextant/plot/svg.h"

#include <gtest/gtest.h>

#include <limits>

#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

TEST(EscapeXml, ReplacesMarkup) {
  EXPECT_EQ(EscapeXml("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

TEST(EscapeXml, KeepsUtf8AndReplacesWhatXmlCannotHold) {
  EXPECT_EQ(EscapeXml("λ→π 😀"), "λ→π 😀");
  EXPECT_EQ(EscapeXml(std::string_view("a\0b\x1B", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "overlong";
  EXPECT_EQ(EscapeXml("\xED\xA0\x80").find("\xED"), std::string::npos) << "surrogate";
}

TEST(SvgNumber, IsShort) {
  EXPECT_EQ(SvgNumber(3), "3");
  EXPECT_EQ(SvgNumber(0.5), "0.5");
  EXPECT_EQ(SvgNumber(-12.254), "-12.25");
  EXPECT_EQ(SvgNumber(100), "100");
  EXPECT_EQ(SvgNumber(-0.001), "0");
}

TEST(SvgNumber, RefusesWhatIsNotFinite) {
  EXPECT_THROW(SvgNumber(std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_THROW(SvgNumber(std::numeric_limits<double>::infinity()), Error);
}

TEST(Svg, WritesElements) {
  Svg svg;
  svg.Open("g", {{"class", "a\"b"}, {"x", 2}});
  svg.Empty("rect", {{"width", 1.5}});
  svg.Element("text", {}, "1 < 2");
  svg.Close();
  EXPECT_EQ(svg.Take(),
            "<g class=\"a&quot;b\" x=\"2\"><rect width=\"1.5\"/><text>1 &lt; 2</text></g>");
}

TEST(Svg, RefusesNamesAndImbalance) {
  Svg svg;
  EXPECT_THROW(svg.Open("a b"), Error);
  EXPECT_THROW(svg.Empty("g", {{"on=\"", 1}}), Error);
  EXPECT_THROW(Svg().Close(), Error);
  Svg open;
  open.Open("g");
  EXPECT_THROW(open.Take(), Error);
  EXPECT_THROW(Svg().Append(open), Error);
}

TEST(PathData, JoinsCoordinates) {
  PathData path;
  path.MoveTo(1, -2);
  path.LineTo(3.25, 4);
  path.Close();
  EXPECT_EQ(path.text(), "M1-2L3.2 4Z");
}

}  // namespace
}  // namespace sextant::plot
