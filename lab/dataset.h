// The tokens a comparison trains and evaluates on, kept in a folder so that runs can go on alone.
#pragma once

#include <memory>
#include <string>

#include "lab/settings.h"
#include "lab/text/corpus.h"
#include "lab/text/token_stream.h"
#include "lab/text/tokenizer.h"

namespace sextant::lab {

struct Dataset {
  std::string name;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenStream> train;
  std::shared_ptr<const TokenStream> held_out;
  std::string prompt;       // the first words of a held-out story
  std::string fingerprint;  // of the tokenizer and both streams
};

// The stories of the file at `path` ("-": standard input), or the built-in ones where it is empty.
// The built-in ones are the same for every run.
Corpus LoadCorpus(const std::string& path);

// Tokens of `corpus` by the settings' tokenizer, trained on the training stories alone. Throws
// Error where the text is too short for a training window or for the longest evaluation.
Dataset MakeDataset(const Corpus& corpus, const Settings& settings);

// Throws Error where a stream is too short for a training window or the longest evaluation.
void CheckLongEnough(const Dataset& dataset, const Settings& settings);

// Writes the dataset to a folder (made where missing), and reads one back. Throws UnwritableOutput,
// UnreadableInput for files that are missing, cut short or not written by SaveDataset.
void SaveDataset(const std::string& folder, const Dataset& dataset);
Dataset OpenDataset(const std::string& folder);

}  // namespace sextant::lab
