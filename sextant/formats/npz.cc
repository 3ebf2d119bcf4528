// Zip files of stored entries after PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16.
#include "sextant/formats/npz.h"

#include <algorithm>
#include <cstdint>

#include "sextant/core/crc32.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::string_view kLocal("PK\x03\x04", 4), kCentral("PK\x01\x02", 4),
    kEnd("PK\x05\x06", 4), kSuffix(".npy");
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr std::size_t kMostEntries = 1000, kLongestName = 200;
constexpr std::uint64_t kLargest = 0xFFFFFFFFu;

void Append(std::string& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
}

// What a local header and a directory entry share: version needed to the length of the extra field.
void AppendEntry(std::string& bytes, std::string_view name, std::string_view data) {
  Append(bytes, 20, 2);           // version 2.0
  Append(bytes, 0, 4);            // flags, stored
  Append(bytes, 0x21u << 16, 4);  // 1980-01-01: files with equal arrays are equal
  Append(bytes, Crc32(data), 4);
  Append(bytes, data.size(), 4);
  Append(bytes, data.size(), 4);
  Append(bytes, name.size(), 2);
  Append(bytes, 0, 2);
}

class Directory {
 public:
  Directory(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  NpzArrays Read() {
    const std::size_t end = FindEnd();
    const std::uint64_t count = At(end + 10, 2), size = At(end + 12, 4), start = At(end + 16, 4);
    if (count > kMostEntries) Fail("has more than 1000 arrays");
    if (start > end || size > end - start) Fail("its directory lies outside the file");
    NpzArrays arrays;
    std::size_t at = start;
    for (std::uint64_t entry = 0; entry < count; ++entry) at = ReadEntry(at, end, arrays);
    return arrays;
  }

 private:
  [[noreturn]] void Fail(const std::string& rule) const { throw UnreadableInput(where_, rule); }

  std::uint64_t At(std::size_t at, int count) const {
    std::uint64_t value = 0;
    for (int i = count; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes_[at + std::size_t(i)]);
    }
    return value;
  }

  // The end record may be followed by a comment of at most 65535 bytes.
  std::size_t FindEnd() const {
    if (bytes_.size() < kEndBytes) Fail("is no zip file (npz): it is too short");
    const std::size_t last = bytes_.size() - kEndBytes;
    const std::size_t first = last > 65535 ? last - 65535 : 0;
    for (std::size_t at = last + 1; at-- > first;) {
      if (bytes_.substr(at, 4) == kEnd && at + kEndBytes + At(at + 20, 2) == bytes_.size()) {
        return at;
      }
    }
    Fail("is no zip file (npz): it has no end of directory");
  }

  std::size_t ReadEntry(std::size_t at, std::size_t end, NpzArrays& arrays) const {
    if (end - at < kCentralBytes || bytes_.substr(at, 4) != kCentral) {
      Fail("its directory is damaged");
    }
    const std::uint64_t flags = At(at + 8, 2), method = At(at + 10, 2), crc = At(at + 16, 4),
                        size = At(at + 20, 4), whole = At(at + 24, 4), local = At(at + 42, 4);
    const std::size_t name_size = At(at + 28, 2), extra = At(at + 30, 2) + At(at + 32, 2);
    if (end - at - kCentralBytes < name_size + extra) Fail("its directory is damaged");
    const std::string name = NameOf(bytes_.substr(at + kCentralBytes, name_size));
    if ((flags & 1) != 0) Fail("array " + name + " is encrypted");
    if (method != 0) {
      throw UnreadableInput(where_, "array " + name + " is compressed",
                            "write it with numpy.savez instead of numpy.savez_compressed");
    }
    if (size != whole || size == kLargest) Fail("array " + name + " has no plain size");
    const std::string_view data = Data(name, local, size);
    if (Crc32(data) != crc) Fail("the checksum of array " + name + " is wrong");
    for (const auto& [known, array] : arrays) {
      if (known == name) Fail("has two arrays named " + name);
    }
    arrays.emplace_back(name, ReadNpy(data, std::string(where_) + ", array " + name));
    return at + kCentralBytes + name_size + extra;
  }

  // The name without .npy; it ends up in messages, so it is cut and cleaned.
  std::string NameOf(std::string_view name) const {
    if (!name.ends_with(kSuffix) || name.size() == kSuffix.size() || name.size() > kLongestName) {
      Fail("holds something that is no .npy array");
    }
    std::string clean(name.substr(0, name.size() - kSuffix.size()));
    for (char& c : clean) {
      if (c < ' ' || c == 127) c = '?';
    }
    return clean;
  }

  std::string_view Data(const std::string& name, std::uint64_t local, std::uint64_t size) const {
    if (local > bytes_.size() || bytes_.size() - local < kLocalBytes ||
        bytes_.substr(local, 4) != kLocal) {
      Fail("array " + name + " does not lie where the directory says");
    }
    const std::uint64_t start = local + kLocalBytes + At(local + 26, 2) + At(local + 28, 2);
    if (start > bytes_.size() || bytes_.size() - start < size) {
      Fail("array " + name + " lies outside the file");
    }
    return bytes_.substr(start, size);
  }

  std::string_view bytes_;
  std::string_view where_;
};

}  // namespace

std::string WriteNpz(const NpzArrays& arrays) {
  std::string bytes, directory;
  for (const auto& [name, array] : arrays) {
    if (name.empty() || name.size() + kSuffix.size() > kLongestName ||
        std::count_if(arrays.begin(), arrays.end(),
                      [&](const auto& other) { return other.first == name; }) != 1) {
      throw Error("npz", "names must be unique and of 1 to 196 bytes, got \"" + name + "\"");
    }
    const std::string file = name + std::string(kSuffix);
    const std::string data = WriteNpy(array.values, array.shape);
    if (bytes.size() + data.size() > kLargest / 2) throw Error("npz", "would pass 2 GiB");
    directory += kCentral;
    Append(directory, 20, 2);
    AppendEntry(directory, file, data);
    Append(directory, 0, 2);  // comment
    Append(directory, 0, 2);  // disk
    Append(directory, 0, 6);  // attributes
    Append(directory, bytes.size(), 4);
    directory += file;
    bytes += kLocal;
    AppendEntry(bytes, file, data);
    bytes += file;
    bytes += data;
  }
  const std::size_t start = bytes.size();
  bytes += directory;
  bytes += kEnd;
  Append(bytes, 0, 4);
  Append(bytes, arrays.size(), 2);
  Append(bytes, arrays.size(), 2);
  Append(bytes, directory.size(), 4);
  Append(bytes, start, 4);
  Append(bytes, 0, 2);
  return bytes;
}

NpzArrays ReadNpz(std::string_view bytes, std::string_view where) {
  return Directory(bytes, where).Read();
}

}  // namespace sextant
