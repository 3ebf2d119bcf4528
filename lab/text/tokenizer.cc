// What the tokenizers share, the byte tokenizer, and the saved form.
#include "lab/text/tokenizer.h"

#include <fmt/core.h>

#include <utility>

#include "lab/text/bpe_tokenizer.h"
#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"

namespace sextant::lab {
namespace {

constexpr std::string_view kMagic = "sextant tokenizer 1 ";
constexpr std::size_t kLongestHeader = 80;
constexpr std::int32_t kByteCount = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() : Tokenizer(AllBytes(), kByteCount) {}

  std::string_view kind() const override { return "bytes"; }
  std::vector<std::int32_t> Encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  std::string Save() const override { return SealTokenizer(kind(), ""); }

 private:
  static std::vector<std::string> AllBytes() {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < kByteCount; ++byte) {
      bytes.emplace_back(1, static_cast<char>(static_cast<unsigned char>(byte)));
    }
    bytes.emplace_back();
    return bytes;
  }
};

[[noreturn]] void Refuse(std::string_view rule) {
  throw UnreadableInput("tokenizer", rule, "train it again");
}

std::string Header(std::string_view kind, std::string_view content) {
  return fmt::format("{}{} {} {}\n", kMagic, kind, content.size(),
                     FingerprintText(Fingerprint(content)));
}

}  // namespace

const std::string& Tokenizer::Bytes(std::int32_t token) const {
  if (token < 0 || token >= vocabulary()) {
    throw Error("tokenizer",
                fmt::format("a token must be 0 .. {}, got {}", vocabulary() - 1, token));
  }
  return bytes_[static_cast<std::size_t>(token)];
}

std::string Tokenizer::Decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) text += Bytes(token);
  return text;
}

std::unique_ptr<Tokenizer> MakeByteTokenizer() { return std::make_unique<ByteTokenizer>(); }

std::string SealTokenizer(std::string_view kind, std::string_view content) {
  std::string sealed = Header(kind, content);
  sealed += content;
  return sealed;
}

std::unique_ptr<Tokenizer> LoadTokenizer(std::string_view saved) {
  if (!saved.starts_with(kMagic)) {
    Refuse(fmt::format("does not start with \"{}\"", kMagic));
  }
  const std::size_t end = saved.substr(0, kLongestHeader).find('\n');
  if (end == std::string_view::npos) Refuse("has no complete first line");
  const std::string_view header = saved.substr(0, end + 1);
  const std::string_view content = saved.substr(end + 1);
  std::string_view kind = header.substr(kMagic.size());
  kind = kind.substr(0, kind.find(' '));
  if (kind != "bytes" && kind != "bpe") Refuse("is of a kind other than bytes and bpe");
  if (header != Header(kind, content)) {
    Refuse(fmt::format("is damaged: its first line does not fit the {} bytes that follow",
                       content.size()));
  }
  if (kind == "bpe") return MakeBpeTokenizer(content);
  if (!content.empty()) Refuse("is of the kind bytes and has content");
  return MakeByteTokenizer();
}

}  // namespace sextant::lab
