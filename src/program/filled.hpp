// Rows of a driver table leave the cells that they do not need empty, at the end.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace larder {

inline std::span<const std::string_view> filled(std::span<const std::string_view> cells) noexcept {
  const auto end = std::find(cells.begin(), cells.end(), std::string_view());
  return cells.first(static_cast<std::size_t>(end - cells.begin()));
}

}  // namespace larder
