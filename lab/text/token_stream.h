// Stories as one long row of tokens, and the windows of it that training and evaluation see.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/text/tokenizer.h"
#include "sextant/core/view.h"

namespace sextant::lab {

// `inputs` tokens from `first` on, and as their targets the same tokens shifted by one: input i is
// token first + i and its target token first + i + 1. Only the last `scored` targets count.
struct TokenWindow {
  Index first = 0;
  Index inputs = 0;
  Index scored = 0;
};

// All stories encoded, one after the other, each followed by the end of a story. Immutable.
class TokenStream {
 public:
  // `name` starts error messages: "--data", "stories, held out". Allocates 5 bytes a token.
  TokenStream(const Tokenizer& tokenizer, std::span<const std::string> stories, std::string name);
  // Of tokens already encoded by `tokenizer`; throws Error for one outside its vocabulary.
  TokenStream(const Tokenizer& tokenizer, std::vector<std::int32_t> tokens, std::string name);

  const std::string& name() const { return name_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  Index size() const { return static_cast<Index>(tokens_.size()); }

  // Bytes of text the tokens [first, first + count) stand for: the end of a story stands for none,
  // so the bytes of a whole stream are those of its stories. Throws Error where they are not all
  // there.
  Index Bytes(Index first, Index count) const;
  // Bytes of the targets that count in a window: bits per byte is their loss in bits over this.
  Index ScoredBytes(const TokenWindow& window) const;

  // The tokens of a window: its inputs and the last target, `inputs` + 1 in all. Throws Error where
  // they are not all there.
  std::span<const std::int32_t> Tokens(const TokenWindow& window) const;

  // Fills out[batch, context + 1] with windows from random places, each place equally likely and
  // independent of the others: a pure function of seed and step. Does not allocate. Throws Error
  // where out has no row or fewer than 2 columns, and where the stream is shorter than one row.
  void Batch(std::uint64_t seed, std::uint64_t step, View<std::int32_t, 2> out) const;

  // Windows of `context` inputs that share no target, from the start on, as many as fit but at most
  // `most`; all their targets count. Throws Error where context or most is below 1 and where not
  // one fits.
  std::vector<TokenWindow> Windows(Index context, Index most) const;

  // Windows of `context` inputs whose last `scored` targets count. The targets depend on `scored`,
  // `longest` and `most` alone, so contexts of any length up to `longest` are scored on the same
  // tokens. At most `most` windows, spread evenly over the stream, none sharing a counted target.
  // Throws Error unless 1 <= scored <= context <= longest and most >= 1, and where the stream is
  // too short for one context of `longest`.
  std::vector<TokenWindow> FixedTargets(Index scored, Index context, Index longest,
                                        Index most) const;

 private:
  [[noreturn]] void Fail(const std::string& rule) const;
  void CheckLength(Index context) const;

  std::string name_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint8_t> bytes_;  // of each token
};

}  // namespace sextant::lab
