// For tests that change what a store keeps: every entry of a kind, found in its files.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "larder/larder.hpp"

namespace larder::testing {

// Calls `visit(recipe, product)` for each that `cache`, opened on `store`, gives.
template <typename Visit>
void for_each_kept(Cache& cache, const std::filesystem::path& store, std::string_view kind,
                   const Visit& visit) {
  for (const auto& each : std::filesystem::recursive_directory_iterator(store / "v1")) {
    if (!each.is_regular_file() || each.path().filename().string().size() != 30) continue;
    std::ostringstream read;
    read << std::ifstream(each.path(), std::ios::binary).rdbuf();
    const std::string bytes = read.str();
    std::uint64_t size = 0;
    if (bytes.size() < 128) continue;
    std::memcpy(&size, bytes.data() + 32, sizeof size);
    const auto recipe = Recipe::from_canonical(std::string_view(bytes).substr(128, size));
    if (!recipe || recipe->kind() != kind) continue;
    if (const auto product = cache.get(*recipe)) visit(*recipe, *product);
  }
}

}  // namespace larder::testing
