// A Peer is one way to keep products in a directory that processes share. Every get checks an XXH3-128 of the
// product; who has no place for it keeps it in front of the product.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/recipe.hpp"

class Peer {
 public:
  virtual ~Peer() = default;
  // Opens what stands in `directory`, making it when there is nothing. False: could not.
  virtual bool open(const std::string& directory) = 0;
  // The size of the product, checked; negative when it is not there or wrong.
  virtual std::int64_t get(const larder::Recipe& recipe) = 0;
  virtual bool put(const larder::Recipe& recipe, std::string_view product) = 0;
  // Before making, where the peer has such a thing: true when somebody else has made it meanwhile.
  virtual bool wait_for_turn(const larder::Recipe&) { return false; }
  virtual void end_turn() {}
};

struct PeerKind {
  std::string_view name;
  std::unique_ptr<Peer> (*make)();
};
// The peers of this program.
std::vector<PeerKind> peer_kinds();
std::unique_ptr<Peer> make_peer(std::string_view name);
