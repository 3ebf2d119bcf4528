// A comparison: every scheme with every seed, each a cell of its own, and the results together.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/cell.h"
#include "lab/progress.h"

namespace sextant::lab {

struct ExperimentScheme {
  SchemePtr scheme;  // made for the experiment's model
  std::string text;  // short spec, and the name everywhere
};

// What is compared. Two experiments are the same where schemes, seeds, settings and data are.
struct Experiment {
  std::vector<ExperimentScheme> schemes;
  std::vector<std::uint64_t> seeds;
  Settings settings;
  std::string baseline;  // the text of a scheme; paired differences are to it
  std::string command;   // how to repeat it
  int jobs = 1;          // cells trained at once; does not change results
};

// An experiment of `specs`, each made for the settings' model. Throws Error for a bad spec, a
// scheme given twice, no scheme, no seed or a seed given twice, and a baseline that is not among
// them; "" takes none if it is there, else the first.
Experiment MakeExperiment(const std::vector<std::string>& specs,
                          const std::vector<std::uint64_t>& seeds, const Settings& settings,
                          const std::string& baseline, const Registry& registry);

// Seconds the whole experiment will take, from timing a step of each scheme.
double EstimateSeconds(const Experiment& experiment, const Dataset& dataset);

enum class ExperimentState { kComplete, kStopped, kSomeFailed };

// Prepares `folder` (experiment.json, data/): new, or the same experiment's, to go on with. Throws
// Error, changing nothing, where it holds another experiment or anything else.
void PrepareExperiment(const std::string& folder, const Experiment& experiment,
                       const Dataset& dataset);

// Trains every cell that is not finished, `jobs` at once, and shows progress. Ends early, with
// checkpoints written, where `stop` says so. A cell that fails does not stop others.
ExperimentState RunExperiment(const std::string& folder, const Experiment& experiment,
                              const Dataset& dataset, const Registry& registry,
                              ProgressLine& progress, const std::function<bool()>& stop);

// The results document (docs/results.md) of a folder as it stands; cells not run are unfinished.
nlohmann::ordered_json CollectResults(const std::string& folder, const Experiment& experiment,
                                      const Dataset& dataset, const Registry& registry);

// The run folder of a cell inside an experiment's folder.
std::string CellFolder(const std::string& folder, const ExperimentScheme& scheme,
                       std::uint64_t seed);

}  // namespace sextant::lab
