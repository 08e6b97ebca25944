#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/mutex.hpp"
#include "cache/selected.hpp"
#include "larder/events.hpp"
#include "settings/units.hpp"
#include "store/entry_file.hpp"
#include "tool/columns.hpp"
#include "tool/entries.hpp"
#include "tool/interrupt.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

constexpr std::chrono::milliseconds kStep{100};
// Another process may be at it for one step of its own; so long it is waited for.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kBetween{20};

struct Gone {
  Key key;
  Reason reason;
  std::uint64_t bytes;
  Nanoseconds cost;
};

struct Collection {
  std::vector<Gone> gone;
  std::uint64_t bytes = 0;
  std::uint64_t swept_files = 0;
  StoreUsage before, after;
  std::uint64_t stuck = 0;  // had to go and is there
  std::vector<BadShard> unread;
  bool was_refused = false;
  bool was_busy = false;
  bool was_stopped = false;

  bool is_complete() const noexcept {
    return !was_stopped && !was_busy && !was_refused && stuck == 0 && unread.empty();
  }
};

// Runs upkeep until nothing is left to do. What goes is heard from the store's events.
Collection collect(const Call& call, Store& store) {
  Collection all;
  all.before = store.usage();
  const auto listening = subscribe([&](const Event& event) {
    // They come on the thread that runs upkeep: this one.
    if (event.kind != EventKind::evicted || event.tier != Tier::disk) return;
    all.gone.push_back({event.key, event.reason, event.bytes, event.cost});
    all.bytes += event.bytes;
  });
  Interrupt interrupt;
  Progress progress(call.console(), "entries removed", 0);
  const auto& clock = Clock::system();
  auto patience_ends = clock.steady() + kPatience;
  for (bool is_done = false; !is_done;) {
    if (Interrupt::is_requested()) {
      all.was_stopped = true;
      break;
    }
    const std::size_t before = all.gone.size();
    const UpkeepReport report = store.upkeep(kStep, true);
    is_done = report.is_done;
    all.swept_files += report.swept_files;
    all.stuck = std::max(all.stuck, report.stuck_entries);
    all.was_refused = report.was_refused;
    progress.advance(all.gone.size() - before);
    if (!report.was_busy) {
      patience_ends = clock.steady() + kPatience;
    } else if (clock.steady() >= patience_ends) {
      all.was_busy = true;
      break;
    } else {
      std::this_thread::sleep_for(kBetween);
    }
  }
  all.after = store.usage();
  return all;
}

// What would go, without changing anything: who is too old by name, for the caps how much.
struct Forecast {
  std::vector<EntryRow> expired;
  std::uint64_t expired_bytes = 0;
  std::uint64_t too_much = 0;  // bytes above the low-water mark once the caps are overstepped
  StoreUsage usage;
};

Forecast foresee(const Call& call, const Store& store) {
  Forecast forecast;
  forecast.usage = store.usage();
  const Options& said = call.options();
  Selector selector;
  if (*said.eviction && said.age_max->count() > 0) {
    selector.older_than = *said.age_max;
    Progress progress(call.console(), "reading entries", forecast.usage.entries);
    forecast.expired = read_entries(store, Selected(selector, store.notes(), Clock::system().unix_ns()),
                                    false, [&] { progress.advance(); });
    // Made lately and dated long ago by somebody: no get refuses it for its age.
    const std::int64_t now = Clock::system().unix_ns();
    std::erase_if(forecast.expired, [&](const EntryRow& row) {
      return row.reason == Reason::none &&
             entry_file::idle_ns(now, row.used_at_unix_ns, row.made_at_unix_ns) <= said.age_max->count();
    });
  }
  for (const EntryRow& row : forecast.expired) forecast.expired_bytes += row.file_bytes;
  const std::uint64_t kept = forecast.usage.bytes - std::min(forecast.usage.bytes, forecast.expired_bytes);
  if (*said.eviction && *said.size_max != 0 && forecast.usage.bytes > *said.size_max) {
    const auto mark =
        static_cast<std::uint64_t>(static_cast<double>(*said.size_max) * (*said.low_water / 100.0));
    forecast.too_much = kept - std::min(kept, mark);
  }
  return forecast;
}

int show_forecast(const Call& call, const Place& place) {
  Forecast forecast;
  if (place.store != nullptr) forecast = foresee(call, *place.store);
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("is_dry_run", true)
        .member("entries", forecast.usage.entries)
        .member("bytes", forecast.usage.bytes)
        .member("bytes_to_evict", forecast.too_much)
        .key("gone")
        .begin_array();
    for (const EntryRow& row : forecast.expired) {
      json.begin_object()
          .member("key", row.key.hex())
          .member("reason", name(Reason::expired))
          .member("file_bytes", row.file_bytes)
          .end_object();
    }
    json.end_array().end_object();
    call.console().out(std::move(json).text());
    return kDone;
  }
  Columns columns({{"KEY"}, {"SIZE", true}, {"REASON"}});
  for (const EntryRow& row : forecast.expired) {
    columns.add(
        {short_key(row.key), settings::readable_size(row.file_bytes), std::string(name(Reason::expired))});
  }
  if (!columns.empty()) call.console().out(columns.text());
  call.console().out("would remove " + entries_text(forecast.expired.size()) + ", " +
                     settings::readable_size(forecast.expired_bytes) +
                     ", unused for longer than age-max, and " + settings::readable_size(forecast.too_much) +
                     " that the policy chooses\n");
  return kDone;
}

void show_json(const Call& call, const Collection& all) {
  Json json = begin_json();
  json.member("is_dry_run", false)
      .member("is_complete", all.is_complete())
      .member("entries", all.after.entries)
      .member("bytes", all.after.bytes)
      .member("swept_files", all.swept_files)
      .member("gone_bytes", all.bytes)
      .member("stuck_entries", all.stuck);
  write_unread(json, all.unread);
  json.key("gone").begin_array();
  for (const Gone& one : all.gone) {
    json.begin_object()
        .member("key", one.key.hex())
        .member("reason", name(one.reason))
        .member("file_bytes", one.bytes)
        .member("cost_ns", one.cost.count())
        .end_object();
    call.console().out(json.take());
  }
  json.end_array().end_object();
  call.console().out(std::move(json).text());
}

void show_text(const Call& call, const Collection& all) {
  Console& console = call.console();
  Columns columns({{"KEY"}, {"SIZE", true}, {"COST", true}, {"REASON"}});
  for (const Gone& one : all.gone) {
    columns.add({short_key(one.key), settings::readable_size(one.bytes),
                 settings::readable_duration(one.cost), std::string(name(one.reason))});
  }
  if (!columns.empty()) console.out(columns.text());
  console.out("removed " + entries_text(all.gone.size()) + ", " + settings::readable_size(all.bytes) +
              (all.swept_files == 0
                   ? ""
                   : ", and " + std::to_string(all.swept_files) + " files that writers had left behind") +
              "; " + entries_text(all.after.entries) + ", " + settings::readable_size(all.after.bytes) +
              " stay" + unread_text(all.unread) + '\n');
}

int run_gc(Call& call) {
  const bool is_dry = call.has("--dry-run");
  const auto place = open_place(call, is_dry ? Access::look : Access::change);
  if (!place) return kError;
  if (place->store == nullptr && !call.wants_json()) {
    tell_no_store(call, *place);
    return kDone;
  }
  if (is_dry) return show_forecast(call, *place);
  Collection all;
  if (place->store != nullptr) all = collect(call, *place->store);
  all.unread = unread_shards(*place);
  if (place->store != nullptr) all.after = seen_usage(*place);
  place->note_counts();
  call.wants_json() ? show_json(call, all) : show_text(call, all);
  if (all.was_busy) {
    call.refuse("another process is tidying this store up", "only one can at a time",
                "run it again in a moment");
    return kNo;
  }
  if (all.was_refused) {
    call.refuse("the store was not tidied up", "nothing can be written in " + place->root,
                "see `larder doctor`");
  } else if (all.stuck != 0) {
    call.refuse("at least " + entries_text(all.stuck) + " should have gone and could not be removed",
                "a directory in " + place->root + " does not let them go", "see `larder doctor`");
  }
  tell_unread(call, all.unread);
  if (all.was_stopped) call.console().err(remark("interrupted; run it again to go on"));
  if (all.was_stopped) return kInterrupted;
  return all.is_complete() ? kDone : kNo;
}

constexpr Argument kGcArguments[] = {{"--dry-run", "", "say what would go, and change nothing"}};

}  // namespace

extern const Command kGcCommand;
const Command kGcCommand{
    "gc",
    "bring the store within its limits, and say what went and why",
    "Removes what was unused for longer than age-max, what the policy chooses when the store is above "
    "size-max, "
    "and files that dead writers left behind; compares the index with the directory. Programs do this by "
    "themselves, a little at a time. Interrupted, it has done a part; run it again to go on.",
    kGcArguments,
    true,
    false,
    run_gc,
    "larder gc\nlarder gc --size-max 1G\nlarder gc --dry-run"};

}  // namespace larder::tool
