// The hash that makes keys. Any thread may use it.
#pragma once

#include <string_view>

#include "larder/recipe.hpp"

namespace larder {

// XXH3-128 of a recipe's canonical bytes, unless a TestHash stands in for it.
Key key_of(std::string_view canonical) noexcept;

using KeyHash = Key (*)(std::string_view canonical) noexcept;

// Replaces the hash of the whole process while it lives, so that a test can force two recipes onto one key.
// Only one at a time, and only while no cache is in use: keys made before and during its life do not agree.
class TestHash {
 public:
  explicit TestHash(KeyHash hash) noexcept;
  ~TestHash();
  TestHash(const TestHash&) = delete;
  TestHash& operator=(const TestHash&) = delete;

  // Gives every recipe the same key.
  static Key same_for_all(std::string_view canonical) noexcept;
};

}  // namespace larder
