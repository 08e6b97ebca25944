// Recipes and ingredients as `show` and `why` write them as JSON.
#pragma once

#include "format/texts.hpp"
#include "larder/recipe.hpp"
#include "tool/json.hpp"

namespace larder::tool {

// {"name":...,"size_bytes":n,"text":...}; bytes that are no text stand as "hex", digests as "digest". Where
// `kept` is what somebody kept of a digest's text, the first `kept_max` bytes of it stand as "text" (or
// "hex") beside the digest, with "kept_bytes": how many are kept.
void write_ingredient(Json& json, const Ingredient& ingredient, const format::Text* kept = nullptr,
                      std::size_t kept_max = 0);

// No more than `most` bytes, and no part of a UTF-8 character at the end.
std::string_view beginning(std::string_view text, std::size_t most) noexcept;

// The lower-case hex digits of at most `most` bytes, "..." where some are left out.
std::string hex_of(BytesView bytes, std::size_t most);

}  // namespace larder::tool
