// One test for each rule of the format, and the round trip.
#include "sextant/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sextant/core/error.h"

namespace sextant {
namespace {

// A file from a header and data, the header's size as given or as it is.
std::string FileOf(const std::string& header, const std::string& data,
                   std::uint64_t size = ~std::uint64_t{0}) {
  if (size == ~std::uint64_t{0}) size = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

std::string OneTensor(const std::string& dtype, const std::string& shape,
                      const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

void ExpectRefused(const std::string& bytes, const std::string& part) {
  try {
    ReadSafetensors(bytes, "file.safetensors");
    FAIL() << "accepted; expected: " << part;
  } catch (const UnreadableInput& error) {
    EXPECT_EQ(error.where(), "file.safetensors");
    EXPECT_NE(error.rule().find(part), std::string::npos) << error.rule();
  }
}

TEST(SafetensorsTest, ReadsBackWhatItWrote) {
  TensorFile file;
  file.metadata = {{"step", "3"}};
  file.tensors["b"] = {"F32", {2, 1}, std::string("\0\0\x80\x3f\0\0\0\x40", 8)};
  file.tensors["a"] = {"U8", {3}, "xyz"};
  file.tensors["empty"] = {"I64", {0, 4}, ""};
  const std::string bytes = WriteSafetensors(file);
  const TensorFile back = ReadSafetensors(bytes, "file");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), 3u);
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(back.tensors.at(name).type, tensor.type);
    EXPECT_EQ(back.tensors.at(name).shape, tensor.shape);
    EXPECT_EQ(back.tensors.at(name).bytes, tensor.bytes);
  }
  EXPECT_NO_THROW(back.Get("a", "U8", {3}, "file"));
  EXPECT_THROW(back.Get("a", "U8", {4}, "file"), UnreadableInput);
  EXPECT_THROW(back.Get("a", "I8", {3}, "file"), UnreadableInput);
  EXPECT_THROW(back.Get("c", "U8", {3}, "file"), UnreadableInput);
}

TEST(SafetensorsTest, EveryCutIsRefused) {
  TensorFile file;
  file.tensors["a"] = {"F64", {2}, std::string(16, 'x')};
  const std::string bytes = WriteSafetensors(file);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(ReadSafetensors(bytes.substr(0, length), "file"), UnreadableInput) << length;
  }
}

TEST(SafetensorsTest, RefusesEachBrokenRule) {
  ExpectRefused("1234", "cut short inside its first 8 bytes");
  ExpectRefused(FileOf("{}", "", 3), "cut short inside its header");
  ExpectRefused(FileOf("{}", "", std::uint64_t{1} << 62), "its header claims");
  ExpectRefused(FileOf("[]", ""), "no JSON object");
  ExpectRefused(FileOf("{", ""), "not valid JSON");
  ExpectRefused(FileOf(R"({"__metadata__":3})", ""), "__metadata__ is no object");
  ExpectRefused(FileOf(R"({"__metadata__":{"a":3}})", ""), "a metadata value is no text");
  ExpectRefused(FileOf(R"({"a":3})", ""), "lacks dtype, shape or data_offsets");
  ExpectRefused(FileOf(OneTensor("F31", "[1]", "[0,4]"), "abcd"), "unknown dtype");
  ExpectRefused(FileOf(OneTensor("F32", "[1.5]", "[0,4]"), "abcd"), "something else than whole");
  ExpectRefused(FileOf(OneTensor("F32", "[1]", "[-4,0]"), "abcd"), "whole numbers from 0");
  ExpectRefused(FileOf(OneTensor("F32", "[1]", "[0,8]"), "abcd"), "outside the file");
  ExpectRefused(FileOf(OneTensor("F32", "[1]", "[4,0]"), "abcd"), "outside the file");
  ExpectRefused(FileOf(OneTensor("F32", "[2]", "[0,4]"), "abcd"), "do not fit its shape");
  ExpectRefused(FileOf(OneTensor("F32", "[-1]", "[0,4]"), "abcd"), "do not fit its shape");
  ExpectRefused(FileOf(OneTensor("F32", "[4611686018427387904,4]", "[0,0]"), ""),
                "do not fit its shape");
  ExpectRefused(FileOf(OneTensor("U8", "[2]", "[0,2]"), "abcd"), "bytes after its last tensor");
  ExpectRefused(FileOf(OneTensor("U8", "[2]", "[2,4]"), "abcd"), "overlap or leave a hole");
  ExpectRefused(FileOf(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
                       "abcd"),
                "overlap or leave a hole");
  ExpectRefused(FileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                       "ab"),
                "given twice");
}

TEST(SafetensorsTest, RefusesToWriteBytesThatDoNotFit) {
  TensorFile file;
  file.tensors["a"] = {"F32", {2}, "1234"};
  EXPECT_THROW(WriteSafetensors(file), Error);
  file.tensors["a"] = {"F99", {1}, "1234"};
  EXPECT_THROW(WriteSafetensors(file), Error);
}

}  // namespace
}  // namespace sextant
