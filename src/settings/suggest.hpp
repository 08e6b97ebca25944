// Suggests the word that a person who mistyped may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace larder::settings {

// Insertions, deletions, exchanges and swaps of neighbours that turn one into the other. O(a * b).
std::size_t distance(std::string_view a, std::string_view b);

// The nearest of `words`, empty when none is near: at most a third of `typed` (and at least one letter) off,
// or the only one that `typed` begins.
std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> words);

// "; did you mean `x`?" or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> words);

}  // namespace larder::settings
