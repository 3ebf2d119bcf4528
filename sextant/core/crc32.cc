// CRC-32 by a table of bytes.
#include "sextant/core/crc32.h"

#include <array>

namespace sextant {

std::uint32_t Crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
      entries[i] = value;
    }
    return entries;
  }();
  std::uint32_t crc = ~0u;
  for (char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace sextant
