// Frees the place of an index file from what is none: a FIFO, a directory, a device.
#pragma once

#include <fcntl.h>

#include "store/directory.hpp"

namespace larder {

// After an open of `path` for writing that failed with `error` (minus errno). True: what stood there was no
// file and is gone, so that another open makes one. A directory that holds something stays.
inline bool frees_place(Directory& directory, const char* path, int error) noexcept {
  if (error != -ENXIO && error != -EISDIR && error != -ELOOP && error != -ENODEV) return false;
  FileSystem& files = directory.files();
  struct stat status {};
  if (files.status_at(directory.fd(), path, status) < 0 || S_ISREG(status.st_mode)) return false;
  return files.unlink_at(directory.fd(), path, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0) == 0;
}

}  // namespace larder
