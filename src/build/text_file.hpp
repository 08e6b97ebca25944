// Reads small text files whole: manifests, depfiles, dyndep files.
#pragma once

#include <string>

#include "larder/result.hpp"

namespace larder::build {

// `not_found` when there is none, `io` for anything else that keeps it from being read.
Result<std::string> read_text_file(const std::string& path);

}  // namespace larder::build
