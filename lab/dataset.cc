// Datasets from text, to a folder and back.
#include "lab/dataset.h"

#include <cstring>

#include "lab/text/stories.h"
#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"
#include "sextant/formats/file.h"
#include "sextant/formats/safetensors.h"

namespace sextant::lab {
namespace {

constexpr std::uint64_t kStorySeed = 1;
constexpr Index kTrainStories = 20000;
constexpr Index kHeldOutStories = 1000;
constexpr int kPromptWords = 4;
constexpr std::size_t kMaxTokenFile = std::size_t{8} << 30;
constexpr std::size_t kMaxTokenizer = 64u << 20;
constexpr const char* kFormat = "sextant-tokens/1";

std::string FirstWords(const std::string& story, int words) {
  std::size_t end = 0;
  for (int word = 0; word < words; ++word) {
    end = story.find_first_not_of(" \n", end);
    if (end == std::string::npos) return story;
    end = std::min(story.find_first_of(" \n", end), story.size());
  }
  return story.substr(0, end);
}

std::string_view BytesOf(const std::vector<std::int32_t>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof tokens[0]};
}

std::string FingerprintOf(const Dataset& dataset) {
  std::uint64_t fingerprint = Fingerprint(dataset.tokenizer->Save());
  fingerprint = Fingerprint(BytesOf(dataset.train->tokens()), fingerprint);
  return FingerprintText(Fingerprint(BytesOf(dataset.held_out->tokens()), fingerprint));
}

StoredTensor Store(const TokenStream& stream) {
  return {"I32", {stream.size()}, std::string(BytesOf(stream.tokens()))};
}

std::shared_ptr<const TokenStream> Restore(const TensorFile& file, const std::string& name,
                                           const Tokenizer& tokenizer, const std::string& path) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.type != "I32" ||
      found->second.shape.size() != 1) {
    throw UnreadableInput(path, "has no list of tokens named " + name);
  }
  std::vector<std::int32_t> tokens(found->second.bytes.size() / sizeof(std::int32_t));
  std::memcpy(tokens.data(), found->second.bytes.data(), found->second.bytes.size());
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= tokenizer.vocabulary()) {
      throw UnreadableInput(path, "holds a token outside the vocabulary");
    }
  }
  return std::make_shared<const TokenStream>(tokenizer, std::move(tokens), name);
}

}  // namespace

Corpus LoadCorpus(const std::string& path) {
  if (path.empty()) return GenerateStories(kStorySeed, kTrainStories, kHeldOutStories);
  return ReadCorpus(path);
}

Dataset MakeDataset(const Corpus& corpus, const Settings& settings) {
  Dataset dataset;
  dataset.name = corpus.name;
  dataset.tokenizer = settings.tokens == TokenKind::kBytes
                          ? MakeByteTokenizer()
                          : TrainBpeTokenizer(corpus.train, settings.pieces);
  dataset.train = std::make_shared<const TokenStream>(*dataset.tokenizer, corpus.train,
                                                      corpus.name + ", training part");
  dataset.held_out = std::make_shared<const TokenStream>(*dataset.tokenizer, corpus.held_out,
                                                         corpus.name + ", held-out part");
  dataset.prompt =
      settings.prompt.empty() ? FirstWords(corpus.held_out.front(), kPromptWords) : settings.prompt;
  dataset.fingerprint = FingerprintOf(dataset);
  CheckLongEnough(dataset, settings);
  return dataset;
}

void CheckLongEnough(const Dataset& dataset, const Settings& settings) {
  const auto require = [](const TokenStream& stream, Index needed, const char* what) {
    if (stream.size() > needed) return;
    throw Error(stream.name(),
                "has " + std::to_string(stream.size()) + " tokens, " + what + " needs " +
                    std::to_string(needed + 1),
                "give more text, a shorter context, or a smaller longest");
  };
  require(*dataset.train, settings.context, "one training window");
  require(*dataset.held_out, Index{settings.context} * settings.longest, "the longest evaluation");
}

void SaveDataset(const std::string& folder, const Dataset& dataset) {
  MakeFolder(folder);
  TensorFile file;
  file.metadata = {{"format", kFormat},
                   {"name", dataset.name},
                   {"prompt", dataset.prompt},
                   {"fingerprint", dataset.fingerprint}};
  file.tensors = {{"train", Store(*dataset.train)}, {"held_out", Store(*dataset.held_out)}};
  WriteFile(folder + "/tokenizer.model", dataset.tokenizer->Save());
  WriteFile(folder + "/tokens.safetensors", WriteSafetensors(file));
}

Dataset OpenDataset(const std::string& folder) {
  const std::string path = folder + "/tokens.safetensors";
  const std::string tokenizer_path = folder + "/tokenizer.model";
  TensorFile file = ReadSafetensors(ReadFile(path, kMaxTokenFile), path);
  if (file.metadata["format"] != kFormat) {
    throw UnreadableInput(path, std::string("is no token file of format ") + kFormat);
  }
  Dataset dataset;
  dataset.name = file.metadata["name"];
  dataset.prompt = file.metadata["prompt"];
  dataset.tokenizer = LoadTokenizer(ReadFile(tokenizer_path, kMaxTokenizer));
  dataset.train = Restore(file, "train", *dataset.tokenizer, path);
  dataset.held_out = Restore(file, "held_out", *dataset.tokenizer, path);
  dataset.fingerprint = FingerprintOf(dataset);
  if (dataset.fingerprint != file.metadata["fingerprint"]) {
    throw UnreadableInput(path, "does not belong to the tokenizer beside it");
  }
  return dataset;
}

}  // namespace sextant::lab
