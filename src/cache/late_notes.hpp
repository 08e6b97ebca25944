// Notes of what a cache was asked are taken by a thread of its own, which starts with the first request. A
// guest in another's process has that wait until its host has its answer. Any thread.
#pragma once

#include "larder/cache.hpp"

namespace larder {

class LateNotes {
 public:
  // Whether there is anything to write notes down in.
  static bool has_disk(const Cache& cache) noexcept;
  // From now on nothing is started by a request; take_up() must be called now and then.
  static void put_off(Cache& cache) noexcept;
  // Has notes taken soon, where requests put that off. One load where none did.
  static void take_up(Cache& cache) noexcept;
};

}  // namespace larder
