// The members of an archive as `ar` makes them. Any bytes may be looked at.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace larder::build {

// What is in the files of an archive, without its tables of names and symbols; none: `bytes` are no whole
// archive. A thin one holds none: its files lie elsewhere.
std::optional<std::vector<std::string_view>> archive_members(std::string_view bytes);

}  // namespace larder::build
