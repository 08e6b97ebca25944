// Mutex and MutexLock are std::mutex and its guard with the annotations that clang's thread-safety analysis
// reads. libstdc++'s own have none, so nothing in larder uses those directly.
//
// Who finds a Mutex locked tries again for a microsecond or two before he sleeps: larder holds its locks for
// less than that as a rule, and to sleep and be woken takes five times as long. While the process has one
// thread the C library locks without an atomic exchange, and it alone knows when that ends: lock() leaves it
// to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#if defined(__clang__)
#define LARDER_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define LARDER_THREAD_ANNOTATION(x)
#endif

#define GUARDED_BY(x) LARDER_THREAD_ANNOTATION(guarded_by(x))
#define PT_GUARDED_BY(x) LARDER_THREAD_ANNOTATION(pt_guarded_by(x))
#define REQUIRES(...) LARDER_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) LARDER_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) LARDER_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) LARDER_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) LARDER_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define CAPABILITY(x) LARDER_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY LARDER_THREAD_ANNOTATION(scoped_lockable)
#define NO_THREAD_SAFETY_ANALYSIS LARDER_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace larder {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() {
    if (is_alone()) return mutex_.lock();
    for (int pauses = 1; !mutex_.try_lock(); pauses *= 2) {
      if (pauses > kPausesMax) return mutex_.lock();
      for (int i = 0; i < pauses; ++i) pause();
    }
  }
  void unlock() RELEASE() { mutex_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // try_lock for who certainly does not hold it himself.
  bool lock_if_free() TRY_ACQUIRE(true) {
    if (!is_alone()) return mutex_.try_lock();
    mutex_.lock();
    return true;
  }

 private:
  friend class Condition;
  static constexpr int kPausesMax = 32;
  // No other thread is there that could hold it. Says no where that is not known.
  static bool is_alone() noexcept {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable for Mutex. Wakes may be spurious: wait in a loop.
class Condition {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    held.release();
  }
  // False when `timeout` passed.
  bool wait_for(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    const bool signalled = condition_.wait_for(held, timeout) == std::cv_status::no_timeout;
    held.release();
    return signalled;
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace larder
