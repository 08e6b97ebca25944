// Where `larder build` keeps what commands made, opened when the first of them is asked for. Used by one
// thread.
#pragma once

#include <optional>
#include <string>

#include "build/root.hpp"
#include "larder/cache.hpp"
#include "larder/options.hpp"

namespace larder::build {

class ProductCache {
 public:
  ProductCache(Options options, Root root) : options_(std::move(options)), root_(std::move(root)) {}
  const Root& root() const noexcept { return root_; }
  // Does what costs the first product a millisecond in a process that has several threads, and nothing in one
  // that has not.
  static void prepare() noexcept;
  // Null: it cannot be used, and trouble() says why.
  Cache* open();
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  Options options_;
  Root root_;
  std::optional<Cache> cache_;
  std::string trouble_;
};

}  // namespace larder::build
