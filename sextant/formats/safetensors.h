// safetensors files: named tensors with text metadata, read with every size checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

// The bytes are little endian, row-major. Lists of what is read and written:
// F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL.
struct StoredTensor {
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;

  // The tensor of that name. Throws UnreadableInput, starting with `where`, if it is missing or not
  // of that type and shape.
  const StoredTensor& Get(const std::string& name, std::string_view type,
                          const std::vector<std::int64_t>& shape, std::string_view where) const;
};

// The file's bytes. Throws Error if a tensor's bytes do not fit its type and shape.
std::string WriteSafetensors(const TensorFile& file);

// Refuses, by UnreadableInput starting with `where`: a file cut short or with bytes to spare, a
// header over 64 MiB or that is not JSON of the right form, unknown types, negative or overflowing
// shapes, and tensors that overlap, leave holes or reach past the end.
TensorFile ReadSafetensors(std::string_view bytes, std::string_view where);

}  // namespace sextant
