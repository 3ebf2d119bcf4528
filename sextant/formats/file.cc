// Reading and atomic writing of files.
#include "sextant/formats/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "sextant/core/error.h"

namespace sextant {
namespace {

// Removes the temporary file and fails with the reason the system gave.
[[noreturn]] void FailWriting(const std::string& path, const std::string& temporary) {
  const int reason = errno;
  unlink(temporary.c_str());
  throw UnwritableOutput(path, std::string("cannot be written: ") + std::strerror(reason));
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// To what is there already, not to a new file in its place.
void WriteThrough(const std::string& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  bool written = file >= 0 && WriteAll(file, bytes);
  const int reason = errno;
  if (file >= 0) written = (close(file) == 0) && written;
  if (!written) {
    throw UnwritableOutput(path, std::string("cannot be written: ") + std::strerror(reason));
  }
}

}  // namespace

std::string ReadFile(const std::string& path, std::size_t max_bytes) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) throw UnreadableInput(path, "there is no such file");
  if (S_ISDIR(status.st_mode)) throw UnreadableInput(path, "is a folder, a file is needed");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) throw UnreadableInput(path, "cannot be opened");
  std::string bytes;
  char block[1 << 16];
  while (const std::size_t count = std::fread(block, 1, sizeof block, file.get())) {
    bytes.append(block, count);
    if (bytes.size() > max_bytes) {
      throw UnreadableInput(path, "is larger than " + std::to_string(max_bytes) + " bytes");
    }
  }
  if (std::ferror(file.get())) throw UnreadableInput(path, "could not be read to its end");
  return bytes;
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    WriteThrough(path, bytes);
    return;
  }
  const std::string temporary = path + ".writing";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) FailWriting(path, temporary);
  bool written = WriteAll(file, bytes) && fsync(file) == 0;
  const int reason = errno;
  written = (close(file) == 0) && written;
  if (!written) {
    errno = reason;
    FailWriting(path, temporary);
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) FailWriting(path, temporary);
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw UnwritableOutput(path, "cannot be made: " + error.message());
}

}  // namespace sextant
