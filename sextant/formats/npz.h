// NumPy's .npz files: several named arrays in one uncompressed zip.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sextant/formats/npy.h"

namespace sextant {

using NpzArrays = std::vector<std::pair<std::string, NpyArray>>;

// A zip of stored (uncompressed) <name>.npy entries, as numpy.savez writes; numpy.load reads it.
// Throws Error where a name is empty, longer than 200 bytes or given twice, the arrays do not fit
// WriteNpy, or the file would pass 4 GiB.
std::string WriteNpz(const NpzArrays& arrays);

// The arrays of a file of unknown origin, in the order of its directory. Throws UnreadableInput
// starting with `where` for anything but stored entries named *.npy whose sizes, offsets and
// checksums agree: compressed entries (numpy.savez_compressed), more than 1000 of them, zip64,
// encryption, entries beyond the file, and what ReadNpy refuses.
NpzArrays ReadNpz(std::string_view bytes, std::string_view where);

}  // namespace sextant
