// How a design's entries are keyed, and how its hits are held: the two template parameters of every C++ peer.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/memory/harness.hpp"
#include "bench/memory/workload.hpp"
#include "larder/recipe.hpp"

namespace larder::bench {

// Spreads every bit of `x` over the whole word: tables may take their bucket from any end of it.
inline std::uint64_t mix(std::uint64_t x) {
  const auto product = static_cast<unsigned __int128>(x) * 0x9e3779b97f4a7c15;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The recipe that stands for `index`: a kind and three ingredients, some 150 canonical bytes.
Recipe recipe_for(std::uint32_t index);

// What stands for an interned recipe in a program without larder: its address is its identity.
struct PeerRecipe {
  std::string canonical;
};

// A key kind says what the caller holds (Asked), what the table keeps (Kept), how the first becomes the
// second for a look-up (to_kept), and the table's hash of it.

// Keyed by the interned recipe's address: nothing is compared but a pointer.
struct ByInterned {
  static constexpr const char* kName = "interned";
  using Asked = const PeerRecipe*;
  using Kept = const PeerRecipe*;
  struct Hash {
    std::size_t operator()(Kept key) const noexcept { return mix(reinterpret_cast<std::uintptr_t>(key)); }
  };
  static Kept to_kept(Asked key) { return key; }
  static std::vector<Asked> make_keys(std::size_t count);
};

// Keyed by a fresh recipe's canonical bytes: hashed and compared at every look-up.
struct ByBytes {
  static constexpr const char* kName = "bytes";
  using Asked = std::string;
  using Kept = std::string;
  struct Hash {
    std::size_t operator()(const Kept& key) const noexcept { return XXH3_64bits(key.data(), key.size()); }
  };
  static const Kept& to_kept(const Asked& key) { return key; }
  static std::vector<Asked> make_keys(std::size_t count);
};

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

// Keyed by the 128-bit digest of a fresh recipe's bytes, computed at every look-up. The bytes themselves are
// never compared, so unlike the others this one trusts the digest.
struct ByDigest {
  static constexpr const char* kName = "digest";
  using Asked = std::string;
  using Kept = Digest;
  struct Hash {
    std::size_t operator()(const Kept& key) const noexcept { return key.low; }
  };
  static Kept to_kept(const Asked& key) {
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    return {hash.high64, hash.low64};
  }
  static std::vector<Asked> make_keys(std::size_t count) { return ByBytes::make_keys(count); }
};

// A hold says how the table keeps a value (Kept) and what the caller has while using it. `use_locked` is
// called with the entry protected and `release()` ends that protection.

// The value stands in the table itself and is used under the entry's lock: nothing is counted and no other
// cache line is touched, but the value can never leave the table, nor may it have an address of its own.
struct Inline {
  static constexpr const char* kName = "inline";
  using Kept = Value;
  static Kept make(std::uint32_t index) { return Value(index); }
  template <class Release, class Use>
  static void use_locked(const Kept& kept, Release&&, Use&& use) {
    use(kept);
  }
};

// The table keeps shared objects, and this hit uses one under the entry's lock without counting it.
struct Visit {
  static constexpr const char* kName = "visit";
  using Kept = std::shared_ptr<const Value>;
  static Kept make(std::uint32_t index) { return std::make_shared<const Value>(index); }
  template <class Release, class Use>
  static void use_locked(const Kept& kept, Release&&, Use&& use) {
    use(*kept);
  }
};

// The caller takes a shared_ptr along and uses it after the lock is gone.
struct Shared {
  static constexpr const char* kName = "shared_ptr";
  using Kept = std::shared_ptr<const Value>;
  static Kept make(std::uint32_t index) { return std::make_shared<const Value>(index); }
  template <class Release, class Use>
  static void use_locked(const Kept& kept, Release&& release, Use&& use) {
    const std::shared_ptr<const Value> held = kept;
    release();
    use(*held);
  }
};

// Every way to key and to hold a peer of the shape `Peer<Key, Hold>`.
template <template <class Key, class Hold> class Peer>
std::vector<Form> peer_forms() {
  std::vector<Form> forms;
  const auto add = [&]<class Key>(Key) {
    forms.push_back(form<Peer<Key, Inline>>(Key::kName, Inline::kName));
    forms.push_back(form<Peer<Key, Visit>>(Key::kName, Visit::kName));
    forms.push_back(form<Peer<Key, Shared>>(Key::kName, Shared::kName));
  };
  add(ByInterned{});
  add(ByBytes{});
  add(ByDigest{});
  return forms;
}

}  // namespace larder::bench
