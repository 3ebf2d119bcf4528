// The byte-pair tokenizer as tokenizer.cc builds and reads it.
#pragma once

#include <memory>
#include <string_view>

#include "lab/text/tokenizer.h"

namespace sextant::lab {

// The tokenizer of a serialized SentencePiece model that TrainBpeTokenizer made. Throws
// UnreadableInput where it is no such model.
std::unique_ptr<Tokenizer> MakeBpeTokenizer(std::string_view model);

// The saved form of a tokenizer: a line that names kind, size and hash, then the content.
std::string SealTokenizer(std::string_view kind, std::string_view content);

}  // namespace sextant::lab
