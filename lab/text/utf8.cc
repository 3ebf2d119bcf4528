// UTF-8 checked by the table of well-formed byte sequences (Unicode standard, table 3-7).
#include "lab/text/utf8.h"

#include <algorithm>

namespace sextant::lab {
namespace {

unsigned char ByteAt(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool InRange(std::string_view text, std::size_t at, unsigned char least, unsigned char most) {
  return at < text.size() && ByteAt(text, at) >= least && ByteAt(text, at) <= most;
}

}  // namespace

std::size_t Utf8CharacterBytes(std::string_view text, std::size_t at) {
  if (at >= text.size()) return 0;
  const unsigned char first = ByteAt(text, at);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!InRange(text, at + 1, least, most)) return 0;
  if (first < 0xe0) return 2;
  if (!InRange(text, at + 2, 0x80, 0xbf)) return 0;
  if (first < 0xf0) return 3;
  return InRange(text, at + 3, 0x80, 0xbf) ? 4 : 0;
}

std::size_t FirstInvalidUtf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = Utf8CharacterBytes(text, at);
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

std::size_t Utf8Boundary(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && at < text.size() && (ByteAt(text, at) & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace sextant::lab
