// The macros of C that are different each time: what uses one has no product to keep. Any thread.
#pragma once

#include <string_view>

namespace larder {

// The first of them that `text` names, or empty.
inline std::string_view clock_macro_in(std::string_view text) noexcept {
  for (const std::string_view macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    if (text.find(macro) != std::string_view::npos) return macro;
  }
  return {};
}

}  // namespace larder
