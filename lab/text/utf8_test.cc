// UTF-8 against the Unicode standard's table of well-formed sequences.
#include "lab/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sextant::lab {
namespace {

TEST(Utf8, KnowsTheFirstAndLastCharacterOfEachLength) {
  const std::pair<std::string, std::size_t> cases[] = {{"\x01", 1},
                                                       {"\x7f", 1},
                                                       {"\xc2\x80", 2},
                                                       {"\xdf\xbf", 2},
                                                       {"\xe0\xa0\x80", 3},
                                                       {"\xed\x9f\xbf", 3},
                                                       {"\xee\x80\x80", 3},
                                                       {"\xef\xbf\xbf", 3},
                                                       {"\xf0\x90\x80\x80", 4},
                                                       {"\xf4\x8f\xbf\xbf", 4},
                                                       {std::string(1, '\0'), 1}};
  for (const auto& [text, bytes] : cases) {
    EXPECT_EQ(Utf8CharacterBytes(text, 0), bytes) << testing::PrintToString(text);
    EXPECT_EQ(FirstInvalidUtf8("a" + text + "b"), std::string::npos);
  }
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
  const std::string cases[] = {"\x80",
                               "\xbf",
                               "\xc0\x80",
                               "\xc1\xbf",
                               "\xe0\x9f\xbf",
                               "\xed\xa0\x80",
                               "\xf5\x80\x80\x80",
                               "\xf0\x8f\xbf\xbf",
                               "\xf4\x90\x80\x80",
                               "\xff",
                               "\xc3",
                               "\xe2\x82",
                               "\xf0\x9f\x98",
                               "\xc3(",
                               "\xe2\x82("};
  for (const std::string& text : cases) {
    EXPECT_EQ(Utf8CharacterBytes(text, 0), 0u) << testing::PrintToString(text);
    EXPECT_EQ(FirstInvalidUtf8("\xc3\xa9z" + text), 3u) << testing::PrintToString(text);
  }
  EXPECT_EQ(Utf8CharacterBytes("a", 1), 0u);
  EXPECT_EQ(FirstInvalidUtf8(""), std::string::npos);
}

TEST(Utf8, StepsBackToACharacterStart) {
  const std::string text = "a\xc3\xa9\xf0\x9f\x98\x80";  // starts at 0, 1 and 3
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
  for (std::size_t at = 0; at < std::size(expected); ++at) {
    EXPECT_EQ(Utf8Boundary(text, at), expected[at]) << at;
  }
}

}  // namespace
}  // namespace sextant::lab
