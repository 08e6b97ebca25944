// What graph_types.hpp needs of hashes.
#include "larder/detail/graph_types.hpp"

#include <xxhash.h>

namespace larder::detail {

Digest digest_of(BytesView bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::uint64_t hash_of_text(std::string_view text) noexcept {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace larder::detail
