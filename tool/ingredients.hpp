// Recipes and ingredients as `show` and `why` write them as JSON.
#pragma once

#include "larder/recipe.hpp"
#include "tool/json.hpp"

namespace larder::tool {

// {"name":...,"size_bytes":n,"text":...}; bytes that are no text stand as "hex", digests as "digest".
void write_ingredient(Json& json, const Ingredient& ingredient);

// The lower-case hex digits of at most `most` bytes, "..." where some are left out.
std::string hex_of(BytesView bytes, std::size_t most);

}  // namespace larder::tool
