#include "cache/bundles.hpp"

#include <algorithm>
#include <utility>

namespace larder {
namespace {

Reason reason_of(Code code) noexcept {
  switch (code) {
    case Code::not_found:
      return Reason::absent;
    case Code::damaged:
      return Reason::corrupt;
    case Code::unsupported:
      return Reason::other_version;
    case Code::refused:
      return Reason::untrusted;
    default:
      return Reason::unreadable;
  }
}

}  // namespace

Bundles::Bundles(const std::vector<std::string>& paths, const BundleOptions& options,
                 const Complain& complain) {
  for (const std::string& path : paths) {
    Result<Bundle> bundle = Bundle::open(path, options);
    if (bundle) {
      bundles_.push_back(std::move(*bundle));
    } else {
      complain("bundle " + bundle.error().what, reason_of(bundle.error().code));
    }
  }
}

BundleLookup Bundles::get(const Recipe& recipe, const Key& key, BundleGet how,
                          Counters& counters) const noexcept {
  BundleLookup none;
  for (const Bundle& bundle : bundles_) {
    BundleLookup found = bundle.get(recipe, key, how);
    if (found) return found;
    if (found.reason == Reason::corrupt || found.reason == Reason::truncated) {
      counters.count(Counter::damaged);
    }
    if (none.reason == Reason::absent) none.reason = found.reason;
  }
  return none;
}

bool Bundles::contains(const Key& key) const noexcept {
  return std::any_of(bundles_.begin(), bundles_.end(),
                     [&](const Bundle& bundle) { return bundle.contains(key); });
}

std::uint64_t Bundles::entries() const noexcept {
  std::uint64_t sum = 0;
  for (const Bundle& bundle : bundles_) sum += bundle.entries();
  return sum;
}

}  // namespace larder
