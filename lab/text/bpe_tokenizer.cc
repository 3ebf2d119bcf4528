// Byte-pair encoding by SentencePiece, made free of loss.
#include "lab/text/bpe_tokenizer.h"

#include <fmt/core.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "lab/text/corpus.h"
#include "lab/text/utf8.h"
#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

constexpr std::size_t kSampleBytes = 4u << 20;
constexpr std::size_t kChunkBytes = 4096;
constexpr int kSpecialPieces = 2;
constexpr int kBytePieces = 256;
constexpr int kFatalOnly = 3;
constexpr std::size_t kLongestPiece = 255;
constexpr std::size_t kLongestKnownWord = 32;
constexpr std::size_t kMostKnownWords = 1u << 16;
// SentencePiece writes a space as U+2581 and an unknown character as U+2585; a text may hold both.
constexpr std::string_view kSpaceMark = "\xe2\x96\x81";
constexpr std::string_view kUnknownMark = "\xe2\x96\x85";
// The character it learns no piece with.
constexpr std::string_view kBreak = "\t";

std::string Replace(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

template <class Action>
void EachCharacter(std::string_view text, Action action) {
  for (std::size_t at = 0, bytes; at < text.size(); at += bytes) {
    bytes = std::max<std::size_t>(1, Utf8CharacterBytes(text, at));
    action(text.substr(at, bytes));
  }
}

bool Learnable(std::string_view character) {
  return Utf8CharacterBytes(character, 0) > 0 && character.front() != '\0' &&
         character != kSpaceMark && character != kUnknownMark;
}

// Feeds a sample of stories to the trainer.
class Sample final : public sentencepiece::SentenceIterator {
 public:
  explicit Sample(std::span<const std::string> stories) {
    std::vector<std::string_view> chunks;
    std::size_t total = 0;
    for (const std::string_view story : stories) {
      for (std::size_t first = 0, end; first < story.size(); first = end) {
        end = Utf8Boundary(story, first + kChunkBytes);
        if (end <= first) end = std::min(story.size(), first + kChunkBytes);
        chunks.push_back(story.substr(first, end - first));
        total += end - first;
      }
    }
    const std::size_t step = total / kSampleBytes + 1;
    for (std::size_t at = 0; at < chunks.size(); at += step) {
      std::string& sentence = sentences_.emplace_back();
      EachCharacter(chunks[at], [&](std::string_view character) {
        sentence += Learnable(character) ? character : kBreak;
      });
    }
  }

  bool done() const override { return at_ == sentences_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return sentences_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

  // Leaves out all but the `most` most frequent characters, so that they need no pieces.
  void KeepFrequent(std::size_t most) {
    std::map<std::string, std::size_t> counts;
    for (const std::string& sentence : sentences_) {
      EachCharacter(sentence,
                    [&](std::string_view character) { ++counts[std::string(character)]; });
    }
    if (counts.size() <= most) return;
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [character, count] : counts) sorted.emplace_back(count, character);
    std::sort(sorted.rbegin(), sorted.rend());
    sorted.resize(most);
    std::set<std::string, std::less<>> kept;
    for (const auto& [count, character] : sorted) kept.insert(character);
    for (std::string& sentence : sentences_) {
      std::string frequent;
      EachCharacter(sentence, [&](std::string_view character) {
        frequent += kept.contains(character) ? character : kBreak;
      });
      sentence = std::move(frequent);
    }
  }

 private:
  std::vector<std::string> sentences_;
  std::size_t at_ = 0;
};

struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const {
    return std::hash<std::string_view>()(word);
  }
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor,
               std::vector<std::string> bytes, std::string model)
      : Tokenizer(std::move(bytes), processor->eos_id()),
        processor_(std::move(processor)),
        model_(std::move(model)) {
    for (int byte = 0; byte < kBytePieces; ++byte) {
      byte_tokens_[static_cast<std::size_t>(byte)] =
          processor_->PieceToId(fmt::format("<0x{:02X}>", byte));
    }
  }

  std::string_view kind() const override { return "bpe"; }

  // SentencePiece takes what is UTF-8 and no space mark; the bytes of the rest stand for
  // themselves.
  std::vector<std::int32_t> Encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    std::size_t first = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = Utf8CharacterBytes(text, at);
      const bool plain = bytes > 0 && text[at] != '\0' && text.substr(at, bytes) != kSpaceMark;
      const std::size_t next = at + std::max<std::size_t>(1, bytes);
      if (!plain) {
        AppendPlain(text.substr(first, at - first), tokens);
        for (; at < next; ++at) {
          tokens.push_back(byte_tokens_[static_cast<unsigned char>(text[at])]);
        }
        first = next;
      }
      at = next;
    }
    AppendPlain(text.substr(first), tokens);
    return tokens;
  }

  std::string Save() const override { return SealTokenizer(kind(), model_); }

 private:
  // No piece reaches from one word into the next, so each word (with the space before it) is
  // encoded alone, and frequent ones once.
  void AppendPlain(std::string_view text, std::vector<std::int32_t>& tokens) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t first = 0, end; first < text.size(); first = end) {
      end = std::min(text.find(' ', first + 1), text.size());
      const std::string_view word = text.substr(first, end - first);
      const auto known = known_words_.find(word);
      if (known != known_words_.end()) {
        tokens.insert(tokens.end(), known->second.begin(), known->second.end());
        continue;
      }
      std::vector<int> ids;
      const sentencepiece::util::Status status = processor_->Encode(word, &ids);
      if (!status.ok()) throw Error("tokenizer", "SentencePiece failed: " + status.ToString());
      tokens.insert(tokens.end(), ids.begin(), ids.end());
      if (word.size() <= kLongestKnownWord && known_words_.size() < kMostKnownWords) {
        known_words_.emplace(word, std::move(ids));
      }
    }
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::string model_;
  std::array<std::int32_t, kBytePieces> byte_tokens_{};
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, std::vector<int>, WordHash, std::equal_to<>> known_words_;
};

[[noreturn]] void Refuse(const std::string& what) {
  throw UnreadableInput("tokenizer", "holds no SentencePiece model of the lab: " + what,
                        "train it again");
}

// The bytes each piece stands for.
std::vector<std::string> BytesOfPieces(const sentencepiece::SentencePieceProcessor& processor) {
  std::vector<std::string> bytes;
  int byte_pieces = 0;
  if (processor.GetPieceSize() > kMostPieces) Refuse("it has too many pieces");
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    const std::string& piece = processor.IdToPiece(id);
    if (piece.size() > kLongestPiece) Refuse("a piece is too long");
    if (processor.IsByte(id)) {
      const std::string expected = fmt::format("<0x{:02X}>", byte_pieces);
      if (piece != expected) Refuse("its byte pieces are out of order");
      bytes.emplace_back(1, static_cast<char>(static_cast<unsigned char>(byte_pieces++)));
    } else if (processor.IsControl(id) || processor.IsUnknown(id)) {
      bytes.emplace_back();
    } else {
      bytes.push_back(Replace(piece, kSpaceMark, " "));
    }
  }
  if (byte_pieces != kBytePieces) Refuse("it has no 256 byte pieces");
  return bytes;
}

// What a model of other settings would not give back unchanged.
constexpr std::string_view kProbe =
    " The fox,\n\n  the \xe7\x8b\x90\xe7\x8b\xb8;\tso \xef\xac\x81 \xef\xbc\xa1 a\xcc\x88?\r\n ";

void CheckPieces(int pieces) {
  if (pieces >= kFewestPieces && pieces <= kMostPieces) return;
  throw Error("tokenizer",
              fmt::format("pieces must be {} .. {}, got {}", kFewestPieces, kMostPieces, pieces));
}

}  // namespace

std::unique_ptr<Tokenizer> MakeBpeTokenizer(std::string_view model) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  const sentencepiece::util::Status status = processor->LoadFromSerializedProto(model);
  if (!status.ok()) Refuse(status.ToString());
  if (processor->eos_id() < 0) Refuse("it has no piece for the end of a story");
  std::vector<std::string> bytes = BytesOfPieces(*processor);
  auto tokenizer =
      std::make_unique<BpeTokenizer>(std::move(processor), std::move(bytes), std::string(model));
  if (tokenizer->Decode(tokenizer->Encode(kProbe)) != kProbe) Refuse("it changes the text");
  return tokenizer;
}

std::unique_ptr<Tokenizer> TrainBpeTokenizer(std::span<const std::string> stories, int pieces) {
  CheckPieces(pieces);
  Sample sample(stories);
  if (sample.done()) throw Error("tokenizer", "there is no text to learn pieces from");
  sample.KeepFrequent(static_cast<std::size_t>(pieces - kSpecialPieces - kBytePieces) / 2);
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(pieces)},
      {"hard_vocab_limit", "false"},
      {"byte_fallback", "true"},
      {"character_coverage", "1"},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "false"},
      {"remove_extra_whitespaces", "false"},
      {"unk_id", "0"},
      {"eos_id", "1"},
      {"bos_id", "-1"},
      {"pad_id", "-1"},
      {"eos_piece", kStoryMark},
      {"num_threads", "1"},
      {"minloglevel", std::to_string(kFatalOnly)}};
  std::string model;
  const sentencepiece::util::Status status =
      sentencepiece::SentencePieceTrainer::Train(settings, &sample, &model);
  if (!status.ok()) throw Error("tokenizer", "SentencePiece failed: " + status.ToString());
  std::unique_ptr<Tokenizer> tokenizer = MakeBpeTokenizer(model);
  if (tokenizer->vocabulary() != pieces) {
    throw Error(
        "tokenizer",
        fmt::format("the text to train on gives {} pieces, {} were asked for",
                    tokenizer->vocabulary(), pieces),
        fmt::format("ask for at most {} pieces, or take the bytes", tokenizer->vocabulary()));
  }
  return tokenizer;
}

}  // namespace sextant::lab
