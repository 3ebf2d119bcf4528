// PNG chunks around a zlib stream of stored blocks (RFC 1950, RFC 1951 section 3.2.4).
#include "sextant/plot/png.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sextant/core/crc32.h"
#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

constexpr int kLargestSide = 8192;

char Byte(std::uint32_t value) { return static_cast<char>(static_cast<std::uint8_t>(value)); }

std::string BigEndian(std::uint32_t value) {
  return {Byte(value >> 24), Byte(value >> 16), Byte(value >> 8), Byte(value)};
}

std::string Chunk(std::string_view type, std::string_view data) {
  std::string body(type);
  body += data;
  return BigEndian(static_cast<std::uint32_t>(data.size())) + body + BigEndian(Crc32(body));
}

std::string StoredZlib(std::string_view data) {
  constexpr std::size_t kBlock = 65535;
  std::string stream = "\x78\x01";
  for (std::size_t at = 0; at < data.size(); at += kBlock) {
    const std::string_view block = data.substr(at, kBlock);
    const auto size = static_cast<std::uint32_t>(block.size());
    const bool last = at + kBlock >= data.size();
    stream += {last ? '\1' : '\0', Byte(size), Byte(size >> 8), Byte(~size), Byte(~size >> 8)};
    stream += block;
  }
  return stream + BigEndian(Adler32(data));
}

void Check(const IndexedImage& image) {
  const auto [width, height] = std::pair(image.width, image.height);
  if (width < 1 || height < 1 || width > kLargestSide || height > kLargestSide) {
    throw Error("png",
                fmt::format("sides must be in 1..{}, got {} x {}", kLargestSide, width, height));
  }
  const std::size_t colors = image.palette.size();
  if (colors < 1 || colors > 256) {
    throw Error("png", fmt::format("the palette must hold 1..256 colours, got {}", colors));
  }
  const std::size_t wanted = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  if (image.pixels.size() != wanted) {
    throw Error("png", fmt::format("{} x {} needs {} pixels, got {}", width, height, wanted,
                                   image.pixels.size()));
  }
  const std::uint8_t largest = *std::ranges::max_element(image.pixels);
  if (largest >= colors) {
    throw Error("png", fmt::format("pixels must be below {}, got {}", colors, largest));
  }
}

}  // namespace

std::uint32_t Adler32(std::string_view bytes) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t sum = 1, sums = 0;
  for (char byte : bytes) {
    sum = (sum + static_cast<std::uint8_t>(byte)) % kPrime;
    sums = (sums + sum) % kPrime;
  }
  return sums << 16 | sum;
}

std::string EncodePng(const IndexedImage& image) {
  Check(image);
  std::string colors, opacities;
  for (const Rgba& color : image.palette) {
    colors += {Byte(color.red), Byte(color.green), Byte(color.blue)};
    opacities += Byte(color.opacity);
  }
  const auto width = static_cast<std::size_t>(image.width);
  const auto height = static_cast<std::size_t>(image.height);
  std::string lines;
  lines.reserve((width + 1) * height);
  for (std::size_t row = 0; row < height; ++row) {
    lines += '\0';
    const auto* line = image.pixels.data() + row * width;
    lines.append(line, line + width);
  }
  const std::string size = BigEndian(static_cast<std::uint32_t>(image.width)) +
                           BigEndian(static_cast<std::uint32_t>(image.height));
  constexpr std::string_view kEightBitPalette("\x08\x03\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1A\n" + Chunk("IHDR", size + std::string(kEightBitPalette)) +
         Chunk("PLTE", colors) + Chunk("tRNS", opacities) + Chunk("IDAT", StoredZlib(lines)) +
         Chunk("IEND", "");
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < given ? static_cast<std::uint8_t>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= given ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace sextant::plot
