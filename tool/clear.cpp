#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "cache/counts.hpp"
#include "cache/misses.hpp"
#include "cache/start_order.hpp"
#include "settings/units.hpp"
#include "store/layout.hpp"
#include "tool/columns.hpp"
#include "tool/entries.hpp"
#include "tool/interrupt.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/selection.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

struct Removal {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stuck = 0;  // meant to go, and still there
  std::string stuck_path;   // one of them
  std::vector<BadShard> unread;
  bool was_stopped = false;

  bool is_complete() const noexcept { return !was_stopped && stuck == 0 && unread.empty(); }
};

Removal remove_entries(const Call& call, Store& store, const Selected& selected, bool is_dry) {
  Removal removal;
  Interrupt interrupt;
  Progress progress(call.console(), "entries looked at", store.usage().entries);
  for (unsigned shard = 0; shard < layout::kShardCount && !removal.was_stopped; ++shard) {
    for (const Key& key : keys_of(store, shard)) {
      if ((removal.was_stopped = Interrupt::is_requested())) break;
      progress.advance();
      if (!selected.may_be(key)) continue;
      EntryInfo info;
      const Reason reason = store.glance(key, info);
      if (!selected.is_by_key() && (reason != Reason::none || !selected.is(info))) continue;
      if (is_dry ? reason != Reason::absent : store.erase(key)) {
        ++removal.entries;
        removal.bytes += info.file_bytes;
      } else if (store.contains(key)) {
        if (removal.stuck++ == 0) removal.stuck_path = layout::entry_path(key).c_str();
      }
    }
  }
  return removal;
}

// Recipes are content, too: what is selected is forgotten in the notes as well.
void forget_notes(const Store& store, const Selection& selection, const Selected& selected) {
  const Notes notes = store.notes();
  const Selector& selector = selection.selector();
  clear_misses(notes, [&](const Miss& miss) { return selected.is(miss); });
  if (!selector.program.empty()) clear_start_order(notes, selector.program);
  if (!selection.says_anything()) clear_start_orders(notes);
}

// `: Read-only file system`: what keeps a file from being removed, as far as can be seen.
std::string why_stuck(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return ": it is no file of larder's";
  const std::string shard = path.substr(0, path.rfind('/'));
  return ::access(shard.c_str(), W_OK | X_OK) == 0 ? std::string() : std::string(": ") + std::strerror(errno);
}

void report(const Call& call, const Removal& removal, const StoreUsage& usage, bool is_dry) {
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("is_dry_run", is_dry)
        .member("is_complete", removal.is_complete())
        .member("gone_entries", removal.entries)
        .member("gone_bytes", removal.bytes)
        .member("entries", usage.entries)
        .member("bytes", usage.bytes)
        .member("stuck_entries", removal.stuck);
    write_unread(json, removal.unread);
    json.end_object();
    call.console().out(std::move(json).text());
    return;
  }
  call.console().out((is_dry ? "would remove " : "removed ") + entries_text(removal.entries) + ", " +
                     settings::readable_size(removal.bytes) + "; " + entries_text(usage.entries) + ", " +
                     settings::readable_size(usage.bytes) + (is_dry ? " are there" : " stay") +
                     unread_text(removal.unread) + '\n');
}

// What is there by its names, where that can be told: the index may know of entries that never came.
StoreUsage left_after_all(const Store& store, const Removal& removal) {
  StoreUsage usage = store.usage();
  if (removal.was_stopped) return usage;
  StoreUsage seen;
  store.for_each_key([&](const Key& key) {
    EntryInfo info;
    if (store.glance(key, info) == Reason::absent) return true;
    ++seen.entries;
    seen.bytes += info.file_bytes;
    return true;
  });
  return seen;
}

int run_clear(Call& call) {
  const auto selection = Selection::of(call);
  if (selection == nullptr) return kError;
  const bool all = call.has("--all");
  if (!all && !selection->says_anything()) {
    return call.refuse("larder clear needs to know what to remove", "nothing was selected",
                       "say --kind, --program, --older-than or --path, or --all for everything");
  }
  if (all && selection->says_anything()) {
    return call.refuse("--all and a selection exclude each other",
                       "it is not clear whether entries " + selection->text() + " are meant or all",
                       "leave one of them out");
  }
  const bool is_dry = call.has("--dry-run");
  const auto place = open_place(call, is_dry ? Access::look : Access::change);
  if (!place) return kError;
  Removal removal;
  StoreUsage usage;
  if (place->store != nullptr) {
    Store& store = *place->store;
    const Selected selected(selection->selector(), store.notes(), Clock::system().unix_ns());
    removal = remove_entries(call, store, selected, is_dry);
    if (!is_dry && !removal.was_stopped) {
      forget_notes(store, *selection, selected);
      if (all) store.forget_damaged();
    }
    removal.unread = unread_shards(*place);
    usage = all && !is_dry ? left_after_all(store, removal) : store.usage();
  } else if (!call.wants_json()) {
    tell_no_store(call, *place);
    return kDone;
  }
  report(call, removal, usage, is_dry);
  if (removal.was_stopped) call.console().err(remark("interrupted; run it again to go on"));
  if (removal.stuck != 0) {
    const std::string path = place->root + layout::kVersionDirectory + '/' + removal.stuck_path;
    call.refuse(entries_text(removal.stuck) + " could not be removed",
                "the first is " + printable(path) + why_stuck(path), "see `larder doctor`");
  }
  tell_unread(call, removal.unread);
  if (removal.was_stopped) return kInterrupted;
  return removal.is_complete() ? kDone : kNo;
}

constexpr Argument kClearArguments[] = {
    {"--all", "", "everything"},
    kKindArgument,
    kProgramArgument,
    kOlderArgument,
    kPathArgument,
    {"--dry-run", "", "say what would go, and change nothing"},
};

}  // namespace

extern const Command kClearCommand;
const Command kClearCommand{
    "clear",
    "remove entries from disk",
    "Removes the entries that are selected by every flag given, or all, and forgets their recipes among the "
    "recent misses. It asks nothing; --dry-run says what would go. Running programs keep what they hold in "
    "memory. Counts stay. What could not be removed is named, and the exit code is 1 then. "
    "Interrupted, it has removed a part; run it again to go on.",
    kClearArguments,
    true,
    false,
    run_clear,
    "larder clear --kind opencl-program --dry-run\nlarder clear --older-than 30d\nlarder clear --all"};

}  // namespace larder::tool
