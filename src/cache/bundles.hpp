// Bundles are the bundle files that a cache has mounted, asked in the order in which they were named. Opened
// once, when the cache is; any thread may ask; forked children may go on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "larder/bundle.hpp"
#include "larder/counters.hpp"

namespace larder {

class Bundles {
 public:
  // Told why a bundle is left out: what and what to do, and the reason.
  using Complain = std::function<void(std::string what, Reason reason)>;

  Bundles() = default;
  // Opens what `paths` name. One that cannot be used is left out and complained of once.
  Bundles(const std::vector<std::string>& paths, const BundleOptions& options, const Complain& complain);

  // The product from the first bundle that has a sound one, else the first reason that says more than absent.
  // What is damaged is counted, and told by an event.
  BundleLookup get(const Recipe& recipe, const Key& key, BundleGet how, Counters& counters) const noexcept;
  bool contains(const Key& key) const noexcept;

  bool empty() const noexcept { return bundles_.empty(); }
  std::size_t size() const noexcept { return bundles_.size(); }
  std::uint64_t entries() const noexcept;

 private:
  std::vector<Bundle> bundles_;
};

}  // namespace larder
