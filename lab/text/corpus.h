// Stories to train on and stories held out, read from a text file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::lab {

// No text stands in both parts; both have at least one story.
struct Corpus {
  std::vector<std::string> train;
  std::vector<std::string> held_out;
  std::string name;  // for messages and reports: the file's path, "standard input", "stories"
};

// The mark between stories where a text uses it. It never stands inside a story.
inline constexpr char kStoryMark[] = "<|endoftext|>";

// The largest text read.
inline constexpr std::size_t kLargestCorpus = std::size_t{1} << 30;

// The stories of the UTF-8 text file at `path`, or of standard input where `path` is "-".
// Throws UnreadableInput where the file is missing, a folder, larger than `max_bytes` or
// unreadable, and where SplitCorpus refuses its text.
Corpus ReadCorpus(const std::string& path, std::size_t max_bytes = kLargestCorpus);

// The stories of `text`, in its order. They are separated by kStoryMark or, where it does not
// occur, by blank lines. CR LF counts as LF; a leading byte order mark and white space around a
// story are dropped.
//
// A story is held out by its text alone, one in 20 by hash, so it stays on its side as a file grows
// and its copies follow it. Where all would fall on one side, the story with the smallest (largest)
// hash and its copies are held out (trained on). A text of one distinct story is cut: its last
// tenth is held out, from a word's start where there is one near.
//
// Throws UnreadableInput starting with `name` where the text is not UTF-8 or holds a NUL byte
// (naming the offset of the byte), holds no story, or is a single story too short to cut (20
// bytes).
Corpus SplitCorpus(std::string text, const std::string& name);

// A hash of a story's text, the same on every machine and in every release.
std::uint64_t StoryHash(std::string_view story);

// Whether its hash holds a story out: one story in 20.
bool HeldOutByHash(std::string_view story);

}  // namespace sextant::lab
