#include "layers/opengl/blobs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "program/guest.hpp"

namespace larder::gl {
namespace {

constexpr std::string_view kBlobsLayer = "egl-blobs";

// EGL gives its callbacks nothing by which they could tell one display from another: the first that needs it
// is the one whose blobs are kept.
struct Blobs {
  Mutex mutex;
  void* display GUARDED_BY(mutex) = nullptr;
  bool is_hosts GUARDED_BY(mutex) = false;
  DeviceIdentity driver GUARDED_BY(mutex);
  // When a key was asked for in vain: what comes for it took as long.
  std::map<Key, std::chrono::steady_clock::time_point> missed GUARDED_BY(mutex);
};
constexpr std::size_t kMissedMax = 1024;

Blobs& blobs() {
  static auto* const all = new Blobs;
  return *all;
}
void lock_blobs() noexcept NO_THREAD_SAFETY_ANALYSIS {
  blobs().mutex.lock();
}
void unlock_blobs() noexcept NO_THREAD_SAFETY_ANALYSIS {
  blobs().mutex.unlock();
}

// The host's, once it has given its own.
constinit std::atomic<SetBlob> hosts_set{nullptr};
constinit std::atomic<GetBlob> hosts_get{nullptr};

// Which of a context's facts say whose blobs these are; the rest stands in the driver's keys.
constexpr std::array<std::string_view, 5> kDriver{"vendor", "renderer", "version", "driver-build",
                                                  "processor"};

Recipe recipe_of(const void* key, long size) {
  Recipe recipe("egl-blob");
  Blobs& all = blobs();
  const MutexLock lock(all.mutex);
  for (const auto& [name, value] : all.driver.facts) recipe.add(name, value);
  recipe.add("key", BytesView(static_cast<const std::byte*>(key), static_cast<std::size_t>(size)));
  return recipe;
}

void set_blob(const void* key, long key_size, const void* value, long value_size) {
  if (const SetBlob hosts = hosts_set.load(std::memory_order_acquire))
    return hosts(key, key_size, value, value_size);
  try {
    Cache* const cache = guest::open_cache();
    if (cache == nullptr || key == nullptr || value == nullptr || key_size <= 0 || value_size <= 0) return;
    const Recipe recipe = recipe_of(key, key_size);
    Nanoseconds cost{0};
    {
      Blobs& all = blobs();
      const MutexLock lock(all.mutex);
      const auto found = all.missed.find(recipe.key());
      if (found != all.missed.end()) {
        cost = std::chrono::steady_clock::now() - found->second;
        all.missed.erase(found);
      }
    }
    const BytesView bytes(static_cast<const std::byte*>(value), static_cast<std::size_t>(value_size));
    const bool is_kept =
        cache->put(recipe, Bytes(bytes), {.cost = cost, .log = {}, .texts = {}, .replace = true});
    guest::report(kBlobsLayer, name(Outcome::made), cost, is_kept ? "" : "the store does not take it");
  } catch (...) {  // not kept
  }
}

long get_blob(const void* key, long key_size, void* value, long value_size) {
  if (const GetBlob hosts = hosts_get.load(std::memory_order_acquire))
    return hosts(key, key_size, value, value_size);
  try {
    Cache* const cache = guest::open_cache();
    if (cache == nullptr || key == nullptr || key_size <= 0) return 0;
    const Recipe recipe = recipe_of(key, key_size);
    const auto kept = cache->get(recipe);
    if (!kept) {
      Blobs& all = blobs();
      const MutexLock lock(all.mutex);
      if (all.missed.size() < kMissedMax)
        all.missed.insert_or_assign(recipe.key(), std::chrono::steady_clock::now());
      return 0;
    }
    const long size = static_cast<long>(kept->bytes.size());
    // One that does not fit is asked for again.
    if (value == nullptr || value_size < size) return size;
    std::memcpy(value, kept->bytes.data(), kept->bytes.size());
    guest::report(kBlobsLayer, name(kept->outcome), kept->cost, {});
    return size;
  } catch (...) {  // as if it were not there
    return 0;
  }
}

bool has_extension(const char* extensions, std::string_view name) {
  std::string_view rest = extensions == nullptr ? "" : extensions;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

bool keep_blobs(const DeviceIdentity& identity) noexcept {
  try {
    const EglFunctions* const e = egl();
    if (e == nullptr || e->eglGetCurrentDisplay == nullptr || e->eglQueryString == nullptr ||
        e->eglSetBlobCacheFuncsANDROID == nullptr || guest::open_cache() == nullptr)
      return false;
    void* const display = e->eglGetCurrentDisplay();
    constexpr int kExtensionsOfDisplay = 0x3055;
    if (display == nullptr ||
        !has_extension(e->eglQueryString(display, kExtensionsOfDisplay), "EGL_ANDROID_blob_cache"))
      return false;
    at_fork(7, {lock_blobs, unlock_blobs, unlock_blobs});
    Blobs& all = blobs();
    {
      const MutexLock lock(all.mutex);
      if (all.is_hosts) return false;
      if (all.display != nullptr) return all.display == display;
      all.display = display;
      for (const auto& fact : identity.facts) {
        if (std::find(kDriver.begin(), kDriver.end(), fact.first) != kDriver.end())
          all.driver.facts.push_back(fact);
      }
    }
    e->eglSetBlobCacheFuncsANDROID(display, set_blob, get_blob);
    return true;
  } catch (...) {  // none are kept
    return false;
  }
}

void set_blob_functions(void* display, SetBlob set, GetBlob get) noexcept {
  const EglFunctions* const e = egl();
  if (e == nullptr || e->eglSetBlobCacheFuncsANDROID == nullptr) return;
  if (set != nullptr && get != nullptr && guest::is_enabled()) {
    Blobs& all = blobs();
    const MutexLock lock(all.mutex);
    const bool is_ours = all.display != nullptr && all.display == display && !all.is_hosts;
    all.is_hosts = true;
    if (is_ours) {
      // EGL takes functions once; ours pass on to these from now on.
      hosts_set.store(set, std::memory_order_release);
      hosts_get.store(get, std::memory_order_release);
      return;
    }
  }
  e->eglSetBlobCacheFuncsANDROID(display, set, get);
}

}  // namespace larder::gl
