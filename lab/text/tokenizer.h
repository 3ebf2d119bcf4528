// Text to token numbers and back, without loss.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant::lab {

// Token numbers are 0 .. vocabulary()-1. Decode(Encode(text)) == text for any bytes, white space,
// newlines and bytes that are no UTF-8 among them. One tokenizer serves many threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "bytes" or "bpe".
  virtual std::string_view kind() const = 0;
  // The tokens of a text; never end_of_story(). Allocates the result.
  virtual std::vector<std::int32_t> Encode(std::string_view text) const = 0;
  // A serialized form that LoadTokenizer reads back to an equal tokenizer.
  virtual std::string Save() const = 0;

  std::int32_t vocabulary() const { return static_cast<std::int32_t>(bytes_.size()); }
  std::int32_t end_of_story() const { return end_of_story_; }

  // The bytes a token stands for; none for end_of_story(). A token can be a part of a UTF-8
  // character. Throws Error where `token` is outside the vocabulary.
  const std::string& Bytes(std::int32_t token) const;
  // The bytes of the tokens, one after the other. Throws Error as Bytes does.
  std::string Decode(std::span<const std::int32_t> tokens) const;

 protected:
  Tokenizer(std::vector<std::string> bytes, std::int32_t end_of_story)
      : bytes_(std::move(bytes)), end_of_story_(end_of_story) {}

 private:
  std::vector<std::string> bytes_;  // by token
  std::int32_t end_of_story_;
};

inline constexpr int kFewestPieces = 300;
inline constexpr int kMostPieces = 32768;
inline constexpr int kUsualPieces = 512;

// A token for each of the 256 bytes; 256 ends a story.
std::unique_ptr<Tokenizer> MakeByteTokenizer();

// Byte-pair encoding by SentencePiece with exactly `pieces` tokens: 256 bytes, the end of a story,
// the one SentencePiece keeps for unknown characters (never produced), frequent characters, and the
// most frequent merges, none of which crosses from one word into the next. The same stories and
// pieces give the same tokenizer; it learns from a sample of about 4 MB, spread over all the
// stories.
//
// Throws Error where `pieces` is not in kFewestPieces .. kMostPieces, where there is no text, and
// where the text is too small for so many pieces (saying how many it gives).
std::unique_ptr<Tokenizer> TrainBpeTokenizer(std::span<const std::string> stories,
                                             int pieces = kUsualPieces);

// The tokenizer that Save gave. Throws UnreadableInput where the bytes are not what Save writes: an
// unknown kind or version, cut short or longer, changed, or a model of another making.
std::unique_ptr<Tokenizer> LoadTokenizer(std::string_view saved);

}  // namespace sextant::lab
