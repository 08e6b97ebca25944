// The libnvrtcs that one process uses through the shim: their real functions, and the program cache that
// answers in their place. Slot 0 is the one behind the shim in the order in which the process looks up names,
// for code that does not say which library it is linked to; the others are told by who calls or who asks
// dlsym. Never freed: a program may call its last function after everything else has ended.
#pragma once

#include <link.h>

#include <memory>

#include "base/mutex.hpp"
#include "larder/nvrtc.hpp"
#include "program/nvrtc/functions.hpp"

namespace larder::shim {

inline constexpr int kSlots = 4;

using Programs = ProgramCache<NvrtcApi>;

// The next dlsym in line, found at its first use.
void* real_dlsym(void* library, const char* name) noexcept;

class Library {
 public:
  static Library& of_slot(int slot) noexcept;
  // The slot of the library in which `function` was found through `handle`; -1 when there is none left.
  static int slot_of(void* handle, void* function) noexcept;
  // The slot of the library that the code at `caller` is linked to: a plugin's may be seen by nobody else.
  // Known from the second call of the same place on, as long as nothing is loaded or unloaded.
  static int slot_of_caller(const void* caller) noexcept;

  // Those of the linked library are looked up with the first call. Null when it has none.
  const nvrtc::Functions* functions() noexcept;
  // Null when larder stands aside.
  Programs* programs() noexcept;

 private:
  static int look_for_slot_of_library(const link_map* library) noexcept;

  Mutex mutex_;
  const nvrtc::Functions* functions_ GUARDED_BY(mutex_) = nullptr;
  const void* base_ GUARDED_BY(mutex_) = nullptr;
  Programs* programs_ GUARDED_BY(mutex_) = nullptr;
  bool has_failed_ GUARDED_BY(mutex_) = false;
};

}  // namespace larder::shim
