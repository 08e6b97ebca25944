// Modes as they stand in settings.
#pragma once

#include <optional>
#include <string_view>

#include "larder/cache.hpp"

namespace larder {

// Nothing when no mode is called so.
std::optional<Mode> to_mode(std::string_view text) noexcept;

}  // namespace larder
