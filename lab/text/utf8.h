// The characters of a UTF-8 text, and where it stops being one.
#pragma once

#include <cstddef>
#include <string_view>

namespace sextant::lab {

// Bytes (1 to 4) of the well-formed character that starts at `at`, or 0 where none does: a stray or
// missing continuation byte, an overlong form, a surrogate, a value above U+10FFFF, or the end.
std::size_t Utf8CharacterBytes(std::string_view text, std::size_t at);

// The offset of the first byte that starts no well-formed character, or npos where all is UTF-8.
std::size_t FirstInvalidUtf8(std::string_view text);

// The largest character start that is at most `at` in a well-formed text (its size counts as one).
std::size_t Utf8Boundary(std::string_view text, std::size_t at);

}  // namespace sextant::lab
