#include "recipe/key_hash.hpp"

#include <atomic>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.hpp"

namespace larder {
namespace {

constinit std::atomic<KeyHash> test_hash{nullptr};

}  // namespace

Key key_of(std::string_view canonical) noexcept {
  if (const KeyHash replaced = test_hash.load(std::memory_order_acquire)) [[unlikely]]
    return replaced(canonical);
  const XXH128_hash_t hash = XXH3_128bits(canonical.data(), canonical.size());
  return Key{hash.high64, hash.low64};
}

TestHash::TestHash(KeyHash hash) noexcept {
  const KeyHash before = test_hash.exchange(hash, std::memory_order_acq_rel);
  LARDER_ASSERT(before == nullptr);
}

TestHash::~TestHash() {
  test_hash.store(nullptr, std::memory_order_release);
}

Key TestHash::same_for_all(std::string_view) noexcept {
  return Key{0x7465737420686173, 0x682074657374206b};
}

}  // namespace larder
