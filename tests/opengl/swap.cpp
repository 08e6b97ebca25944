// Exchanges the products of the two entries of a kind in a store: `swap STORE KIND`. The exit code is 0 when
// there are just two.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "larder/larder.hpp"

int main(int count, char** words) {
  namespace fs = std::filesystem;
  if (count != 3) return 2;
  larder::Options options;
  options.dir = words[1];
  larder::Cache cache = larder::Cache::open(options);
  std::vector<larder::Recipe> recipes;
  std::vector<larder::Product> products;
  for (const auto& each : fs::recursive_directory_iterator(fs::path(words[1]) / "v1")) {
    if (!each.is_regular_file() || each.path().filename().string().size() != 30) continue;
    std::ostringstream read;
    read << std::ifstream(each.path(), std::ios::binary).rdbuf();
    const std::string bytes = read.str();
    std::uint64_t size = 0;
    if (bytes.size() < 128) continue;
    std::memcpy(&size, bytes.data() + 32, sizeof size);
    const auto recipe = larder::Recipe::from_canonical(std::string_view(bytes).substr(128, size));
    if (!recipe || recipe->kind() != words[2]) continue;
    auto product = cache.get(*recipe);
    if (!product) continue;
    recipes.push_back(*recipe);
    products.push_back(*product);
  }
  if (recipes.size() != 2) return 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const larder::Product& other = products[1 - i];
    cache.put(recipes[i], larder::Bytes(std::string(other.bytes.text())),
              {.cost = other.cost, .log = {}, .texts = {}, .replace = true});
  }
  return 0;
}
