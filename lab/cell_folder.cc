// What a run folder holds, without training anything.
#include <filesystem>

#include "lab/cell.h"
#include "sextant/core/error.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "sextant-run/1";
constexpr std::size_t kMaxJson = 64u << 20;

bool Exists(const std::string& path) { return std::filesystem::exists(path); }

Json ReadJsonFile(const std::string& path) {
  return ReadJson(ReadFile(path, kMaxJson), path, kMaxJson);
}

}  // namespace

Json ToJson(const CellConfig& config) {
  return {{"format", kFormat},
          {"scheme", config.scheme},
          {"spec", ToJson(config.spec)},
          {"seed", config.seed},
          {"settings", ToJson(config.settings)},
          {"data", {{"folder", config.data}, {"fingerprint", config.data_fingerprint}}}};
}

CellConfig ReadCellConfig(const std::string& folder) {
  const std::string path = folder + "/config.json";
  const Json json = ReadJsonFile(path);
  try {
    if (json.at("format") != kFormat) {
      throw UnreadableInput(path, std::string("is not of format ") + kFormat);
    }
    return {SpecFromJson(json.at("spec")),
            json.at("scheme").get<std::string>(),
            json.at("seed").get<std::uint64_t>(),
            SettingsFromJson(json.at("settings")),
            json.at("data").at("folder").get<std::string>(),
            json.at("data").at("fingerprint").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    throw UnreadableInput(path, "lacks a part of a run's configuration");
  }
}

CellState StateOf(const std::string& folder) {
  if (Exists(folder + "/result.json")) {
    const Json result = ReadJsonFile(folder + "/result.json");
    return result.value("state", "") == "failed" ? CellState::kFailed : CellState::kFinished;
  }
  return Exists(folder + "/ckpt/last.safetensors") ? CellState::kUnfinished : CellState::kNew;
}

Json CellResult(const std::string& folder) {
  if (Exists(folder + "/result.json")) return ReadJsonFile(folder + "/result.json");
  const CellConfig config = ReadCellConfig(folder);
  return {{"seed", config.seed},
          {"state", "unfinished"},
          {"reason", "it was stopped before its last step"}};
}

void CreateCell(const std::string& folder, const CellConfig& config) {
  MakeFolder(folder + "/ckpt");
  const std::string path = folder + "/config.json";
  const std::string text = ToJson(config).dump(2) + "\n";
  if (!Exists(path)) {
    WriteFile(path, text);
    return;
  }
  const Json before = ReadJsonFile(path), now = ToJson(config);
  if (before == now) return;
  std::string differing;
  for (const auto& [key, value] : now.items()) {
    if (before.value(key, Json()) != value) differing += (differing.empty() ? "" : ", ") + key;
  }
  throw Error(folder, "holds another run (" + differing + " differ)",
              "choose another folder, or remove this one");
}

}  // namespace sextant::lab
