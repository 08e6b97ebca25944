// Fills a store as programs would: kernels of a few hundred bytes, each with source, options and driver.
// Usage: larder_tool_fill ROOT ENTRIES
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cache/misses.hpp"
#include "store/store.hpp"

namespace {

larder::Recipe recipe_of(unsigned long number) {
  static constexpr const char* kKinds[] = {"opencl-program", "nvrtc-program", "gl-program"};
  larder::Recipe recipe(kKinds[number % 3]);
  std::string source = "__kernel void scale_" + std::to_string(number) + "(__global float* data) {\n";
  for (unsigned long line = 0; line < 4 + number % 8; ++line) {
    source += "  data[get_global_id(0)] *= " + std::to_string(line + number) + ".0f;\n";
  }
  recipe.add("source", source + "}\n").add("options", number % 2 == 0 ? "-cl-fast-relaxed-math" : "-O2");
  recipe.add("driver", "a driver 23." + std::to_string(number % 5)).add("device", "a device");
  return recipe;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: larder_tool_fill ROOT ENTRIES\n", stderr);
    return 2;
  }
  larder::StoreOptions options;
  options.root = argv[1];
  options.bytes_max = 0;
  options.free_bytes_min = 0;
  auto opened = larder::Store::open(options);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().what.c_str());
    return 1;
  }
  const auto store = std::move(*opened);
  const unsigned long entries = std::strtoul(argv[2], nullptr, 10);
  for (unsigned long number = 0; number < entries; ++number) {
    const std::string product(200 + number % 800, static_cast<char>('a' + number % 26));
    const larder::PutResult put =
        store->put(recipe_of(number), larder::as_bytes(product),
                   {.cost = std::chrono::milliseconds(1 + number % 3000), .log = "ok\n", .attachment = {}});
    if (!put) {
      std::fprintf(stderr, "entry %lu: %s\n", number, std::string(name(put.reason)).c_str());
      return 1;
    }
  }
  // The store that a hundred thousand puts leave is one whose index is folded.
  while (!store->upkeep(std::chrono::milliseconds(100)).is_done) continue;
  larder::add_misses(store->notes(), {{recipe_of(entries + 7), larder::Reason::absent,
                                       larder::Clock::system().unix_ns(), "fill"}});
}
