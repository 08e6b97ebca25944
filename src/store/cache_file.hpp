// CacheFile on files and a clock of the caller's choosing: for larder's own tests and tools.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/file_system.hpp"
#include "larder/cache_file.hpp"

namespace larder {

struct CacheFileFor {
  // As CacheFile::open. Both must live longer than what comes back.
  static Result<CacheFile> open(std::string path, FileSystem& files, const Clock& clock);
};

}  // namespace larder
