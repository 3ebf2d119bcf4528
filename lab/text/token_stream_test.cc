// The stream's layout, its windows and its batches, against values worked out by hand.
#include "lab/text/token_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

using Tokens = std::vector<std::int32_t>;

// Token i is i for i < count; the end of a story follows as token `count`.
TokenStream Counting(int count) {
  std::string story;
  for (int byte = 0; byte < count; ++byte) story += static_cast<char>(byte);
  return {*MakeByteTokenizer(), std::vector<std::string>{story}, "--data"};
}

template <class Action>
std::string Misuse(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TokenStream, JoinsStoriesAndEndsEach) {
  const std::vector<std::string> stories = {"ab", "", "c\xc3\xa9"};
  const TokenStream stream(*MakeByteTokenizer(), stories, "two");
  EXPECT_EQ(stream.tokens(), (Tokens{97, 98, 256, 256, 99, 0xc3, 0xa9, 256}));
  EXPECT_EQ(stream.size(), 8);
  EXPECT_EQ(stream.name(), "two");
}

TEST(TokenStream, CountsTheBytesTokensStandFor) {
  const std::vector<std::string> stories = {"ab", "", "c\xc3\xa9"};
  const TokenStream stream(*MakeByteTokenizer(), stories, "two");
  EXPECT_EQ(stream.Bytes(0, 8), 5);
  EXPECT_EQ(stream.Bytes(1, 3), 1);
  EXPECT_EQ(stream.Bytes(8, 0), 0);
  // Targets are tokens 2 .. 5, the last two of them tokens 4 and 5.
  EXPECT_EQ(stream.ScoredBytes({1, 4, 4}), 2);
  EXPECT_EQ(stream.ScoredBytes({1, 4, 2}), 2);
  EXPECT_EQ(stream.ScoredBytes({0, 2, 1}), 0);
  for (const auto& [first, count] : {std::pair{-1, 2}, {0, 9}, {7, 2}, {0, -1}}) {
    EXPECT_NE(Misuse([&] { stream.Bytes(first, count); }).find("has 8 tokens"), std::string::npos);
  }
}

TEST(TokenStream, CountsTheBytesOfLongerPieces) {
  const std::vector<std::string> stories(40,
                                         "the fox saw the hen, and then the hen saw the fox\n"
                                         "so all of them were very glad to see each other");
  const auto tokenizer = TrainBpeTokenizer(stories, 300);
  const TokenStream stream(*tokenizer, stories, "stories");
  EXPECT_LT(stream.size(), 40 * 98);
  EXPECT_EQ(stream.Bytes(0, stream.size()), 40 * 97);
}

TEST(TokenStream, TakesTokensAlreadyEncoded) {
  const auto tokenizer = MakeByteTokenizer();
  const TokenStream stream(*tokenizer, Tokens{97, 256, 98}, "saved");
  EXPECT_EQ(stream.tokens(), (Tokens{97, 256, 98}));
  EXPECT_EQ(stream.Bytes(0, 3), 2);
  EXPECT_EQ(Misuse([&] {
              TokenStream(*tokenizer, Tokens{97, 257}, "saved");
            }),
            "tokenizer: a token must be 0 .. 256, got 257");
}

TEST(TokenStream, GivesTheTokensOfAWindow) {
  const TokenStream stream = Counting(9);
  const auto tokens = stream.Tokens({6, 3, 1});
  EXPECT_EQ(Tokens(tokens.begin(), tokens.end()), (Tokens{6, 7, 8, 256}));
  for (const TokenWindow& window :
       {TokenWindow{7, 3, 1}, TokenWindow{-1, 3, 1}, TokenWindow{0, 0, 0}, TokenWindow{0, 10, 1}}) {
    EXPECT_NE(Misuse([&] { stream.Tokens(window); }).find("--data: has 10 tokens"),
              std::string::npos);
  }
}

Tokens BatchOf(const TokenStream& stream, std::uint64_t seed, std::uint64_t step, Index batch,
               Index context) {
  Array<std::int32_t, 2> out({batch, context + 1});
  stream.Batch(seed, step, out);
  return out.values();
}

TEST(TokenStream, DrawsWindowsOfTheStreamForABatch) {
  const TokenStream stream = Counting(100);
  const Tokens batch = BatchOf(stream, 3, 5, 64, 7);
  for (std::size_t row = 0; row < 64; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      const std::int32_t token = batch[row * 8] + static_cast<std::int32_t>(column);
      EXPECT_EQ(batch[row * 8 + column], token == 100 ? 256 : token);
    }
  }
}

TEST(TokenStream, DrawsABatchFromSeedAndStepAlone) {
  const TokenStream stream = Counting(100);
  const Tokens batch = BatchOf(stream, 3, 5, 16, 7);
  BatchOf(stream, 3, 6, 16, 7);
  EXPECT_EQ(BatchOf(stream, 3, 5, 16, 7), batch);
  EXPECT_NE(BatchOf(stream, 3, 6, 16, 7), batch);
  EXPECT_NE(BatchOf(stream, 4, 5, 16, 7), batch);
  // A larger batch starts with the smaller one.
  const Tokens larger = BatchOf(stream, 3, 5, 32, 7);
  EXPECT_TRUE(std::equal(batch.begin(), batch.end(), larger.begin()));
}

TEST(TokenStream, DrawsEachPlaceEquallyOften) {
  const TokenStream stream = Counting(19);  // 20 tokens, 11 places for rows of 10
  std::vector<int> counts(11);
  for (std::uint64_t step = 0; step < 110; ++step) {
    const Tokens batch = BatchOf(stream, 1, step, 100, 9);
    for (std::size_t row = 0; row < 100; ++row) {
      ++counts.at(static_cast<std::size_t>(batch[row * 10]));
    }
  }
  // 1000 expected, 30 the standard deviation.
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(TokenStream, WritesOnlyTheRowsOfAStridedBatch) {
  const TokenStream stream = Counting(100);
  Tokens memory(4 * 12, -7);
  stream.Batch(3, 5, View<std::int32_t, 2>(memory.data(), {4, 8}, {12, 1}));
  const Tokens batch = BatchOf(stream, 3, 5, 4, 7);
  for (std::size_t at = 0; at < memory.size(); ++at) {
    const std::size_t row = at / 12, column = at % 12;
    EXPECT_EQ(memory[at], column < 8 ? batch[row * 8 + column] : -7);
  }
}

TEST(TokenStream, FitsABatchThatIsTheWholeStream) {
  const TokenStream stream = Counting(3);
  EXPECT_EQ(BatchOf(stream, 9, 9, 2, 3), (Tokens{0, 1, 2, 256, 0, 1, 2, 256}));
  EXPECT_EQ(Misuse([&] { BatchOf(stream, 9, 9, 2, 4); }),
            "--data: has 4 tokens, one context needs 5; give more text or a shorter context");
  EXPECT_NE(Misuse([&] { BatchOf(stream, 9, 9, 0, 2); }).find("got [0, 3]"), std::string::npos);
  EXPECT_NE(Misuse([&] { BatchOf(stream, 9, 9, 2, 0); }).find("got [2, 1]"), std::string::npos);
}

TEST(TokenStream, CutsWindowsThatScoreEachTargetOnce) {
  const TokenStream stream = Counting(10);  // 11 tokens: targets 1 .. 10
  const std::vector<TokenWindow> windows = stream.Windows(3, 100);
  ASSERT_EQ(windows.size(), 3u);
  std::vector<Index> targets;
  for (const TokenWindow& window : windows) {
    EXPECT_EQ(window.inputs, 3);
    EXPECT_EQ(window.scored, 3);
    for (Index input = 0; input < 3; ++input) targets.push_back(window.first + input + 1);
  }
  EXPECT_EQ(targets, (std::vector<Index>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(stream.Windows(3, 2).size(), 2u);
  EXPECT_EQ(stream.Windows(5, 100).size(), 2u);
  EXPECT_EQ(stream.Windows(10, 100).size(), 1u);
}

TEST(TokenStream, RefusesWindowsThatDoNotFit) {
  const TokenStream stream = Counting(10);
  EXPECT_EQ(Misuse([&] { stream.Windows(11, 1); }),
            "--data: has 11 tokens, one context needs 12; give more text or a shorter context");
  EXPECT_NE(Misuse([&] { stream.Windows(0, 1); }).find("got 0 and 1"), std::string::npos);
  EXPECT_NE(Misuse([&] { stream.Windows(1, 0); }).find("got 1 and 0"), std::string::npos);
  const TokenStream none(*MakeByteTokenizer(), std::vector<std::string>{}, "--data");
  EXPECT_NE(Misuse([&] { none.Windows(1, 1); }).find("has 0 tokens, one context needs 2"),
            std::string::npos);
}

std::vector<Index> ScoredTargets(const std::vector<TokenWindow>& windows) {
  std::vector<Index> targets;
  for (const TokenWindow& window : windows) {
    for (Index back = window.scored; back-- > 0;) {
      targets.push_back(window.first + window.inputs - back);
    }
  }
  return targets;
}

TEST(TokenStream, ScoresTheSameTargetsWhateverTheContext) {
  const TokenStream stream = Counting(20);  // 21 tokens
  // Room after the first context of 8: 21 - 1 - 8 = 12 tokens, so up to 7 windows of 2 targets.
  const std::vector<Index> expected = {7, 8, 13, 14, 19, 20};
  for (const Index context : {2, 3, 5, 8}) {
    const std::vector<TokenWindow> windows = stream.FixedTargets(2, context, 8, 3);
    for (const TokenWindow& window : windows) EXPECT_EQ(window.inputs, context);
    EXPECT_EQ(ScoredTargets(windows), expected) << context;
    EXPECT_EQ(stream.Tokens(windows.front()).back(), 8);
  }
}

TEST(TokenStream, SharesNoTargetBetweenFixedWindows) {
  const TokenStream stream = Counting(120);
  for (const Index scored : {1, 3, 7, 16}) {
    for (const Index most : {1, 2, 5, 8, 1000}) {
      const auto windows = stream.FixedTargets(scored, 16, 20, most);
      const std::vector<Index> targets = ScoredTargets(windows);
      EXPECT_EQ(std::adjacent_find(targets.begin(), targets.end(), std::greater_equal<>()),
                targets.end());
      EXPECT_EQ(static_cast<Index>(windows.size()), std::min(most, 100 / scored + 1));
      EXPECT_EQ(windows.front().first, 4);
      EXPECT_EQ(targets.back(), windows.size() > 1 ? 120 : 20);
      for (const TokenWindow& window : windows) stream.Tokens(window);
    }
  }
}

TEST(TokenStream, RefusesFixedTargetsThatMakeNoSense) {
  const TokenStream stream = Counting(20);
  EXPECT_EQ(stream.FixedTargets(20, 20, 20, 5).size(), 1u);
  EXPECT_EQ(Misuse([&] { stream.FixedTargets(2, 4, 21, 1); }),
            "--data: has 21 tokens, one context needs 22; give more text or a shorter context");
  EXPECT_NE(Misuse([&] { stream.FixedTargets(0, 4, 8, 1); }).find("scored 0"), std::string::npos);
  EXPECT_NE(Misuse([&] { stream.FixedTargets(5, 4, 8, 1); }).find("scored 5"), std::string::npos);
  EXPECT_NE(Misuse([&] { stream.FixedTargets(2, 9, 8, 1); }).find("context 9"), std::string::npos);
  EXPECT_NE(Misuse([&] { stream.FixedTargets(2, 4, 8, 0); }).find("windows 0"), std::string::npos);
}

}  // namespace
}  // namespace sextant::lab
