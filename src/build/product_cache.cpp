#include "build/product_cache.hpp"

#include "base/epoch.hpp"

namespace larder::build {

// The first reader has the kernel register the process for barriers.
void ProductCache::prepare() noexcept {
  const detail::Pin pin;
}

Cache* ProductCache::open() {
  if (!trouble_.empty()) return nullptr;
  if (cache_) return &*cache_;
  options_.preload = false;
  options_.memory = false;  // each product is asked for once
  cache_.emplace(Cache::open(options_));
  const CacheStats stats = cache_->stats();
  if (stats.has_disk || stats.bundles != 0) return &*cache_;
  for (const std::string& problem : cache_->problems()) trouble_ += (trouble_.empty() ? "" : "; ") + problem;
  if (trouble_.empty()) trouble_ = "the disk is switched off";
  cache_.reset();
  return nullptr;
}

}  // namespace larder::build
