// Peer: the sharded abseil map with a spin lock per shard, the lock that costs a hit least while nobody
// waits.
#include <atomic>
#include <mutex>

#include "bench/memory/peers/sharded.hpp"

namespace larder::bench {
namespace {

class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) pause();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  std::atomic<bool> held_{false};
};

template <class Key, class Hold>
using SpinSharded = Sharded<Key, Hold, SpinLock>;

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("absl x64 spinlock+clock", peer_forms<SpinSharded>(), argc, argv);
}
