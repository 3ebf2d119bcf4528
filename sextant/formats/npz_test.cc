// NPZ: bytes a zip reader agrees with, round trips, and a refusal for each rule.
#include "sextant/formats/npz.h"

#include <gtest/gtest.h>

#include "sextant/core/error.h"

namespace sextant {
namespace {

NpzArrays Two() { return {{"a", {{2, 2}, {1, 2, 3, 4}}}, {"inputs.query", {{3}, {-1, 0.5, 7}}}}; }

std::string Refusal(const std::string& bytes) {
  try {
    ReadNpz(bytes, "f.npz");
  } catch (const UnreadableInput& error) {
    return error.what();
  }
  return "accepted";
}

// The byte at which the directory's entry of an array starts.
std::size_t EntryOf(const std::string& bytes, int number) {
  std::size_t at = bytes.find("PK\x01\x02");
  for (int n = 0; n < number; ++n) at = bytes.find("PK\x01\x02", at + 1);
  return at;
}

TEST(NpzTest, WhatIsWrittenIsReadBack) {
  const NpzArrays back = ReadNpz(WriteNpz(Two()), "f.npz");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].first, "a");
  EXPECT_EQ(back[0].second.shape, (std::vector<Index>{2, 2}));
  EXPECT_EQ(back[1].first, "inputs.query");
  EXPECT_EQ(back[1].second.values, (std::vector<double>{-1, 0.5, 7}));
  EXPECT_TRUE(ReadNpz(WriteNpz({}), "f.npz").empty());
}

TEST(NpzTest, EntriesAreStoredWithTheirChecksumAtTheirPlace) {
  const std::string bytes = WriteNpz(Two());
  EXPECT_EQ(bytes.substr(0, 4), std::string("PK\x03\x04", 4));
  EXPECT_EQ(bytes.substr(30, 5), "a.npy");
  EXPECT_EQ(bytes.substr(36, 5), "NUMPY");
  EXPECT_EQ(bytes.substr(8, 2), std::string(2, '\0'));  // method: stored
}

TEST(NpzTest, RefusesEachThingItCannotTrust) {
  const std::string good = WriteNpz(Two());
  EXPECT_EQ(Refusal("PK"), "f.npz: is no zip file (npz): it is too short");
  EXPECT_NE(Refusal(std::string(100, 'x')).find("no end of directory"), std::string::npos);
  std::string compressed = good;
  compressed[EntryOf(good, 0) + 10] = 8;
  EXPECT_NE(Refusal(compressed).find("numpy.savez instead"), std::string::npos);
  std::string encrypted = good;
  encrypted[EntryOf(good, 0) + 8] = 1;
  EXPECT_NE(Refusal(encrypted).find("is encrypted"), std::string::npos);
  std::string damaged = good;
  damaged[180] ^= 1;
  EXPECT_NE(Refusal(damaged).find("checksum of array"), std::string::npos);
  std::string moved = good;
  moved[EntryOf(good, 1) + 42] = 7;
  EXPECT_NE(Refusal(moved).find("does not lie where"), std::string::npos);
  std::string longer = good;
  longer[EntryOf(good, 1) + 22] = longer[EntryOf(good, 1) + 26] = 1;
  EXPECT_NE(Refusal(longer).find("lies outside the file"), std::string::npos);
  std::string twice = good;
  twice[EntryOf(good, 0)] = 'X';
  EXPECT_NE(Refusal(twice).find("directory is damaged"), std::string::npos);
  std::string outside = good;
  outside[good.size() - 3] = 0x7f;
  EXPECT_NE(Refusal(outside).find("directory lies outside"), std::string::npos);
  std::string renamed = good;
  renamed[EntryOf(good, 0) + 46 + 4] = 'x';
  EXPECT_NE(Refusal(renamed).find("no .npy array"), std::string::npos);
}

TEST(NpzTest, EveryCutIsRefused) {
  const std::string good = WriteNpz(Two());
  for (std::size_t size = 0; size < good.size(); size += 3) {
    EXPECT_NE(Refusal(good.substr(0, size)), "accepted") << size;
  }
}

TEST(NpzTest, NamesAreUniqueAndNotEmpty) {
  EXPECT_THROW(WriteNpz({{"", {{1}, {0}}}}), Error);
  EXPECT_THROW(WriteNpz({{"a", {{1}, {0}}}, {"a", {{1}, {0}}}}), Error);
}

}  // namespace
}  // namespace sextant
