// A recipe with a 20 kB source, and its key.
#include <cstdio>
#include <string>

#include "larder/recipe.hpp"

extern "C" [[gnu::noinline]] std::uint64_t guarded(const std::string& source) {
  larder::Recipe recipe("opencl-program");
  recipe.add("source", source).add("options", "-O2 -cl-mad-enable").add("driver", "22.43.24595");
  return recipe.key().low;
}

int main() {
  constexpr int kCalls = 20;
  const std::string source(20'000, 's');
  std::uint64_t keys = 0;
  for (int i = 0; i < kCalls; ++i) keys |= guarded(source);
  std::printf("calls %d\n", kCalls);
  return keys == 0 ? 1 : 0;
}
