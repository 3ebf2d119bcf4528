// The PNG encoder: check sums, layout and refusals.
#include "sextant/plot/png.h"

#include <gtest/gtest.h>

#include "sextant/core/crc32.h"
#include "sextant/core/error.h"

namespace sextant::plot {
namespace {

IndexedImage Checkers(int width, int height) {
  IndexedImage image{width, height, {}, {{255, 255, 255, 255}, {0, 0, 0, 128}}};
  for (int i = 0; i < width * height; ++i) image.pixels.push_back(i % 2);
  return image;
}

std::uint32_t BigEndianAt(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

TEST(Png, CheckSumsMatchTheirStandards) {
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(Crc32("IEND"), 0xAE426082u);
  EXPECT_EQ(Adler32("Wikipedia"), 0x11E60398u);
}

TEST(Png, Base64MatchesRfc4648) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xFF\xFE"), "//4=");
}

TEST(Png, HasItsChunksWithSizesAndSums) {
  const std::string png = EncodePng(Checkers(3, 2));
  ASSERT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1A\n");
  std::string types;
  for (std::size_t at = 8; at < png.size();) {
    const std::uint32_t size = BigEndianAt(png, at);
    EXPECT_EQ(BigEndianAt(png, at + 8 + size), Crc32(png.substr(at + 4, size + 4)));
    types += png.substr(at + 4, 4) + " ";
    at += size + 12;
  }
  EXPECT_EQ(types, "IHDR PLTE tRNS IDAT IEND ");
  EXPECT_EQ(BigEndianAt(png, 16), 3u);
  EXPECT_EQ(BigEndianAt(png, 20), 2u);
}

TEST(Png, SplitsDataIntoStoredBlocks) {
  const std::string png = EncodePng(Checkers(512, 300));
  const std::size_t lines = 513 * 300, blocks = 3;
  const std::size_t start = png.find("IDAT");
  EXPECT_EQ(BigEndianAt(png, start - 4), 2 + lines + 5 * blocks + 4);
}

TEST(Png, RefusesWhatDoesNotFit) {
  EXPECT_THROW(EncodePng(Checkers(0, 2)), Error);
  EXPECT_THROW(EncodePng(Checkers(8193, 1)), Error);
  IndexedImage image = Checkers(2, 2);
  image.palette.clear();
  EXPECT_THROW(EncodePng(image), Error);
  image.palette.resize(257);
  EXPECT_THROW(EncodePng(image), Error);
  image.palette.resize(1);
  EXPECT_THROW(EncodePng(image), Error) << "a pixel beyond the palette";
  image = Checkers(2, 2);
  image.pixels.pop_back();
  EXPECT_THROW(EncodePng(image), Error);
}

}  // namespace
}  // namespace sextant::plot
