// Whole files: read with a limit, written so that a reader never sees half of one.
#pragma once

#include <string>
#include <string_view>

namespace sextant {

// The bytes of a regular file of at most `max_bytes`. Throws UnreadableInput where there is none,
// for a folder, and for a longer file.
std::string ReadFile(const std::string& path, std::size_t max_bytes);

// Replaces the file by `bytes`: written under a temporary name beside it, synced, renamed, so after
// a crash the file holds either the old bytes or the new. Throws UnwritableOutput naming the reason
// (no space, read-only, no such folder); the old file is then untouched. A path that is there and
// no regular file (a pipe, /dev/stdout) is written to as it is.
void WriteFile(const std::string& path, std::string_view bytes);

// The folder, made with its parents where they are missing. Throws UnwritableOutput.
void MakeFolder(const std::string& path);

}  // namespace sextant
