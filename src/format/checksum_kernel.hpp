/* The checksum compiled for one instruction set: included by one file per set, each of which defines
   LARDER_CHECKSUM_SET. Plain C types only, and no inline function that another file could share. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define LARDER_JOIN_(a, b) a##b
#define LARDER_JOIN(a, b) LARDER_JOIN_(a, b)

static_assert(sizeof(XXH3_state_t) <= 576, "RunningChecksum holds this");

namespace larder::format::kernel {

__attribute__((hot)) void LARDER_JOIN(whole_, LARDER_CHECKSUM_SET)(const void* bytes, unsigned long size,
                                                                   unsigned long long result[2]) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  result[0] = hash.low64;
  result[1] = hash.high64;
}

void LARDER_JOIN(begin_, LARDER_CHECKSUM_SET)(void* state) {
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state));
}

void LARDER_JOIN(add_, LARDER_CHECKSUM_SET)(void* state, const void* bytes, unsigned long size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

void LARDER_JOIN(end_, LARDER_CHECKSUM_SET)(const void* state, unsigned long long result[2]) {
  const XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state));
  result[0] = hash.low64;
  result[1] = hash.high64;
}

}  // namespace larder::format::kernel
