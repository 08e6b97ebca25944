// Puts other bytes in the place of some in the products of a store: `substitute STORE KIND FROM TO`, both of
// one length. The exit code is 0 when exactly one entry had them.
#include "tests/kept_entries.hpp"

int main(int count, char** words) {
  if (count != 5) return 2;
  const std::string from = words[3];
  const std::string to = words[4];
  larder::Options options;
  options.dir = words[1];
  larder::Cache cache = larder::Cache::open(options);
  int changed = 0;
  larder::testing::for_each_kept(cache, words[1], words[2], [&](const auto& recipe, const auto& product) {
    std::string text(product.bytes.text());
    std::size_t at = text.find(from);
    if (at == std::string::npos) return;
    for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    cache.put(recipe, larder::Bytes(text), {.cost = product.cost, .log = {}, .texts = {}, .replace = true});
    ++changed;
  });
  return changed == 1 ? 0 : 1;
}
