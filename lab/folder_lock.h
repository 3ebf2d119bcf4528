// One process at a time in a folder of runs.
#pragma once

#include <string>

namespace sextant::lab {

// Held from construction to destruction, and let go by the system if the process is killed. Throws
// Error where another holder has the folder, UnwritableOutput where no lock file can be made.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace sextant::lab
