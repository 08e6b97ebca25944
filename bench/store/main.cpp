// larder_store_bench: measures one way to keep products. Called by run.py, which sees to fair turns.
//
//   larder_store_bench peers
//   larder_store_bench fill PEER DIRECTORY SIZE COUNT
//   larder_store_bench fresh PEER DIRECTORY SIZE COUNT FIRST GETS
//   larder_store_bench hot PEER DIRECTORY SIZE COUNT ROUNDS
//   larder_store_bench storm|hammer PEER DIRECTORY PROCESSES
//   larder_store_bench evict larder DIRECTORY COUNT [1: realtime]
#include <cstdio>
#include <cstdlib>

#include "measure.hpp"

std::unique_ptr<Peer> make_peer(std::string_view name) {
  for (const PeerKind& kind : peer_kinds()) {
    if (kind.name == name) return kind.make();
  }
  return nullptr;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "peers") {
    for (const PeerKind& kind : peer_kinds()) std::printf("%s\n", std::string(kind.name).c_str());
    return 0;
  }
  if (argc < 5) return 2;
  const std::string peer_name = argv[2];
  const std::string directory = argv[3];
  const auto number = [&](int at) { return at < argc ? std::atoi(argv[at]) : 0; };
  const auto size = static_cast<std::size_t>(number(4));
  if (what == "evict") return evict(directory, number(4), number(5) != 0);
  for (const PeerKind& kind : peer_kinds()) {
    if (kind.name != peer_name) continue;
    if (what == "storm") return storm(kind, directory, number(4));
    if (what == "hammer") return hammer(kind, directory, number(4));
    const auto peer = kind.make();
    if (what == "fill") return fill(*peer, directory, size, number(5));
    if (what == "fresh") return fresh(*peer, directory, size, number(5), number(6), number(7));
    if (what == "hot") return hot(*peer, directory, size, number(5), number(6));
  }
  return 2;
}
