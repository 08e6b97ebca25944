// Programs that the layer would have kept were their binaries not dear to ask for. It leaves what decides
// them in the folder that `larder run` has made for it; when the host has ended, larder's worker builds them
// once more, in a process of its own, and asks. So nothing of the host's is held for it, no driver works for
// it beside the host, and what becomes of the host – it may fork, end or be killed – is the same with it as
// without. Any thread.
#pragma once

#include <span>
#include <string_view>

#include "larder/recipe.hpp"

namespace larder::layer {

// False where nobody takes them.
bool takes_wishes() noexcept;
// One of at most 256 of a process, and 64 MiB of text; further ones are built as ever at the next start.
void leave_wish(std::string_view platform, std::string_view text, std::string_view options,
                std::span<const Key> keys) noexcept;

}  // namespace larder::layer
