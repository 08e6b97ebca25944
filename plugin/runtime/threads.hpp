// Memory of the tables, and which thread owns which: the only state of the library that threads share.
#pragma once

#include "table.hpp"

namespace larder::reuse {

// Zeroed pages that count against the process's cap; null when the cap or the system says no. Safe in signal
// handlers.
void* take_pages(uint64_t bytes) noexcept;
void give_pages(void* pages, uint64_t bytes) noexcept;

// Pieces that live as long as their thread. Zeroed; null: no memory. A large one is pages of its own, which
// whoever took it gives back.
constexpr bool is_large(uint64_t bytes) {
  return bytes > 8192;
}
void* take_piece(Thread& thread, uint64_t bytes) noexcept;

Thread& this_thread() noexcept;

// While one lives the library is entered; `was_free` is false when it already was (T4).
class Entered {
 public:
  explicit Entered(Thread& thread) noexcept;
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  const bool was_free;

 private:
  Thread& thread_;
};

// A table of this thread for `place`, registered so that it is freed when the thread ends; null: no memory,
// or the thread is past its end.
Table* make_table(Thread& thread, Place& place, const Site& site) noexcept;

// Where frames that memoize may stand: the first eighth of what is left of the stack, so that a recursion
// that fits without larder fits with it, although memoized frames are larger.
void measure_stack(Thread& thread, Place& place) noexcept;

uint64_t bytes_in_use() noexcept;
uint64_t bytes_max() noexcept;

// A variable of the environment; null when it is not set. Not getenv(): that would be the first call's only
// need of pages of the C library.
const char* value_of(const char* variable) noexcept;
// A number of the environment; `otherwise` when it is not set or is none.
uint64_t number_of(const char* variable, uint64_t otherwise) noexcept;

inline uint64_t cycles_now() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now * 64;  // its clock is slower; only the order of magnitude counts
#else
  return 0;
#endif
}

}  // namespace larder::reuse
