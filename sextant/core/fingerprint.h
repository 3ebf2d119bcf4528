// A short number that tells whether bytes are the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

// 64-bit FNV-1a (Fowler, Noll, Vo). For telling accidental differences, not for security.
inline std::uint64_t Fingerprint(std::string_view bytes,
                                 std::uint64_t start = 0xcbf29ce484222325u) {
  for (const char byte : bytes) {
    start = (start ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return start;
}

// Sixteen hexadecimal digits.
inline std::string FingerprintText(std::uint64_t fingerprint) {
  std::string text(16, '0');
  for (std::size_t digit = 16; digit-- > 0; fingerprint >>= 4) {
    text[digit] = "0123456789abcdef"[fingerprint & 15];
  }
  return text;
}

}  // namespace sextant
