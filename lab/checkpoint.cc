// Saving and loading checkpoints.
#include "lab/checkpoint.h"

#include <charconv>

#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"
#include "sextant/core/parameter.h"
#include "sextant/formats/file.h"
#include "sextant/formats/safetensors.h"

namespace sextant::lab {
namespace {

using torch::Tensor;
constexpr std::size_t kMaxBytes = std::size_t{4} << 30;
constexpr const char* kFormat = "sextant-checkpoint/1";

StoredTensor Store(const Tensor& tensor) {
  const Tensor held = tensor.detach().contiguous();
  return {"F32",
          held.sizes().vec(),
          {static_cast<const char*>(held.data_ptr()), static_cast<std::size_t>(held.nbytes())}};
}

void Restore(const StoredTensor& stored, const Tensor& to) {
  const auto shape = at::IntArrayRef(stored.shape);
  to.detach().copy_(torch::from_blob(const_cast<char*>(stored.bytes.data()), shape, torch::kFloat));
}

const std::string& Metadata(const TensorFile& file, const std::string& key,
                            const std::string& path) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw UnreadableInput(path, "lacks " + key);
  return found->second;
}

TensorFile Open(const std::string& path, Gpt& model, const std::string& settings) {
  TensorFile file = ReadSafetensors(ReadFile(path, kMaxBytes), path);
  if (Metadata(file, "format", path) != kFormat) {
    throw UnreadableInput(path, std::string("is no checkpoint of format ") + kFormat);
  }
  if (Metadata(file, "settings", path) != settings) {
    throw UnreadableInput(path, "was written with other settings than config.json holds",
                          "restore that config.json, or start again in another folder");
  }
  for (const auto& named : model.named_parameters()) {
    file.Get("model." + named.key(), "F32", named.value().sizes().vec(), path);
  }
  return file;
}

void RestoreWeights(const TensorFile& file, Gpt& model) {
  torch::NoGradGuard no_grad;
  for (const auto& named : model.named_parameters()) {
    Restore(file.tensors.at("model." + named.key()), named.value());
  }
}

}  // namespace

void SaveCheckpoint(const std::string& path, Gpt& model, AdamW& optimizer,
                    const Progress& progress) {
  TensorFile file;
  file.metadata = {{"format", kFormat},
                   {"settings", progress.settings},
                   {"step", std::to_string(progress.step)},
                   {"seconds", ToText(ParameterValue(progress.seconds))}};
  for (const auto& named : model.named_parameters()) {
    file.tensors["model." + named.key()] = Store(named.value());
  }
  file.tensors["adamw.first_moment"] = Store(optimizer.first_moment());
  file.tensors["adamw.second_moment"] = Store(optimizer.second_moment());
  WriteFile(path, WriteSafetensors(file));
}

Progress LoadCheckpoint(const std::string& path, Gpt& model, AdamW& optimizer,
                        const std::string& settings) {
  const TensorFile file = Open(path, model, settings);
  const std::vector<std::int64_t> flat = optimizer.weights().sizes().vec();
  const StoredTensor& first = file.Get("adamw.first_moment", "F32", flat, path);
  const StoredTensor& second = file.Get("adamw.second_moment", "F32", flat, path);
  const ParameterValue step = ParseParameterValue(Metadata(file, "step", path));
  const ParameterValue seconds = ParseParameterValue(Metadata(file, "seconds", path));
  if (!std::holds_alternative<std::int64_t>(step)) {
    throw UnreadableInput(path, "its step is no whole number");
  }
  RestoreWeights(file, model);
  torch::NoGradGuard no_grad;
  Restore(first, optimizer.first_moment());
  Restore(second, optimizer.second_moment());
  optimizer.set_steps(std::get<std::int64_t>(step));
  const auto* fraction = std::get_if<double>(&seconds);
  return {std::get<std::int64_t>(step), fraction != nullptr ? *fraction : 0, settings};
}

void LoadWeights(const std::string& path, Gpt& model, const std::string& settings) {
  RestoreWeights(Open(path, model, settings), model);
}

std::string WeightsFingerprint(Gpt& model) {
  std::uint64_t fingerprint = Fingerprint("");
  for (const auto& named : model.named_parameters()) {
    fingerprint = Fingerprint(named.key(), fingerprint);
    fingerprint = Fingerprint(Store(named.value()).bytes, fingerprint);
  }
  return FingerprintText(fingerprint);
}

}  // namespace sextant::lab
