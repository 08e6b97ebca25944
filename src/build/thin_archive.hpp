// A thin archive (`ar T`, which Meson writes) names its members and holds none of them: what a linker reads
// of it is in their files. So its content is its own bytes and theirs. Safe for any bytes; may be called by
// any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace larder::build {

// The files that an archive names, as the archive at `path` with these bytes names them: from the directory
// that it lies in. None when it is no thin archive, or not a whole one.
std::optional<std::vector<std::string>> thin_members(std::string_view path, std::string_view bytes);

}  // namespace larder::build
