// One cell of a comparison: a scheme trained with one seed, in a run folder of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/dataset.h"
#include "lab/settings.h"
#include "sextant/schemes/spec.h"

namespace sextant::lab {

// What a run is: with the data it names, all that is needed to repeat it to the bit.
struct CellConfig {
  Spec spec;           // complete: every parameter
  std::string scheme;  // the same as short text
  std::uint64_t seed = 1;
  Settings settings;
  std::string data;  // the dataset's folder, relative to the run folder
  std::string data_fingerprint;
};

nlohmann::ordered_json ToJson(const CellConfig& config);
// The config.json of a run folder. Throws UnreadableInput.
CellConfig ReadCellConfig(const std::string& folder);

// A run folder holds
//   config.json     CellConfig; its fingerprint ties checkpoints to it
//   env.json        program, compiler, libraries, processor, threads
//   metrics.jsonl   a line at each point of the loss curve
//   ckpt/last.safetensors
//   samples.txt     the sample story
//   result.json     once the run has ended: the cell of results.json
enum class CellState { kNew, kUnfinished, kFinished, kFailed };
CellState StateOf(const std::string& folder);
// The cell of results.json as the folder stands, finished or not.
nlohmann::ordered_json CellResult(const std::string& folder);

struct CellProgress {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  double loss = 0;
  double tokens_per_second = 0;
};

// How a run is watched and stopped from outside.
struct CellWatch {
  std::function<void(const CellProgress&)> progress = [](const CellProgress&) {};
  std::function<bool()> stop = [] { return false; };
};

// Makes the run folder, or checks that the one there is of the same configuration (Error otherwise:
// nothing is changed).
void CreateCell(const std::string& folder, const CellConfig& config);

// Trains and evaluates, from the last checkpoint if there is one, and returns the state reached:
// finished; failed, where the loss is not finite; or unfinished, where `stop` said so (a checkpoint
// is written first). However often it is stopped or killed, it ends with the same weights to the
// bit on the same machine with the same number of threads. Throws Error, UnreadableInput (a damaged
// checkpoint, other data) and UnwritableOutput; the folder can then be run again. One process at a
// time works in a folder; a second gets an Error.
CellState RunCell(const std::string& folder, const Dataset& dataset, const Registry& registry,
                  const CellWatch& watch);

// The model of a run with the weights of its last checkpoint, writing a story.
struct StoryRequest {
  std::string prompt;  // empty: the dataset's
  std::uint64_t seed = 1;
  int tokens = 0;           // 0: as the settings say
  double temperature = -1;  // negative: as the settings say
};
std::string TellStoryOf(const std::string& folder, const Registry& registry,
                        const StoryRequest& request);

}  // namespace sextant::lab
