// Peer: the sharded abseil map with a std::mutex per shard.
#include <mutex>

#include "bench/memory/peers/sharded.hpp"

namespace larder::bench {
namespace {

template <class Key, class Hold>
using MutexSharded = Sharded<Key, Hold, std::mutex>;

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("absl x64 mutex+clock", peer_forms<MutexSharded>(), argc, argv);
}
