// larder's memory tier, in every form in which it hands a hit out.
#include "larder/memory.hpp"

#include <algorithm>
#include <array>

#include "bench/memory/harness.hpp"
#include "bench/memory/keys.hpp"

namespace larder::bench {
namespace {

using Tier = MemoryTier<Value>;

// What the caller asks with: a recipe interned once, or one that was just put together.
struct InternedKey {
  static constexpr const char* kName = "interned";
  using Asked = larder::InternedRecipe<Value>;
  static Asked make(Tier& tier, std::uint32_t index) { return tier.intern(recipe_for(index)); }
};
struct FreshKey {
  static constexpr const char* kName = "recipe";
  using Asked = Recipe;
  static Asked make(Tier&, std::uint32_t index) { return recipe_for(index); }
};

// How a hit is held. A reference under a guard of its own, opened and closed for this one hit.
struct ByGuard {
  static constexpr const char* kName = "guard";
  template <class Asked, class Use>
  static bool hit(Tier& tier, const Asked& key, Use&& use) {
    Guard guard(tier);
    const Value* const value = guard.get(key);
    if (value == nullptr) return false;
    use(*value);
    return true;
  }
};
struct ByHandle {
  static constexpr const char* kName = "handle";
  template <class Asked, class Use>
  static bool hit(Tier& tier, const Asked& key, Use&& use) {
    const Held<Value> held = tier.get(key);
    if (!held) return false;
    use(*held);
    return true;
  }
};
struct BySharedPtr {
  static constexpr const char* kName = "shared_ptr";
  template <class Asked, class Use>
  static bool hit(Tier& tier, const Asked& key, Use&& use) {
    const std::shared_ptr<const Value> held = tier.get(key).to_shared();
    if (held == nullptr) return false;
    use(*held);
    return true;
  }
};
// The request as programs write it: with a maker at hand that is not called.
struct ByRequest {
  static constexpr const char* kName = "get_or_make";
  template <class Asked, class Use>
  static bool hit(Tier& tier, const Asked& key, Use&& use) {
    const auto held =
        tier.get_or_make(key, []() -> Result<Value> { return fail(Code::not_found, "not kept"); });
    if (!held) return false;
    use(**held);
    return true;
  }
};
// One guard for a run of hits, one after the other.
struct ByRun {
  static constexpr const char* kName = "guard_16";
  template <class Asked, class Use>
  static void hit_many(Tier& tier, std::span<const Asked* const> keys, Use&& use) {
    Guard guard(tier);
    for (const Asked* key : keys) {
      if (const Value* const value = guard.get(*key)) use(*value);
    }
  }
};

// The same in one call, which asks memory for all before it awaits any.
struct ByMany {
  static constexpr const char* kName = "get_many";
  template <class Asked, class Use>
  static void hit_many(Tier& tier, std::span<const Asked* const> keys, Use&& use) {
    std::array<Value*, 16> found;
    Guard guard(tier);
    for (; !keys.empty(); keys = keys.subspan(std::min(found.size(), keys.size()))) {
      const auto batch = keys.first(std::min(found.size(), keys.size()));
      guard.get_many(batch, found);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (found[i] != nullptr) use(*found[i]);
      }
    }
  }
};

template <class Key, class Hold>
class Larder {
 public:
  using Asked = typename Key::Asked;

  explicit Larder(std::size_t capacity)
      : tier_({.bytes_max = std::uint64_t{64} << 30, .count_max = capacity}) {}

  std::vector<Asked> make_keys(std::size_t count) {
    std::vector<Asked> keys;
    keys.reserve(count);
    for (std::size_t i = 0; i < count; ++i) keys.push_back(Key::make(tier_, static_cast<std::uint32_t>(i)));
    return keys;
  }
  void insert(const Asked& key, std::uint32_t index) {
    static_cast<void>(tier_.get_or_make(key, [index] { return Value(index); }));
  }
  template <class Use>
  bool hit(const Asked& key, Use&& use) requires requires {
    Hold::hit(std::declval<Tier&>(), key, use);
  }
  { return Hold::hit(tier_, key, use); }
  template <class Use>
  void hit_many(std::span<const Asked* const> keys, Use&& use) requires requires {
    Hold::hit_many(std::declval<Tier&>(), keys, use);
  }
  { Hold::hit_many(tier_, keys, use); }
  std::size_t size() const { return tier_.stats().count; }

 private:
  Tier tier_;
};

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("larder",
                    {form<Larder<InternedKey, ByGuard>>("interned", "guard"),
                     form<Larder<InternedKey, ByRun>>("interned", "guard_16"),
                     form<Larder<InternedKey, ByMany>>("interned", "get_many"),
                     form<Larder<InternedKey, ByHandle>>("interned", "handle"),
                     form<Larder<InternedKey, BySharedPtr>>("interned", "shared_ptr"),
                     form<Larder<InternedKey, ByRequest>>("interned", "get_or_make"),
                     form<Larder<FreshKey, ByGuard>>("recipe", "guard"),
                     form<Larder<FreshKey, ByHandle>>("recipe", "handle")},
                    argc, argv);
}
