// .npy files: round trips, files as NumPy writes them, and one refusal for each rule.
#include "sextant/formats/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sextant/core/error.h"

namespace sextant {
namespace {

// A file of the given version around a header and data.
std::string File(std::string header, const std::string& data, char major = 1) {
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {major, '\0', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  if (major == 2) bytes += {'\0', '\0'};
  return bytes + header + data;
}

std::string Doubles(int count) { return std::string(static_cast<std::size_t>(8 * count), '\0'); }

constexpr const char* kHeader = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";

// What ReadNpy says of a file it refuses, else an empty string.
std::string Refusal(const std::string& bytes, const NpyLimits& limits = {}) {
  try {
    ReadNpy(bytes, "x.npy", limits);
  } catch (const UnreadableInput& error) {
    EXPECT_EQ(error.where(), "x.npy");
    return error.rule();
  }
  return "";
}

void ExpectRefused(const std::string& bytes, const std::string& part) {
  EXPECT_NE(Refusal(bytes).find(part), std::string::npos) << Refusal(bytes);
}

void ExpectHeaderRefused(const std::string& header, const std::string& part) {
  ExpectRefused(File(header, Doubles(6)), part);
}

TEST(Npy, RoundTripsEveryRank) {
  const std::vector<std::vector<Index>> shapes = {{}, {6}, {2, 3}, {1, 2, 3}, {3, 1, 2, 1}, {0, 4}};
  for (const std::vector<Index>& shape : shapes) {
    std::vector<double> values;
    Index elements = 1;
    for (Index extent : shape) elements *= extent;
    for (Index i = 0; i < elements; ++i) values.push_back(std::sin(static_cast<double>(i)) * 1e9);
    const NpyArray array = ReadNpy(WriteNpy(values, shape), "test");
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.values, values);
  }
}

TEST(Npy, KeepsSpecialNumbers) {
  const std::vector<double> values = {std::numeric_limits<double>::denorm_min(), -0.0, INFINITY,
                                      NAN};
  const NpyArray array = ReadNpy(WriteNpy(values, std::vector<Index>{4}), "test");
  EXPECT_EQ(array.values[0], values[0]);
  EXPECT_TRUE(std::signbit(array.values[1]));
  EXPECT_EQ(array.values[2], INFINITY);
  EXPECT_TRUE(std::isnan(array.values[3]));
}

TEST(Npy, WritesViewsWithStrides) {
  std::vector<double> values = {1, 2, 0, 3, 4, 0};
  const View<const double, 2> view(values.data(), {2, 2}, {3, 1});
  const NpyArray array = ReadNpy(WriteNpy(view), "test");
  EXPECT_EQ(array.shape, (std::vector<Index>{2, 2}));
  EXPECT_EQ(array.values, (std::vector<double>{1, 2, 3, 4}));
}

TEST(Npy, AlignsItsData) {
  const std::string bytes = WriteNpy(std::vector<double>(6), std::vector<Index>{2, 3});
  EXPECT_EQ((bytes.size() - 6 * 8) % 64, 0u);
}

TEST(Npy, ReadsFloatsAndVersionTwo) {
  const std::string ones("\x00\x00\x80\x3F\x00\x00\x00\xC0", 8);
  const std::string header = "{'shape': (2,), \"fortran_order\": False, 'descr': '<f4'}";
  EXPECT_EQ(ReadNpy(File(header, ones), "test").values, (std::vector<double>{1, -2}));
  EXPECT_EQ(ReadNpy(File(kHeader, Doubles(6), 2), "test").values.size(), 6u);
}

TEST(Npy, RefusesToWriteWhatDoesNotFit) {
  const std::vector<double> values(6);
  EXPECT_THROW(WriteNpy(values, std::vector<Index>{2, 2}), Error);
  EXPECT_THROW(WriteNpy(values, std::vector<Index>{-2, -3}), Error);
  EXPECT_THROW(WriteNpy(values, std::vector<Index>{1, 1, 1, 2, 3}), Error);
  EXPECT_THROW(WriteNpy(values, std::vector<Index>{1ll << 62, 1ll << 62, 6}), Error);
}

TEST(NpyRefuses, AnotherStart) {
  ExpectRefused("", "does not start with");
  ExpectRefused("\x93NUMP", "does not start with");
  ExpectRefused("PK\3\4", "does not start with");
}

TEST(NpyRefuses, OtherVersions) {
  ExpectRefused("\x93NUMPY\x01", "ends before its version");
  ExpectRefused(std::string("\x93NUMPY\x03\x00\x00\x00\x00\x00", 12), "got 3.0");
  ExpectRefused(std::string("\x93NUMPY\x01\x01\x00\x00", 10), "got 1.1");
}

TEST(NpyRefuses, CutAndLongHeaders) {
  ExpectRefused(std::string("\x93NUMPY\x01\x00\x10", 9), "before its header's length");
  ExpectRefused(std::string("\x93NUMPY\x02\x00\x10\x00\x00", 11), "before its header's length");
  ExpectRefused(std::string("\x93NUMPY\x01\x00\x10\x00{", 11), "the header has 16 bytes, got 1");
  ExpectRefused(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12), "at most 10000 bytes");
}

TEST(NpyRefuses, MalformedHeaders) {
  ExpectHeaderRefused("", "'{' expected");
  ExpectHeaderRefused("{", "a string expected");
  ExpectHeaderRefused("{'descr", "a closed string expected");
  ExpectHeaderRefused("{'de\\x73cr': '<f8'}", "without escapes");
  ExpectHeaderRefused("{'descr' '<f8'}", "':' expected");
  ExpectHeaderRefused("{'descr': '<f8' 'shape': (6,)}", "'}' expected");
  ExpectHeaderRefused(std::string(kHeader) + "x", "text follows");
  ExpectHeaderRefused("{'descr': '<f8', 'fortran_order': 0, 'shape': (6,)}", "True or False");
}

TEST(NpyRefuses, KeysMissingUnknownOrTwice) {
  ExpectHeaderRefused("{'fortran_order': False, 'shape': (6,)}", "'descr' is missing");
  ExpectHeaderRefused("{'descr': '<f8', 'shape': (6,)}", "'fortran_order' is missing");
  ExpectHeaderRefused("{'descr': '<f8', 'fortran_order': False}", "'shape' is missing");
  ExpectHeaderRefused("{'more': '<f8'}", "unknown key 'more'");
  ExpectHeaderRefused("{'descr': '<f8', 'descr': '<f8'}", "'descr' is given twice");
  ExpectHeaderRefused("{'shape': (6,), 'shape': (6,)}", "'shape' is given twice");
  ExpectHeaderRefused("{'fortran_order': False, 'fortran_order': False}", "given twice");
}

TEST(NpyRefuses, OtherTypesAndOrder) {
  for (const char* type : {">f8", "<f2", "<i8", "|O", "f8"}) {
    ExpectHeaderRefused("{'descr': '" + std::string(type) + "'}", "got '" + std::string(type));
  }
  ExpectHeaderRefused("{'descr': [('a', '<f8')]}", "a string expected");
  ExpectHeaderRefused("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}", "Fortran order");
}

TEST(NpyRefuses, BadShapes) {
  const std::string start = "{'descr': '<f8', 'fortran_order': False, 'shape': ";
  ExpectHeaderRefused(start + "6}", "'(' expected");
  ExpectHeaderRefused(start + "(6)}", "',' expected");
  ExpectHeaderRefused(start + "(-6,)}", "an extent expected");
  ExpectHeaderRefused(start + "(2, 3", "')' expected");
  ExpectHeaderRefused(start + "(2 3)}", "',' expected");
  ExpectHeaderRefused(start + "(1, 1, 1, 2, 3)}", "at most 4 extents");
  ExpectHeaderRefused(start + "(99999999999999999999999,)}", "an extent must be at most");
  ExpectHeaderRefused(start + "(0, 99999999999999999999999)}", "an extent must be at most");
}

TEST(NpyRefuses, ProductsBeyondTheLimit) {
  const std::string start = "{'descr': '<f8', 'fortran_order': False, 'shape': ";
  ExpectHeaderRefused(start + "(268435456, 268435456, 268435456, 16)}", "must hold at most");
  EXPECT_NE(Refusal(File(kHeader, Doubles(6)), {.elements = 5}).find("must hold at most 5"),
            std::string::npos);
  EXPECT_EQ(Refusal(File(kHeader, Doubles(6)), {.elements = 6}), "");
}

TEST(NpyRefuses, BytesMissingOrLeftOver) {
  ExpectRefused(File(kHeader, Doubles(5)), "needs 48 bytes of data, got 40");
  ExpectRefused(File(kHeader, Doubles(7)), "needs 48 bytes of data, got 56");
  ExpectRefused(File(kHeader, Doubles(6) + "x"), "needs 48 bytes of data, got 49");
  ExpectRefused(File(kHeader, ""), "got 0");
}

TEST(NpyRefuses, EveryCutOfAFile) {
  const std::string bytes = WriteNpy(std::vector<double>(6), std::vector<Index>{2, 3});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Refusal(bytes.substr(0, size)), "") << size;
  }
}

}  // namespace
}  // namespace sextant
