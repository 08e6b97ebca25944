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
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

struct Removal {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  bool was_stopped = false;
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

void report(const Call& call, const Removal& removal, const StoreUsage& usage, bool is_dry) {
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("is_dry_run", is_dry)
        .member("is_complete", !removal.was_stopped)
        .member("gone_entries", removal.entries)
        .member("gone_bytes", removal.bytes)
        .member("entries", usage.entries)
        .member("bytes", usage.bytes)
        .end_object();
    call.console().out(std::move(json).text());
    return;
  }
  call.console().out((is_dry ? "would remove " : "removed ") + entries_text(removal.entries) + ", " +
                     settings::readable_size(removal.bytes) + "; " + entries_text(usage.entries) + ", " +
                     settings::readable_size(usage.bytes) + (is_dry ? " are there\n" : " stay\n"));
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
    usage = store.usage();
  } else if (!call.wants_json()) {
    tell_no_store(call, *place);
    return kDone;
  }
  report(call, removal, usage, is_dry);
  if (removal.was_stopped) call.console().err(remark("interrupted; run it again to go on"));
  return removal.was_stopped ? kInterrupted : kDone;
}

constexpr Argument kArguments[] = {
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
    "memory. Counts stay. Interrupted, it has removed a part; run it again to go on.",
    kArguments,
    true,
    false,
    run_clear,
    "larder clear --kind opencl-program --dry-run\nlarder clear --older-than 30d\nlarder clear --all"};

}  // namespace larder::tool
