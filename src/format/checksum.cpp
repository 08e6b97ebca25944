#include "format/checksum.hpp"

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#if defined(__clang__)
#define _Bool bool  // the header is C, and only GCC knows the word in C++
#endif
#include <sys/platform/x86.h>
#undef _Bool
#define LARDER_HAS_AVX2
#endif

namespace larder::format {
namespace kernel {

#define LARDER_DECLARE(set)                                                              \
  void whole_##set(const void* bytes, unsigned long size, unsigned long long result[2]); \
  void begin_##set(void* state);                                                         \
  void add_##set(void* state, const void* bytes, unsigned long size);                    \
  void end_##set(const void* state, unsigned long long result[2]);
LARDER_DECLARE(portable)
LARDER_DECLARE(avx2)
#undef LARDER_DECLARE

}  // namespace kernel
namespace {

struct Kernel {
  void (*whole)(const void*, unsigned long, unsigned long long*);
  void (*begin)(void*);
  void (*add)(void*, const void*, unsigned long);
  void (*end)(const void*, unsigned long long*);
};

constexpr Kernel kPortable = {kernel::whole_portable, kernel::begin_portable, kernel::add_portable,
                              kernel::end_portable};
#if defined(LARDER_HAS_AVX2)
constexpr Kernel kAvx2 = {kernel::whole_avx2, kernel::begin_avx2, kernel::add_avx2, kernel::end_avx2};
#endif

const Kernel& best() noexcept {
#if defined(LARDER_HAS_AVX2)
  // What the C library found out when the process began: asking the processor itself again costs microseconds
  // for each question where a hypervisor answers.
  if (CPU_FEATURE_ACTIVE(AVX2)) return kAvx2;
#endif
  return kPortable;
}

// Below this wider registers do not pay for the choice.
constexpr std::size_t kWideMin = 4096;

Checksum to_checksum(const unsigned long long (&halves)[2]) noexcept {
  return {halves[0], halves[1]};
}

}  // namespace

Checksum checksum(BytesView bytes) noexcept {
  unsigned long long halves[2];
  (bytes.size() < kWideMin ? kPortable : best()).whole(bytes.data(), bytes.size(), halves);
  return to_checksum(halves);
}

RunningChecksum::RunningChecksum() noexcept {
  best().begin(state_);
}

void RunningChecksum::add(BytesView piece) noexcept {
  best().add(state_, piece.data(), piece.size());
}

Checksum RunningChecksum::result() const noexcept {
  unsigned long long halves[2];
  best().end(state_, halves);
  return to_checksum(halves);
}

}  // namespace larder::format
