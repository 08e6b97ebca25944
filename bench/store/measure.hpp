// What is measured; each prints one JSON object on one line. Times are microseconds.
#pragma once

#include <string>

#include "peer.hpp"

larder::Recipe recipe_of(const std::string& place, int number);
std::string product_of(std::size_t size, int number);
double now_us();

// Puts `count` products of `size` bytes.
int fill(Peer& peer, const std::string& directory, std::size_t size, int count);
// In a process that has done nothing else: open and `gets` gets, from `first` on, of `count` that are there.
int fresh(Peer& peer, const std::string& directory, std::size_t size, int count, int first, int gets);
// Medians of many in one process: hot gets, misses, puts of new ones and of what is there.
int hot(Peer& peer, const std::string& directory, std::size_t size, int count, int rounds);
// `processes` start at once on an empty place and want the same product, which takes 20 ms to make.
int storm(const PeerKind& kind, const std::string& directory, int processes);
// `processes` get and put 500 keys of 20 kB, 30 % puts, for a second.
int hammer(const PeerKind& kind, const std::string& directory, int processes);
// Steps of eviction in a store of `count` entries of 1 kB, with `realtime` before all other work. larder
// only.
int evict(const std::string& directory, int count, bool realtime);
