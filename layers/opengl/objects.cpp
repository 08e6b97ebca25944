#include "layers/opengl/objects.hpp"

#include <atomic>
#include <map>

#include "base/fork.hpp"

namespace larder::gl {
namespace {

struct Contexts {
  Mutex mutex;     // of the map
  Mutex objects;   // of what groups hold
  Mutex deferred;  // of the driver's compilations of deferred shaders; the first to be taken
  std::map<const void*, Context> contexts GUARDED_BY(mutex);
};
// Programs make contexts without end, mostly at the same addresses. One that is forgotten is unknown.
constexpr std::size_t kContextsMax = 1024;

Contexts& contexts() {
  static auto* const all = new Contexts;
  return *all;
}
void lock_objects() noexcept NO_THREAD_SAFETY_ANALYSIS {
  contexts().deferred.lock();
  contexts().objects.lock();
  contexts().mutex.lock();
}
void unlock_objects() noexcept NO_THREAD_SAFETY_ANALYSIS {
  contexts().mutex.unlock();
  contexts().objects.unlock();
  contexts().deferred.unlock();
}

// Who has made contexts that are known; nobody else need be asked.
constinit std::atomic<bool> has_egl{false};
constinit std::atomic<bool> has_glx{false};

const void* current_handle() noexcept {
  if (has_egl.load(std::memory_order_acquire)) {
    const EglFunctions* const e = egl();
    void* const context = e == nullptr ? nullptr : e->eglGetCurrentContext();
    if (context != nullptr) return context;
  }
  if (!has_glx.load(std::memory_order_acquire)) return nullptr;
  const GlxFunctions* const x = glx();
  return x == nullptr ? nullptr : x->glXGetCurrentContext();
}

}  // namespace

void add_context(Maker maker, const void* context, const void* shared) noexcept {
  try {
    (maker == Maker::egl ? has_egl : has_glx).store(true, std::memory_order_release);
    at_fork(7, {lock_objects, unlock_objects, unlock_objects});
    auto group = std::make_shared<Group>();
    Contexts& all = contexts();
    const MutexLock lock(all.mutex);
    all.contexts.erase(context);  // of that address, and gone
    if (shared != nullptr) {
      const auto found = all.contexts.find(shared);
      // What it shares is not known, and so nothing of it is.
      if (found == all.contexts.end()) return;
      group = found->second.group;
    }
    if (all.contexts.size() >= kContextsMax) return;
    all.contexts.emplace(context, Context{std::move(group), nullptr});
  } catch (...) {  // unknown
  }
}

std::optional<Context> current_context() noexcept {
  const void* const handle = current_handle();
  if (handle == nullptr) return std::nullopt;
  Contexts& all = contexts();
  const MutexLock lock(all.mutex);
  const auto found = all.contexts.find(handle);
  if (found == all.contexts.end()) return std::nullopt;
  return found->second;
}

void set_service(std::shared_ptr<const Service> service) noexcept {
  const void* const handle = current_handle();
  Contexts& all = contexts();
  const MutexLock lock(all.mutex);
  const auto found = all.contexts.find(handle);
  if (found != all.contexts.end()) found->second.service = std::move(service);
}

Mutex& Objects::mutex() noexcept {
  return contexts().objects;
}

Mutex& deferred_mutex() noexcept {
  return contexts().deferred;
}

}  // namespace larder::gl
