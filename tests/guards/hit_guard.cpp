// Ten hits by interned recipe, each read under a guard of its own, by a thread that has hit before.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "larder/memory.hpp"

namespace {

using Product = std::array<std::uint64_t, 8>;
constexpr int kHits = 10;

}  // namespace

extern "C" [[gnu::noinline]] std::uint64_t guarded(larder::MemoryTier<Product>& tier,
                                                   const larder::InternedRecipe<Product>* recipes) {
  std::uint64_t sum = 0;
  for (int i = 0; i < kHits; ++i) {
    larder::Guard guard(tier);
    if (const Product* const product = guard.get(recipes[i])) sum += product->back();
  }
  return sum;
}

int main() {
  constexpr int kCalls = 100;
  larder::MemoryTier<Product> tier;
  std::vector<larder::InternedRecipe<Product>> recipes;
  for (int i = 0; i < kHits; ++i) {
    recipes.push_back(tier.intern(larder::Recipe("test").add("number", std::to_string(i))));
    static_cast<void>(tier.get_or_make(recipes.back(), [] { return Product{1, 1, 1, 1, 1, 1, 1, 1}; }));
  }
  std::uint64_t sum = 0;
  for (int i = 0; i < kCalls; ++i) sum += guarded(tier, recipes.data());
  std::printf("calls %d\n", kCalls);
  const bool all_hit = sum == kCalls * kHits && tier.totals()[larder::Outcome::memory_hit] == kCalls * kHits;
  return all_hit ? 0 : 1;
}
