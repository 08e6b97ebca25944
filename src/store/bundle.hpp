// Bundle on files of the caller's choosing: for larder's own tests.
#pragma once

#include <string>

#include "base/file_system.hpp"
#include "larder/bundle.hpp"

namespace larder {

struct BundleFor {
  // As Bundle::open. `files` must live longer than what comes back.
  static Result<Bundle> open(const std::string& path, const BundleOptions& options, FileSystem& files);
};

}  // namespace larder
