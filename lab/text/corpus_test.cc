// Reading a corpus: how stories are separated and held out, and every refusal.
#include "lab/text/corpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

namespace fs = std::filesystem;

class CorpusTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("sextant_corpus_") + test->name() + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& text) const {
    const fs::path path = folder_ / "stories.txt";
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  fs::path folder_;
};

std::vector<std::string> AllOf(const Corpus& corpus) {
  std::vector<std::string> all = corpus.train;
  all.insert(all.end(), corpus.held_out.begin(), corpus.held_out.end());
  std::sort(all.begin(), all.end());
  return all;
}

// The message of the refusal, or nothing where there was none.
template <class Action>
std::string Refusal(Action action) {
  try {
    action();
  } catch (const UnreadableInput& error) {
    return error.what();
  }
  return "";
}

std::string Numbered(int first, int last) {
  std::string text;
  for (int number = first; number < last; ++number) {
    text += "story number " + std::to_string(number) + "\n\n";
  }
  return text;
}

using Stories = std::vector<std::string>;

TEST_F(CorpusTest, SeparatesAtTheMarkWhereverItStands) {
  const Corpus corpus = ReadCorpus(
      Write("<|endoftext|>one\n\nstill one\n<|endoftext|>\ntwo<|endoftext|>three<|endoftext|>\n"));
  EXPECT_EQ(AllOf(corpus), (Stories{"one\n\nstill one", "three", "two"}));
  EXPECT_EQ(corpus.name, (folder_ / "stories.txt").string());
}

TEST_F(CorpusTest, SeparatesAtBlankLinesWithoutTheMark) {
  const Corpus corpus = ReadCorpus(Write("\n\n one\nline two\n \t\n\ntwo\n\n\n\nthree"));
  EXPECT_EQ(AllOf(corpus), (Stories{"one\nline two", "three", "two"}));
}

TEST_F(CorpusTest, AcceptsCarriageReturnsAndAByteOrderMark) {
  const Corpus windows = ReadCorpus(Write("\xef\xbb\xbfone\r\nline two\r\n\r\ntwo\r\n"));
  EXPECT_EQ(AllOf(windows), (Stories{"one\nline two", "two"}));
}

TEST_F(CorpusTest, HoldsOutAboutOneInTwentyAndNeverOnBothSides) {
  const Corpus corpus = SplitCorpus(Numbered(0, 4000), "numbers");
  EXPECT_EQ(AllOf(corpus).size(), 4000u);
  // 200 expected, 14 the standard deviation.
  EXPECT_NEAR(static_cast<double>(corpus.held_out.size()), 200, 60);
  const std::set<std::string> train(corpus.train.begin(), corpus.train.end());
  for (const std::string& story : corpus.held_out) EXPECT_FALSE(train.contains(story));
}

TEST_F(CorpusTest, KeepsEachStoryOnItsSideAsTheTextGrows) {
  const Corpus small = SplitCorpus(Numbered(0, 200), "numbers");
  const Corpus large = SplitCorpus(Numbered(0, 900), "numbers");
  const std::set<std::string> held_out(large.held_out.begin(), large.held_out.end());
  for (const std::string& story : small.held_out) EXPECT_TRUE(held_out.contains(story));
  for (const std::string& story : small.train) EXPECT_FALSE(held_out.contains(story));
}

TEST_F(CorpusTest, PutsCopiesOnOneSideAndKeepsTheOrder) {
  const Corpus corpus = SplitCorpus(Numbered(0, 100) + Numbered(0, 100), "numbers");
  const Corpus once = SplitCorpus(Numbered(0, 100), "numbers");
  Stories twice = once.train;
  twice.insert(twice.end(), once.train.begin(), once.train.end());
  EXPECT_EQ(corpus.train, twice);
  EXPECT_EQ(corpus.held_out.size(), 2 * once.held_out.size());
}

// Texts of two stories that their hashes put on one side.
std::string TwoStories(bool held_out) {
  std::string text;
  int found = 0;
  for (int number = 0; found < 2; ++number) {
    const std::string story = "tale " + std::to_string(number);
    if (HeldOutByHash(story) != held_out) continue;
    text += story + "\n\n";
    ++found;
  }
  return text;
}

TEST_F(CorpusTest, LeavesNoSideEmpty) {
  for (const std::string& text : {TwoStories(true), TwoStories(false)}) {
    const Corpus corpus = SplitCorpus(text + text, "two");
    ASSERT_EQ(corpus.train.size(), 2u);
    ASSERT_EQ(corpus.held_out.size(), 2u);
    EXPECT_NE(corpus.train[0], corpus.held_out[0]);
  }
}

TEST_F(CorpusTest, CutsASingleStoryAtAWordNearItsLastTenth) {
  // 50 bytes: a tenth is 5, the aim is byte 45, and the last word to start before it starts at 44.
  const std::string story = "the fox ran and the hen ran and then they slept ok";
  ASSERT_EQ(story.size(), 50u);
  const Corpus corpus = SplitCorpus(story + "\n", "one");
  EXPECT_EQ(corpus.train, Stories{"the fox ran and the hen ran and then they "});
  EXPECT_EQ(corpus.held_out, Stories{"slept ok"});
}

TEST_F(CorpusTest, CutsASingleWordBetweenCharacters) {
  std::string story;
  for (int count = 0; count < 20; ++count) story += "\xe7\x8b\x90";  // 60 bytes; the aim is 54
  EXPECT_EQ(SplitCorpus(story, "one").held_out[0].size(), 6u);
  story += "\xc3\xa9";  // 62 bytes; the aim is 56, inside the character that starts at 54
  EXPECT_EQ(SplitCorpus(story, "one").held_out[0].size(), 8u);
}

TEST_F(CorpusTest, TreatsCopiesOfOneStoryAsASingleStory) {
  const std::string story = "the fox ran and the hen ran and then they slept ok";
  EXPECT_EQ(SplitCorpus(story + "\n\n" + story, "one").held_out, Stories{"slept ok"});
  EXPECT_EQ(Refusal([] { SplitCorpus("short\n", "one"); }),
            "one: holds one story of 5 bytes, at least 20 are needed; give more text");
}

TEST_F(CorpusTest, RefusesTextThatHoldsNoStory) {
  EXPECT_NE(Refusal([&] { ReadCorpus(Write("")); }).find("stories.txt: is empty"),
            std::string::npos);
  for (const char* text : {" \n\t\r\n", "<|endoftext|>\n<|endoftext|>", "\xef\xbb\xbf"}) {
    EXPECT_NE(Refusal([&] { SplitCorpus(text, "none"); }).find("none: holds no story"),
              std::string::npos);
  }
}

TEST_F(CorpusTest, NamesTheByteThatIsNotText) {
  EXPECT_EQ(Refusal([] { SplitCorpus("\xef\xbb\xbfone\r\ntwo\xff three", "latin"); }),
            "latin: is not UTF-8 at byte 11; convert it, e.g. with iconv -t UTF-8");
  EXPECT_EQ(Refusal([] { SplitCorpus("one two three \xe2\x82", "cut"); }),
            "cut: is not UTF-8 at byte 14; convert it, e.g. with iconv -t UTF-8");
  EXPECT_EQ(Refusal([] { SplitCorpus(std::string("one\n\ntw\0o", 9), "binary"); }),
            "binary: holds a NUL byte at byte 7; give plain text, not a binary file or UTF-16");
}

TEST_F(CorpusTest, RefusesPathsThatAreNoReadableFile) {
  EXPECT_NE(Refusal([&] { ReadCorpus((folder_ / "absent").string()); }).find("absent"),
            std::string::npos);
  EXPECT_NE(Refusal([&] { ReadCorpus(folder_.string()); }).find("folder"), std::string::npos);
  EXPECT_NE(Refusal([] { ReadCorpus(""); }), "");
  if (fs::exists("/proc/self/mem")) {  // opens, and its first byte cannot be read
    EXPECT_NE(Refusal([] { ReadCorpus("/proc/self/mem"); }), "");
  }
}

TEST_F(CorpusTest, RefusesTextLargerThanTheCapBeforeReadingIt) {
  const std::string path = Write("one\n\ntwo\n\n");
  EXPECT_EQ(ReadCorpus(path, 10).train.size(), 1u);
  EXPECT_EQ(Refusal([&] { ReadCorpus(path, 9); }),
            path + ": is larger than 9 bytes; give a part of it");
  fs::resize_file(path, kLargestCorpus + 1);
  EXPECT_EQ(Refusal([&] { ReadCorpus(path); }),
            path + ": is larger than 1073741824 bytes; give a part of it");
}

TEST_F(CorpusTest, ReadsStandardInput) {
  const std::string path = Write("one\n\ntwo\n\n");
  ASSERT_NE(std::freopen(path.c_str(), "rb", stdin), nullptr);
  const Corpus corpus = ReadCorpus("-");
  EXPECT_EQ(AllOf(corpus), (Stories{"one", "two"}));
  EXPECT_EQ(corpus.name, "standard input");
  ASSERT_NE(std::freopen(path.c_str(), "rb", stdin), nullptr);
  EXPECT_EQ(Refusal([] { ReadCorpus("-", 9); }),
            "standard input: is larger than 9 bytes; give a part of it");
  ASSERT_NE(std::freopen("/dev/null", "rb", stdin), nullptr);
  EXPECT_NE(Refusal([] { ReadCorpus("-"); }).find("standard input: is empty"), std::string::npos);
}

}  // namespace
}  // namespace sextant::lab
