// Exchanges the products of the two entries of a kind in a store: `swap STORE KIND`. The exit code is 0 when
// there are just two.
#include <vector>

#include "tests/kept_entries.hpp"

int main(int count, char** words) {
  if (count != 3) return 2;
  larder::Options options;
  options.dir = words[1];
  larder::Cache cache = larder::Cache::open(options);
  std::vector<larder::Recipe> recipes;
  std::vector<larder::Product> products;
  larder::testing::for_each_kept(cache, words[1], words[2], [&](const auto& recipe, const auto& product) {
    recipes.push_back(recipe);
    products.push_back(product);
  });
  if (recipes.size() != 2) return 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const larder::Product& other = products[1 - i];
    cache.put(recipes[i], larder::Bytes(std::string(other.bytes.text())),
              {.cost = other.cost, .log = {}, .texts = {}, .replace = true});
  }
  return 0;
}
