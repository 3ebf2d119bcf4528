// Reading a text, cutting it into stories and holding some out.
#include "lab/text/corpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "lab/text/utf8.h"
#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"
#include "sextant/core/random.h"
#include "sextant/formats/file.h"

namespace sextant::lab {
namespace {

constexpr std::uint64_t kHeldOutOneIn = 20;
constexpr std::size_t kShortestCut = 20;
constexpr std::string_view kSpace = " \t\r\n\v\f";

std::string ReadStandardInput(const std::string& name, std::size_t max_bytes) {
  std::string bytes;
  char block[1 << 16];
  while (const std::size_t count = std::fread(block, 1, sizeof block, stdin)) {
    bytes.append(block, count);
    if (bytes.size() > max_bytes) {
      throw UnreadableInput(name, fmt::format("is larger than {} bytes", max_bytes),
                            "give a part of it");
    }
  }
  if (std::ferror(stdin)) throw UnreadableInput(name, "could not be read to its end");
  return bytes;
}

std::string ReadTextFile(const std::string& path, std::size_t max_bytes) {
  std::error_code ignored;
  const bool regular = std::filesystem::is_regular_file(path, ignored);
  if (regular && std::filesystem::file_size(path, ignored) > max_bytes && !ignored) {
    throw UnreadableInput(path, fmt::format("is larger than {} bytes", max_bytes),
                          "give a part of it");
  }
  return ReadFile(path, max_bytes);
}

void CheckText(std::string_view text, const std::string& name) {
  if (text.empty()) throw UnreadableInput(name, "is empty", "give a text file of stories");
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    throw UnreadableInput(name, fmt::format("holds a NUL byte at byte {}", nul),
                          "give plain text, not a binary file or UTF-16");
  }
  const std::size_t invalid = FirstInvalidUtf8(text);
  if (invalid != std::string_view::npos) {
    throw UnreadableInput(name, fmt::format("is not UTF-8 at byte {}", invalid),
                          "convert it, e.g. with iconv -t UTF-8");
  }
}

void NormalizeLineEnds(std::string& text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n') continue;
    text[kept++] = text[at];
  }
  text.resize(kept);
}

void AddStory(std::string_view piece, std::vector<std::string>& stories) {
  const std::size_t first = piece.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return;
  stories.emplace_back(piece.substr(first, piece.find_last_not_of(kSpace) + 1 - first));
}

std::vector<std::string> SplitAtMarks(std::string_view text) {
  const std::string_view mark = kStoryMark;
  std::vector<std::string> stories;
  std::size_t first = 0;
  for (std::size_t at; (at = text.find(mark, first)) != std::string_view::npos;) {
    AddStory(text.substr(first, at - first), stories);
    first = at + mark.size();
  }
  AddStory(text.substr(first), stories);
  return stories;
}

std::vector<std::string> SplitAtBlankLines(std::string_view text) {
  std::vector<std::string> stories;
  std::size_t story = 0;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    if (text.substr(line, end - line).find_first_not_of(kSpace) == std::string_view::npos) {
      AddStory(text.substr(story, line - story), stories);
      story = end;
    }
    line = end + 1;
  }
  AddStory(text.substr(story), stories);
  return stories;
}

// The smallest and the largest hash among the stories.
std::pair<std::uint64_t, std::uint64_t> HashRange(const std::vector<std::string>& stories) {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  for (const std::string& story : stories) {
    const std::uint64_t hash = StoryHash(story);
    least = std::min(least, hash);
    most = std::max(most, hash);
  }
  return {least, most};
}

// Moves the stories with that hash, in their order.
void MoveStories(std::uint64_t hash, std::vector<std::string>& from, std::vector<std::string>& to) {
  const auto moved = std::stable_partition(
      from.begin(), from.end(), [&](const std::string& story) { return StoryHash(story) != hash; });
  to.insert(to.end(), std::make_move_iterator(moved), std::make_move_iterator(from.end()));
  from.erase(moved, from.end());
}

// The byte from which a single story is held out: near nine tenths, at a word's start if possible.
std::size_t CutPlace(std::string_view story) {
  const std::size_t tenth = story.size() / 10;
  const std::size_t aim = story.size() - tenth;
  const std::size_t word = story.substr(0, aim).find_last_of(kSpace);
  if (word != std::string_view::npos && word + 1 + tenth >= aim) return word + 1;
  return Utf8Boundary(story, aim);
}

}  // namespace

std::uint64_t StoryHash(std::string_view story) {
  // Mixed once more, since the low bits of a fingerprint are not good enough for a draw.
  return Random(Fingerprint(story)).Next();
}

bool HeldOutByHash(std::string_view story) { return StoryHash(story) % kHeldOutOneIn == 0; }

Corpus SplitCorpus(std::string text, const std::string& name) {
  CheckText(text, name);
  NormalizeLineEnds(text);
  const bool marked = text.find(kStoryMark) != std::string::npos;
  std::vector<std::string> stories = marked ? SplitAtMarks(text) : SplitAtBlankLines(text);
  if (stories.empty()) {
    throw UnreadableInput(name, "holds no story, only white space and marks between stories",
                          "give a text file of stories");
  }
  const auto [least, most] = HashRange(stories);
  Corpus corpus{{}, {}, name};
  if (least == most) {
    std::string story = std::move(stories.front());
    if (story.size() < kShortestCut) {
      throw UnreadableInput(name,
                            fmt::format("holds one story of {} bytes, at least {} are needed",
                                        story.size(), kShortestCut),
                            "give more text");
    }
    const std::size_t cut = CutPlace(story);
    corpus.held_out.push_back(story.substr(cut));
    story.resize(cut);
    corpus.train.push_back(std::move(story));
    return corpus;
  }
  for (std::string& story : stories) {
    (HeldOutByHash(story) ? corpus.held_out : corpus.train).push_back(std::move(story));
  }
  if (corpus.held_out.empty()) MoveStories(least, corpus.train, corpus.held_out);
  if (corpus.train.empty()) MoveStories(most, corpus.held_out, corpus.train);
  return corpus;
}

Corpus ReadCorpus(const std::string& path, std::size_t max_bytes) {
  if (path == "-") {
    const std::string name = "standard input";
    return SplitCorpus(ReadStandardInput(name, max_bytes), name);
  }
  return SplitCorpus(ReadTextFile(path, max_bytes), path);
}

}  // namespace sextant::lab
