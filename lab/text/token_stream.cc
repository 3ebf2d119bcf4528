// Encoding stories into a stream and cutting windows out of it.
#include "lab/text/token_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant::lab {

namespace {

std::vector<std::int32_t> EncodeAll(const Tokenizer& tokenizer,
                                    std::span<const std::string> stories) {
  std::vector<std::int32_t> tokens;
  for (const std::string& story : stories) {
    const std::vector<std::int32_t> encoded = tokenizer.Encode(story);
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    tokens.push_back(tokenizer.end_of_story());
  }
  return tokens;
}

}  // namespace

TokenStream::TokenStream(const Tokenizer& tokenizer, std::span<const std::string> stories,
                         std::string name)
    : TokenStream(tokenizer, EncodeAll(tokenizer, stories), std::move(name)) {}

TokenStream::TokenStream(const Tokenizer& tokenizer, std::vector<std::int32_t> tokens,
                         std::string name)
    : name_(std::move(name)), tokens_(std::move(tokens)) {
  bytes_.reserve(tokens_.size());
  for (const std::int32_t token : tokens_) {
    bytes_.push_back(static_cast<std::uint8_t>(tokenizer.Bytes(token).size()));
  }
}

void TokenStream::Fail(const std::string& rule) const { throw Error(name_, rule); }

void TokenStream::CheckLength(Index context) const {
  if (context < size()) return;
  throw Error(name_, fmt::format("has {} tokens, one context needs {}", size(), context + 1),
              "give more text or a shorter context");
}

Index TokenStream::Bytes(Index first, Index count) const {
  if (first < 0 || count < 0 || first > size() - count) {
    Fail(fmt::format("has {} tokens, not {} from {} on", size(), count, first));
  }
  const auto begin = bytes_.begin() + first;
  return std::accumulate(begin, begin + count, Index{0});
}

Index TokenStream::ScoredBytes(const TokenWindow& window) const {
  return Bytes(window.first + window.inputs + 1 - window.scored, window.scored);
}

std::span<const std::int32_t> TokenStream::Tokens(const TokenWindow& window) const {
  if (window.first < 0 || window.inputs < 1 || window.first >= size() - window.inputs) {
    Fail(fmt::format("has {} tokens, not {} from {} on", size(), window.inputs + 1, window.first));
  }
  return std::span(tokens_).subspan(static_cast<std::size_t>(window.first),
                                    static_cast<std::size_t>(window.inputs + 1));
}

void TokenStream::Batch(std::uint64_t seed, std::uint64_t step, View<std::int32_t, 2> out) const {
  const Index rows = out.extent(0), columns = out.extent(1);
  if (rows < 1 || columns < 2) {
    Fail(fmt::format("a batch must be [batch, context + 1] with both at least 1, got [{}, {}]",
                     rows, columns));
  }
  CheckLength(columns - 1);
  Random random = Random::For(seed, step);
  const auto places = static_cast<std::uint64_t>(size() - columns + 1);
  for (Index row = 0; row < rows; ++row) {
    const auto from = tokens_.begin() + static_cast<Index>(random.Below(places));
    std::copy_n(from, columns, &out(row, Index{0}));
  }
}

std::vector<TokenWindow> TokenStream::Windows(Index context, Index most) const {
  if (context < 1 || most < 1) {
    Fail(fmt::format("context and windows must be at least 1, got {} and {}", context, most));
  }
  CheckLength(context);
  const Index count = std::min(most, (size() - 1) / context);
  std::vector<TokenWindow> windows;
  windows.reserve(static_cast<std::size_t>(count));
  for (Index at = 0; at < count; ++at) windows.push_back({at * context, context, context});
  return windows;
}

std::vector<TokenWindow> TokenStream::FixedTargets(Index scored, Index context, Index longest,
                                                   Index most) const {
  if (scored < 1 || context < scored || longest < context || most < 1) {
    Fail(
        fmt::format("1 <= scored <= context <= longest and windows >= 1 must hold, got scored {}, "
                    "context {}, longest {} and windows {}",
                    scored, context, longest, most));
  }
  CheckLength(longest);
  const Index room = size() - 1 - longest;
  const Index count = std::min(most, room / scored + 1);
  std::vector<TokenWindow> windows;
  windows.reserve(static_cast<std::size_t>(count));
  for (Index at = 0; at < count; ++at) {
    // Whole steps and the share of the rest, so that no product overflows.
    const Index gaps = std::max<Index>(1, count - 1);
    const Index end = longest + room / gaps * at + room % gaps * at / gaps;
    windows.push_back({end - context, context, scored});
  }
  return windows;
}

}  // namespace sextant::lab
