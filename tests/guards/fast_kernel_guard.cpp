// A hit in the fast kernel map, as a loop that submits has it: a mangled name, a specialization constant, the
// kernel held and let go, and the same again under a guard of the loop.
#include <cstdio>

#include "program/fake_api.hpp"

using namespace larder;
using Programs = ProgramCache<testing::FakeApi>;

extern "C" [[gnu::noinline]] bool guarded(Programs& programs, Programs::FastGuard& guard,
                                          const FastKey<testing::FakeDevice>& key) {
  return programs.get_fast(key) && guard.get(key) != nullptr;
}

int main() {
  constexpr int kCalls = 1000;
  constexpr std::string_view kName = "_ZTSZZ4mainENKUlRN4sycl3_V17handlerEE_clES2_E12vector_add_k";
  Programs programs(std::make_shared<testing::FakeApi>());
  const std::string source = "kernel " + std::string(kName) + "\n";
  const FastKey<testing::FakeDevice> key{.image = 7, .constants = as_bytes("12345678"), .name = kName};
  if (!programs.get_or_build_fast(key, [&] { return ProgramInput{.text = source}; })) return 1;
  int found = 0;
  Programs::FastGuard guard(programs);
  for (int i = 0; i < kCalls; ++i) found += guarded(programs, guard, key) ? 1 : 0;
  std::printf("calls %d\n", kCalls);
  return found == kCalls ? 0 : 1;
}
