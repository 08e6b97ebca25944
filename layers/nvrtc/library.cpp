#include "layers/nvrtc/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <new>
#include <optional>

#include "base/fork.hpp"
#include "program/guest.hpp"

namespace larder::shim {
namespace {

using Dlsym = void* (*)(void*, const char*);

Dlsym next_dlsym() noexcept {
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    if (void* const found = ::dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
  }
  return nullptr;
}

constinit Mutex slots_mutex;

void lock_slots() noexcept NO_THREAD_SAFETY_ANALYSIS {
  slots_mutex.lock();
}
void unlock_slots() noexcept NO_THREAD_SAFETY_ANALYSIS {
  slots_mutex.unlock();
}

// How often the loader has loaded and unloaded something: while both stay, what stands at an address does
// too.
struct Loadings {
  unsigned long long added = 0;
  unsigned long long removed = 0;
  friend bool operator==(const Loadings&, const Loadings&) = default;
};

Loadings loadings() noexcept {
  Loadings now;
  const auto read = [](dl_phdr_info* info, std::size_t, void* to) {
    *static_cast<Loadings*>(to) = {info->dlpi_adds, info->dlpi_subs};
    return 1;
  };
  ::dl_iterate_phdr(read, &now);
  return now;
}

// Which slot a place means, in the order in which they came; the oldest makes way.
template <std::size_t kMax>
struct Known {
  struct Place {
    const void* at = nullptr;
    int slot = 0;
  };
  std::size_t next = 0;
  Place places[kMax];

  const int* find(const void* at) const noexcept {
    for (const Place& place : places) {
      if (place.at == at) return &place.slot;
    }
    return nullptr;
  }
  void add(const void* at, int slot) noexcept {
    places[next] = {at, slot};
    next = (next + 1) % kMax;
  }
};

// Places that called, and the libraries that they lie in: to look up what one of those is linked to is dear.
struct Callers {
  Loadings as_of;
  Known<32> places;
  Known<8> libraries;  // by their dynamic sections
};
constinit Callers callers GUARDED_BY(slots_mutex);

}  // namespace

void* real_dlsym(void* library, const char* name) noexcept {
  static const Dlsym next = next_dlsym();
  return next == nullptr ? nullptr : next(library, name);
}

Library& Library::of_slot(int slot) noexcept {
  alignas(Library) static std::byte room[kSlots][sizeof(Library)];
  static Library* const all = [] {
    for (auto& place : room) new (place) Library;
    at_fork(6, {lock_slots, unlock_slots, unlock_slots});
    return std::launder(reinterpret_cast<Library*>(room));
  }();
  return all[slot];
}

int Library::slot_of(void* handle, void* function) noexcept {
  Dl_info info{};
  if (::dladdr(function, &info) == 0) return -1;
  const MutexLock all(slots_mutex);
  for (int slot = 1; slot < kSlots; ++slot) {
    Library& library = of_slot(slot);
    const MutexLock lock(library.mutex_);
    if (library.base_ != nullptr && library.base_ != info.dli_fbase) continue;
    nvrtc::Functions functions{};
    if (!nvrtc::find_functions(handle, functions, real_dlsym)) return -1;
    // The same again, or another one that was loaded to where this one was.
    if (library.functions_ == nullptr || std::memcmp(&functions, library.functions_, sizeof functions) != 0) {
      library.functions_ = new (std::nothrow) nvrtc::Functions(functions);
      library.programs_ = nullptr;
      library.has_failed_ = library.functions_ == nullptr;
      library.base_ = info.dli_fbase;
    }
    return library.functions_ == nullptr ? -1 : slot;
  }
  return -1;
}

int Library::slot_of_caller(const void* caller) noexcept {
  static_cast<void>(of_slot(0));  // what is held at a fork is known from here on
  const Loadings before = loadings();
  {
    const MutexLock lock(slots_mutex);
    if (callers.as_of != before) callers = {.as_of = before, .places = {}, .libraries = {}};
    if (const int* const slot = callers.places.find(caller)) return *slot;
  }
  Dl_info info{};
  link_map* library = nullptr;
  if (::dladdr1(caller, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr)
    return 0;
  const void* const dynamic = library->l_ld;
  std::optional<int> slot;
  {
    const MutexLock lock(slots_mutex);
    if (const int* const known = callers.libraries.find(dynamic); known != nullptr && callers.as_of == before)
      slot = *known;
  }
  const bool is_library_new = !slot;
  if (is_library_new) slot = look_for_slot_of_library(library);
  const bool is_certain = loadings() == before;  // else something else may have stood there
  const MutexLock lock(slots_mutex);
  if (is_certain && callers.as_of == before) {
    callers.places.add(caller, *slot);
    if (is_library_new) callers.libraries.add(dynamic, *slot);
  }
  return *slot;
}

int Library::look_for_slot_of_library(const link_map* library) noexcept {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* each = library->l_ld; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_STRTAB) continue;
    const ElfW(Addr) at = each->d_un.d_ptr;
    strings = reinterpret_cast<const char*>(at < library->l_addr ? at + library->l_addr : at);
  }
  for (const ElfW(Dyn)* each = library->l_ld; strings != nullptr && each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_NEEDED || std::strstr(strings + each->d_un.d_val, "libnvrtc.") == nullptr) continue;
    void* const handle = ::dlopen(strings + each->d_un.d_val, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const function = real_dlsym(handle, "nvrtcVersion");
    const int slot = function == nullptr ? -1 : slot_of(handle, function);
    ::dlclose(handle);  // the caller keeps it
    if (slot > 0) return slot;
  }
  return 0;
}

const nvrtc::Functions* Library::functions() noexcept {
  const MutexLock lock(mutex_);
  if (functions_ == nullptr && this == &of_slot(0)) {
    auto* const found = new (std::nothrow) nvrtc::Functions;
    if (found != nullptr && nvrtc::find_functions(RTLD_NEXT, *found, real_dlsym)) {
      functions_ = found;
    } else {
      delete found;
    }
  }
  return functions_;
}

Programs* Library::programs() noexcept {
  if (!guest::is_enabled()) return nullptr;
  const nvrtc::Functions* const real = functions();
  const MutexLock lock(mutex_);
  if (programs_ != nullptr || has_failed_ || real == nullptr) return programs_;
  has_failed_ = true;
  try {
    Cache* const cache = guest::open_cache();
    if (cache == nullptr) {
      guest::report("nvrtc", "bypassed", {}, "the store cannot be used");
      return nullptr;
    }
    guest::put_off_notes();
    auto api = NvrtcApi::open(*real);
    if (!api) return nullptr;
    ProgramCacheOptions options{.remember_failures = true};
    options.programs.policy = options.kernels.policy = guest::kPolicy;
    programs_ = new Programs(std::move(*api), cache, options);
    has_failed_ = false;
  } catch (...) {  // whatever it is, the program goes on without larder
  }
  return programs_;
}

}  // namespace larder::shim
