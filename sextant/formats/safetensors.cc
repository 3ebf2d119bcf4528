// Writing and checked reading of safetensors.
#include "sextant/formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/formats/json.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMaxHeader = 64u << 20;

// Bytes of an element, 0 for an unknown type.
std::uint64_t TypeBytes(std::string_view type) {
  if (type == "F64" || type == "I64") return 8;
  if (type == "F32" || type == "I32") return 4;
  if (type == "F16" || type == "BF16" || type == "I16") return 2;
  if (type == "I8" || type == "U8" || type == "BOOL") return 1;
  return 0;
}

// Bytes a tensor needs; false where that overflows or an extent is negative.
bool NeededBytes(std::string_view type, const std::vector<std::int64_t>& shape,
                 std::uint64_t& bytes) {
  bytes = TypeBytes(type);
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      return false;
    }
  }
  return true;
}

struct Placed {
  std::uint64_t begin, end;
  std::string name;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  TensorFile Read() {
    const Json header = Header();
    if (!header.is_object()) Fail("its header is no JSON object");
    TensorFile file;
    std::vector<Placed> places;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        ReadMetadata(entry, file);
      } else {
        places.push_back(ReadTensor(name, entry, file));
      }
    }
    CheckCover(places);
    return file;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw UnreadableInput(where_, "is no valid safetensors file: " + what);
  }

  Json Header() {
    std::uint64_t size = 0;
    if (bytes_.size() < sizeof size) Fail("it is cut short inside its first 8 bytes");
    std::memcpy(&size, bytes_.data(), sizeof size);
    if (size > kMaxHeader) Fail("its header claims " + std::to_string(size) + " bytes");
    if (size > bytes_.size() - sizeof size) Fail("it is cut short inside its header");
    data_ = bytes_.substr(sizeof size + size);
    return ReadJson(bytes_.substr(sizeof size, size), where_, kMaxHeader);
  }

  void ReadMetadata(const Json& entry, TensorFile& file) const {
    if (!entry.is_object()) Fail("__metadata__ is no object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) Fail("a metadata value is no text");
      file.metadata[key] = value.get<std::string>();
    }
  }

  Placed ReadTensor(const std::string& name, const Json& entry, TensorFile& file) const {
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
        !entry.contains("shape") || !entry["shape"].is_array() || !entry.contains("data_offsets") ||
        !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2) {
      Fail("a tensor lacks dtype, shape or data_offsets");
    }
    StoredTensor tensor;
    tensor.type = entry["dtype"].get<std::string>();
    if (TypeBytes(tensor.type) == 0) Fail("a tensor has an unknown dtype");
    for (const Json& extent : entry["shape"]) {
      if (!extent.is_number_integer()) Fail("a shape holds something else than whole numbers");
      tensor.shape.push_back(extent.get<std::int64_t>());
    }
    for (const Json& offset : entry["data_offsets"]) {
      if (!offset.is_number_integer() || offset.get<std::int64_t>() < 0) {
        Fail("data_offsets must be whole numbers from 0");
      }
    }
    const Placed place{entry["data_offsets"][0].get<std::uint64_t>(),
                       entry["data_offsets"][1].get<std::uint64_t>(), name};
    if (place.begin > place.end || place.end > data_.size()) {
      Fail("a tensor lies outside the file, which may be cut short");
    }
    std::uint64_t needed = 0;
    if (!NeededBytes(tensor.type, tensor.shape, needed) || needed != place.end - place.begin) {
      Fail("a tensor's bytes do not fit its shape");
    }
    tensor.bytes = data_.substr(place.begin, needed);
    file.tensors[name] = std::move(tensor);
    return place;
  }

  void CheckCover(std::vector<Placed>& places) const {
    std::sort(places.begin(), places.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t at = 0;
    for (const Placed& place : places) {
      if (place.begin != at) Fail("its tensors overlap or leave a hole");
      at = place.end;
    }
    if (at != data_.size()) Fail("it has bytes after its last tensor");
  }

  std::string_view bytes_;
  std::string_view data_;
  std::string where_;
};

}  // namespace

const StoredTensor& TensorFile::Get(const std::string& name, std::string_view type,
                                    const std::vector<std::int64_t>& shape,
                                    std::string_view where) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw UnreadableInput(where, "has no tensor " + name);
  if (found->second.type != type || found->second.shape != shape) {
    throw UnreadableInput(where, "has another type or shape for tensor " + name);
  }
  return found->second;
}

std::string WriteSafetensors(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : file.tensors) {
    std::uint64_t needed = 0;
    if (TypeBytes(tensor.type) == 0 || !NeededBytes(tensor.type, tensor.shape, needed) ||
        needed != tensor.bytes.size()) {
      throw Error("safetensors", "the bytes of " + name + " do not fit its type and shape");
    }
    header[name] = {{"dtype", tensor.type},
                    {"shape", tensor.shape},
                    {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data starts at a multiple of 8
  const std::uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  bytes.reserve(bytes.size() + at);
  for (const auto& [name, tensor] : file.tensors) bytes += tensor.bytes;
  return bytes;
}

TensorFile ReadSafetensors(std::string_view bytes, std::string_view where) {
  return Reader(bytes, where).Read();
}

}  // namespace sextant
