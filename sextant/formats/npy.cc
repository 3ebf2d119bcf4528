// The .npy format after NumPy's NEP 1: magic, version, header length, a Python dict, the data.
#include "sextant/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostExtents = 4;
constexpr std::size_t kAlignment = 64;

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

void AppendLittleEndian(std::string& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

std::string ShapeText(std::span<const Index> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

struct Header {
  std::string_view type;
  std::vector<Index> shape;
};

// Reads the header's dict: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view where, const NpyLimits& limits)
      : text_(text), where_(where), limits_(limits) {}

  Header Read() {
    Expect('{');
    while (!Take('}')) {
      ReadEntry();
      if (!Take(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (at_ != text_.size()) Fail("text follows its dict");
    if (!type_) Fail("'descr' is missing");
    if (!order_read_) Fail("'fortran_order' is missing");
    if (!shape_) Fail("'shape' is missing");
    return {*type_, *shape_};
  }

 private:
  [[noreturn]] void Fail(std::string_view what) const {
    throw UnreadableInput(where_, fmt::format("is not a readable npy file: header: {}", what));
  }
  [[noreturn]] void FailHere(std::string_view wanted) const {
    Fail(fmt::format("{} expected at byte {} of it", wanted, at_));
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool Take(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void Expect(char wanted) {
    if (!Take(wanted)) FailHere(fmt::format("'{}'", wanted));
  }

  std::string_view ReadString() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') FailHere("a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) FailHere("a closed string");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
    if (!std::ranges::all_of(value, plain)) FailHere("a string without escapes");
    at_ = end + 1;
    return value;
  }

  void ReadEntry() {
    const std::string_view key = ReadString();
    Expect(':');
    if (key == "descr") {
      if (type_) Fail("'descr' is given twice");
      ReadType();
    } else if (key == "fortran_order") {
      if (order_read_) Fail("'fortran_order' is given twice");
      ReadOrder();
    } else if (key == "shape") {
      if (shape_) Fail("'shape' is given twice");
      ReadShape();
    } else {
      Fail(fmt::format("unknown key '{}'", key.substr(0, 40)));
    }
  }

  void ReadType() {
    type_ = ReadString();
    if (*type_ == "<f8" || *type_ == "<f4") return;
    throw UnreadableInput(
        where_, fmt::format("the type must be '<f8' or '<f4', got '{}'", type_->substr(0, 40)),
        "save it with numpy as array.astype('<f8')");
  }

  void ReadOrder() {
    SkipSpace();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("True")) {
      throw UnreadableInput(where_, "the array must be in row-major (C) order, got Fortran order",
                            "save it with numpy as numpy.ascontiguousarray(array)");
    }
    constexpr std::string_view kFalse = "False";
    if (!rest.starts_with(kFalse)) FailHere("True or False");
    at_ += kFalse.size();
    order_read_ = true;
  }

  Index ReadExtent() {
    SkipSpace();
    const std::size_t start = at_;
    std::uint64_t extent = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      extent = 10 * extent + static_cast<std::uint64_t>(text_[at_] - '0');
      if (extent > limits_.elements) {
        Fail(fmt::format("an extent must be at most {}, got more", limits_.elements));
      }
    }
    if (at_ == start) FailHere("an extent");
    return static_cast<Index>(extent);
  }

  void ReadShape() {
    Expect('(');
    shape_.emplace();
    while (!Take(')')) {
      if (shape_->size() == kMostExtents) {
        Fail(fmt::format("the array must have at most {} extents, got more", kMostExtents));
      }
      shape_->push_back(ReadExtent());
      if (Take(',')) continue;
      if (shape_->size() == 1) FailHere("','");
      Expect(')');
      break;
    }
  }

  std::string_view text_;
  std::string_view where_;
  const NpyLimits& limits_;
  std::size_t at_ = 0;
  std::optional<std::string_view> type_;
  std::optional<std::vector<Index>> shape_;
  bool order_read_ = false;
};

// The header's text; `bytes` is left at the data.
std::string_view TakeHeader(std::string_view& bytes, std::string_view where,
                            const NpyLimits& limits) {
  const auto fail = [&](std::string_view what) {
    throw UnreadableInput(where, fmt::format("is not a readable npy file: {}", what));
  };
  if (!bytes.starts_with(kMagic)) fail("it does not start with \\x93NUMPY");
  bytes.remove_prefix(kMagic.size());
  if (bytes.size() < 2) fail("it ends before its version");
  const int major = static_cast<unsigned char>(bytes[0]);
  const int minor = static_cast<unsigned char>(bytes[1]);
  if ((major != 1 && major != 2) || minor != 0) {
    fail(fmt::format("the version must be 1.0 or 2.0, got {}.{}", major, minor));
  }
  bytes.remove_prefix(2);
  const std::size_t field = major == 1 ? 2 : 4;
  if (bytes.size() < field) fail("it ends before its header's length");
  const std::uint64_t length = LittleEndian(bytes.substr(0, field));
  bytes.remove_prefix(field);
  if (length > limits.header_bytes) {
    fail(fmt::format("the header must have at most {} bytes, got {}", limits.header_bytes, length));
  }
  if (length > bytes.size()) {
    fail(fmt::format("the header has {} bytes, got {}", length, bytes.size()));
  }
  const std::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return header;
}

// Elements of a shape whose extents are at most the limit each.
std::size_t CheckedElements(const std::vector<Index>& shape, std::string_view where,
                            const NpyLimits& limits) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::size_t elements = 1;
  for (Index extent : shape) {
    if (elements > limits.elements / static_cast<std::size_t>(extent)) {
      throw UnreadableInput(where,
                            fmt::format("the array must hold at most {} numbers, got shape {}",
                                        limits.elements, ShapeText(shape)));
    }
    elements *= static_cast<std::size_t>(extent);
  }
  return elements;
}

}  // namespace

std::string WriteNpy(std::span<const double> values, std::span<const Index> shape) {
  if (shape.size() > kMostExtents) {
    throw Error("npy", fmt::format("at most {} extents, got {}", kMostExtents, shape.size()));
  }
  std::size_t elements = 1;
  for (Index extent : shape) {
    if (extent < 0) {
      throw Error("npy", fmt::format("extents must not be negative, got {}", ShapeText(shape)));
    }
    const auto size = static_cast<std::size_t>(extent);
    if (size != 0 && elements > values.size() / size)
      elements = values.size() + 1;
    else
      elements *= size;
  }
  if (elements != values.size()) {
    throw Error("npy", fmt::format("the numbers must fill the shape {}, got {} of them",
                                   ShapeText(shape), values.size()));
  }
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}", ShapeText(shape));
  const std::size_t before = kMagic.size() + 4;
  const std::size_t end = before + header.size() + 1;
  header.append((end + kAlignment - 1) / kAlignment * kAlignment - end, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes.reserve(before + header.size() + 8 * values.size());
  bytes += {'\1', '\0'};
  AppendLittleEndian(bytes, header.size(), 2);
  bytes += header;
  for (double value : values) AppendLittleEndian(bytes, std::bit_cast<std::uint64_t>(value), 8);
  return bytes;
}

NpyArray ReadNpy(std::string_view bytes, std::string_view where, const NpyLimits& limits) {
  const std::string_view text = TakeHeader(bytes, where, limits);
  const Header header = HeaderReader(text, where, limits).Read();
  const std::size_t elements = CheckedElements(header.shape, where, limits);
  const std::size_t size = header.type == "<f8" ? 8 : 4;
  if (bytes.size() % size != 0 || bytes.size() / size != elements) {
    throw UnreadableInput(
        where, fmt::format("shape {} of type {} needs {} bytes of data, got {}",
                           ShapeText(header.shape), header.type, elements * size, bytes.size()));
  }
  NpyArray array{header.shape, std::vector<double>(elements)};
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = LittleEndian(bytes.substr(i * size, size));
    array.values[i] =
        size == 8 ? std::bit_cast<double>(bits)
                  : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return array;
}

}  // namespace sextant
