// Locks by flock.
#include "lab/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "sextant/core/error.h"

namespace sextant::lab {

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw UnwritableOutput(path, "cannot be written");
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close(file_);
    throw Error(folder, "another process is working in this folder", "wait for it, or stop it");
  }
}

FolderLock::~FolderLock() { close(file_); }

}  // namespace sextant::lab
