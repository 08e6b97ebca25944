#include "tool/place.hpp"

#include <errno.h>
#include <sys/stat.h>

#include "cache/counts.hpp"
#include "cache/store_options.hpp"
#include "store/layout.hpp"

namespace larder::tool {

void Place::note_counts() const {
  if (store == nullptr || counters == nullptr) return;
  const CounterTotals totals = counters->totals();
  if (totals == CounterTotals{}) return;
  const auto none = std::make_unique<HistogramSet>();
  add_counts(store->notes(), totals, *none, Clock::system().unix_ns());
}

std::optional<Place> open_place(const Call& call, Access access) {
  Place place{*call.options().dir, std::make_unique<Counters>(), nullptr};
  struct stat status {};
  const std::string version = place.root + layout::kVersionDirectory;
  if (access != Access::make && !place.root.empty() && ::lstat(version.c_str(), &status) != 0 &&
      errno == ENOENT) {
    return place;
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
