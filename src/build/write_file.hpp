// Writes small files whole.
#pragma once

#include <string>
#include <string_view>

namespace larder::build {

// False, and errno, when it could not be written.
bool write_file(const std::string& path, std::string_view text) noexcept;

}  // namespace larder::build
