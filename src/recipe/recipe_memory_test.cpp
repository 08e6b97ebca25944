// What happens when memory is out: this program's operator new can be told to fail.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "larder/recipe.hpp"

namespace {
thread_local int allocations_left = -1;  // negative: as many as there are
}  // namespace

// Not inlined: the compiler would take malloc and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocations_left == 0 ? nullptr : std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace larder {
namespace {

TEST(Recipe, StaysAsItWasWhenMemoryRunsOut) {
  const std::string text(1000, 'x');
  Recipe recipe("kind");
  recipe.add("first", text);
  const Recipe before = recipe;
  allocations_left = 0;
  EXPECT_THROW(for (int i = 0; i < 100; ++i) recipe.add("first", text), std::bad_alloc);
  allocations_left = -1;
  EXPECT_TRUE(Recipe::from_canonical(recipe.canonical()));  // every addition came whole or not at all
  EXPECT_TRUE(recipe.canonical().starts_with(before.canonical()));
  for (const Ingredient& one : recipe.ingredients()) EXPECT_EQ(as_text(one.bytes), text);
}

}  // namespace
}  // namespace larder
