#include "layers/nvrtc/library.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "base/fork.hpp"

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

void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  slots_mutex.lock();
}
void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  slots_mutex.unlock();
}

// Setting up a policy that learns takes longer than a small program's whole answer, and these tiers are never
// full.
constexpr const char* kPolicy = "lru";

// One for all libraries; null when it cannot be used.
Cache* open_cache() {
  Options options;
  options.persistent = true;
  options.memory = false;         // the program cache keeps what is in use
  options.write_behind_size = 0;  // nothing is left to do when the process ends
  options.preload = false;
  options.memory_policy = kPolicy;
  static Cache* const cache = [&] {
    auto* const opened = new Cache(Cache::open(options));
    return opened->stats().has_disk ? opened : nullptr;
  }();
  return cache;
}

}  // namespace

void* real_dlsym(void* library, const char* name) noexcept {
  static const Dlsym next = next_dlsym();
  return next == nullptr ? nullptr : next(library, name);
}

bool is_enabled() noexcept {
  static const bool enabled = [] {
    const char* const disable = std::getenv("LARDER_DISABLE");
    if (disable == nullptr) return true;
    for (const char* const no : {"", "0", "off", "false", "no"}) {
      if (std::strcmp(disable, no) == 0) return true;
    }
    return false;
  }();
  return enabled;
}

Library& Library::of_slot(int slot) noexcept {
  alignas(Library) static std::byte room[kSlots][sizeof(Library)];
  static Library* const all = [] {
    for (auto& place : room) new (place) Library;
    at_fork(6, {before_fork, after_fork, after_fork});
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
  Dl_info info{};
  link_map* library = nullptr;
  if (::dladdr1(caller, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr)
    return 0;
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
  if (!is_enabled()) return nullptr;
  const nvrtc::Functions* const real = functions();
  const MutexLock lock(mutex_);
  if (programs_ != nullptr || has_failed_ || real == nullptr) return programs_;
  has_failed_ = true;
  try {
    Cache* const cache = open_cache();
    if (cache == nullptr) {
      report("bypassed", {}, "the store cannot be used");
      return nullptr;
    }
    auto api = NvrtcApi::open(*real);
    if (!api) return nullptr;
    ProgramCacheOptions options{.remember_failures = true};
    options.programs.policy = options.kernels.policy = kPolicy;
    programs_ = new Programs(std::move(*api), cache, options);
    has_failed_ = false;
  } catch (...) {  // whatever it is, the program goes on without larder
  }
  return programs_;
}

void take_notes() noexcept {
  try {
    if (Cache* const cache = open_cache()) cache->flush(std::chrono::seconds(1));
  } catch (...) {  // larder why knows less
  }
}

void report(std::string_view outcome, Nanoseconds cost, std::string_view why_not) noexcept {
  static const char* const path = std::getenv("LARDER_RUN_REPORT");
  if (path == nullptr) return;
  try {
    std::string line("nvrtc\t");
    line.append(outcome).append("\t").append(std::to_string(cost.count())).append("\t");
    for (const char c : why_not) line.push_back(c == '\n' || c == '\t' ? ' ' : c);
    line.push_back('\n');
    const int error = errno;
    const int fd = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
      // One write each: lines of several processes do not mix.
      if (::write(fd, line.data(), line.size()) < 0) errno = error;
      ::close(fd);
    }
    errno = error;
  } catch (...) {  // a line less
  }
}

}  // namespace larder::shim
