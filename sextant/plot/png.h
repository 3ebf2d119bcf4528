// Small images with a palette as PNG bytes, for pictures inside an SVG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::plot {

struct Rgba {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  std::uint8_t opacity = 255;

  bool operator==(const Rgba&) const = default;
};

// Pixel (row, column) has the colour palette[pixels[row * width + column]].
struct IndexedImage {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<Rgba> palette;
};

// The image as an 8-bit palette PNG whose data is stored uncompressed: about width * height bytes.
// Throws Error where a side is not in 1..8192, the palette does not hold 1..256 colours, or pixels
// are missing, left over or beyond the palette.
std::string EncodePng(const IndexedImage& image);

// RFC 4648 base 64 with padding.
std::string Base64(std::string_view bytes);

// Adler-32 as of zlib.
std::uint32_t Adler32(std::string_view bytes);

}  // namespace sextant::plot
