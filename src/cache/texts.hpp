// Which texts of a request are kept beside its product.
#pragma once

#include <span>
#include <vector>

#include "format/texts.hpp"
#include "larder/cache.hpp"

namespace larder {

// Copies of those that the recipe holds as digests, in the order of its ingredients, together at most
// `bytes_max`: the last one is cut. A text that is not what the digest says is left out. O(their sizes).
std::vector<format::Text> texts_to_keep(const Recipe& recipe, std::span<const Text> texts,
                                        std::uint64_t bytes_max);

}  // namespace larder
