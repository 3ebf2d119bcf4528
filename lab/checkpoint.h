// The state of a training run on disk: weights, optimiser and step, as one safetensors file.
#pragma once

#include <cstdint>
#include <string>

#include "lab/adamw.h"
#include "lab/gpt.h"

namespace sextant::lab {

// What a run needs beside weights and optimiser to go on as if it had never stopped. Batches and
// samples are drawn by step and seed, so there is no random state to keep.
struct Progress {
  std::int64_t step = 0;
  double seconds = 0;    // of training steps so far
  std::string settings;  // fingerprint of the run's config.json
};

// Writes model weights by name ("model.<name>") and the optimiser's moments to `path`, replacing
// the file at once. Throws UnwritableOutput.
void SaveCheckpoint(const std::string& path, Gpt& model, AdamW& optimizer,
                    const Progress& progress);

// Fills model and optimiser from `path`. Throws UnreadableInput for a file that is missing, cut
// short, of another model, or whose settings differ from `settings`; model and optimiser are then
// unchanged.
Progress LoadCheckpoint(const std::string& path, Gpt& model, AdamW& optimizer,
                        const std::string& settings);

// The weights alone, for generating and evaluating.
void LoadWeights(const std::string& path, Gpt& model, const std::string& settings);

// Fingerprint of all weights, by name and bytes.
std::string WeightsFingerprint(Gpt& model);

}  // namespace sextant::lab
