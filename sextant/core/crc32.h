// The checksum of PNG chunks and zip entries.
#pragma once

#include <cstdint>
#include <string_view>

namespace sextant {

// CRC-32 (ISO 3309, polynomial 0xEDB88320) as of PNG and zip.
std::uint32_t Crc32(std::string_view bytes);

}  // namespace sextant
