// Wrapping and shortening by estimated widths.
#include "sextant/plot/text_layout.h"

#include <gtest/gtest.h>

namespace sextant::plot {
namespace {

TEST(TextLayout, CountsCharactersNotBytes) {
  EXPECT_EQ(CharacterCount("λ→π"), 3);
  EXPECT_EQ(CharacterCount(""), 0);
}

TEST(TextLayout, WrapsAtSpaces) {
  const std::vector<std::string> lines = WrapText("one two three four", 70, 10);
  ASSERT_GE(lines.size(), 2u);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(TextWidth(line, 10), 70);
    joined += joined.empty() ? line : " " + line;
  }
  EXPECT_EQ(joined, "one two three four");
  EXPECT_EQ(WrapText("", 70, 10), std::vector<std::string>{""});
}

TEST(TextLayout, ShortensToTheWidth) {
  EXPECT_EQ(Shorten("rope", 100, 10), "rope");
  const std::string cut = Shorten("λλλλλλλλλλλλλλλλλλλλ", 60, 10);
  EXPECT_LE(TextWidth(cut, 10), 60);
  EXPECT_TRUE(cut.ends_with("λ…"));
}

}  // namespace
}  // namespace sextant::plot
