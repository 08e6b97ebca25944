#include "tool/place.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/counts.hpp"
#include "cache/store_options.hpp"
#include "store/layout.hpp"

namespace larder::tool {
namespace {

// Nobody has so many open that the rest is too few.
constexpr rlim_t kDescriptorsPlenty = 256;

}  // namespace

void Place::note_counts() const {
  if (store == nullptr || counters == nullptr) return;
  const CounterTotals totals = counters->totals();
  if (totals == CounterTotals{}) return;
  const auto none = std::make_unique<HistogramSet>();
  add_counts(store->notes(), totals, *none, Clock::system().unix_ns());
}

bool has_descriptors(unsigned count) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kDescriptorsPlenty) return true;
  const int probe = ::open("/", O_PATH | O_CLOEXEC);
  if (probe < 0) return false;
  ::close(probe);
  return static_cast<rlim_t>(probe) + count <= limit.rlim_cur;
}

std::optional<Place> open_place(const Call& call, Access access) {
  Place place{*call.options().dir, std::make_unique<Counters>(), nullptr};
  struct stat status {};
  const std::string version = place.root + layout::kVersionDirectory;
  if (access != Access::make && !place.root.empty() && ::lstat(version.c_str(), &status) != 0 &&
      errno == ENOENT) {
    return place;
  }
  // Else much would look as if it was not there.
  if (!has_descriptors(kDescriptorsMin)) {
    call.refuse("the store at " + place.root + " cannot be read", "too few files may be open at once",
                std::string(kMoreDescriptors));
    return std::nullopt;
  }
  StoreOptions options = to_store_options(call.options());
  options.read_only = access == Access::look;
  options.removals_per_second = 0;
  options.counters = place.counters.get();
  auto opened = Store::open(std::move(options));
  if (!opened) {
    call.refuse("the store at " + place.root + " cannot be used", opened.error().what,
                "see `larder doctor`, or name another directory with --dir");
    return std::nullopt;
  }
  place.store = std::move(*opened);
  return place;
}

void tell_no_store(const Call& call, const Place& place) {
  call.console().err("larder: nothing is kept in " + printable(place.root) + " yet\n");
}

}  // namespace larder::tool
