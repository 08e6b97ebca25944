// Puts other bytes in the place of some in the products of a store: `substitute STORE KIND FROM TO`, both of
// one length. The exit code is 0 when exactly one entry had them.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "larder/larder.hpp"

int main(int count, char** words) {
  namespace fs = std::filesystem;
  if (count != 5) return 2;
  const std::string kind = words[2];
  const std::string from = words[3];
  const std::string to = words[4];
  larder::Options options;
  options.dir = words[1];
  larder::Cache cache = larder::Cache::open(options);
  int changed = 0;
  for (const auto& each : fs::recursive_directory_iterator(fs::path(words[1]) / "v1")) {
    if (!each.is_regular_file() || each.path().filename().string().size() != 30) continue;
    std::ostringstream read;
    read << std::ifstream(each.path(), std::ios::binary).rdbuf();
    const std::string bytes = read.str();
    std::uint64_t size = 0;
    if (bytes.size() < 128) continue;
    std::memcpy(&size, bytes.data() + 32, sizeof size);
    const auto recipe = larder::Recipe::from_canonical(std::string_view(bytes).substr(128, size));
    if (!recipe || recipe->kind() != kind) continue;
    const auto product = cache.get(*recipe);
    if (!product) continue;
    std::string text(product->bytes.text());
    std::size_t at = text.find(from);
    if (at == std::string::npos) continue;
    for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    cache.put(*recipe, larder::Bytes(text), {.cost = product->cost, .log = {}, .texts = {}, .replace = true});
    ++changed;
  }
  return changed == 1 ? 0 : 1;
}
