#include "bench/memory/keys.hpp"

#include <cinttypes>
#include <cstdio>

namespace larder::bench {

Recipe recipe_for(std::uint32_t index) {
  char source_digest[65];
  std::uint64_t word = index;
  for (int i = 0; i < 4; ++i) {
    word = mix(word + 0x632be59bd9b4e019);
    std::snprintf(source_digest + 16 * i, 17, "%016" PRIx64, word);
  }
  Recipe recipe{"opencl-program"};
  recipe.add("source", std::string_view(source_digest, 64))
      .add("options", "-cl-std=CL2.0 -DTILE=" + std::to_string(index % 64))
      .add("driver", "23.1.0-devel");
  return recipe;
}

std::vector<ByInterned::Asked> ByInterned::make_keys(std::size_t count) {
  std::vector<Asked> keys(count);
  // They live as long as the process, as the recipes of a long-running program do.
  for (Asked& key : keys) key = new PeerRecipe;
  return keys;
}

std::vector<ByBytes::Asked> ByBytes::make_keys(std::size_t count) {
  std::vector<Asked> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = recipe_for(static_cast<std::uint32_t>(i)).canonical();
  return keys;
}

}  // namespace larder::bench
