#include <algorithm>

#include "settings/units.hpp"
#include "store/layout.hpp"
#include "tool/columns.hpp"
#include "tool/entries.hpp"
#include "tool/interrupt.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

// How far an interrupted pass came: a note of the store, `larder-verify 1 SHARD`, of the shard to go on with.
constexpr std::string_view kMark = "larder-verify 1 ";
constexpr std::int64_t kMarkEvery = 1'000'000'000;

struct Damaged {
  Key key;
  Reason reason;
  bool is_gone = false;
};

struct Pass {
  std::uint64_t sound = 0;
  std::uint64_t bytes = 0;  // of the sound ones' files
  std::vector<Damaged> damaged;
  std::vector<BadShard> unread;
  unsigned first_shard = 0;
  bool was_stopped = false;
};

unsigned read_mark(const Notes& notes) {
  const std::string mark = notes.read(layout::kVerifyMark, 64);
  if (!mark.starts_with(kMark)) return 0;
  const auto shard = settings::to_count(std::string_view(mark).substr(kMark.size()));
  return shard && *shard < layout::kShardCount ? static_cast<unsigned>(*shard) : 0;
}

void write_mark(const Notes& notes, unsigned shard) {
  notes.replace(layout::kVerifyMark, std::string(kMark) + std::to_string(shard));
}

void look_at(Store& store, const Key& key, bool removes, Pass& pass) {
  EntryInfo info;
  Damaged found{key, Reason::none};
  found.reason = removes ? store.verify_and_remove(key, info, found.is_gone) : store.verify(key, info);
  if (found.reason == Reason::absent) return;  // it left meanwhile
  if (found.reason == Reason::none) {
    ++pass.sound;
    pass.bytes += info.file_bytes;
  } else {
    pass.damaged.push_back(found);
  }
}

Pass verify_all(const Call& call, Store& store) {
  const Notes notes = store.notes();
  Pass pass;
  if (call.has("--continue")) pass.first_shard = read_mark(notes);
  const bool removes = call.has("--remove");
  Interrupt interrupt;
  Progress progress(call.console(), "verifying entries", store.usage().entries);
  std::int64_t marked_at = Clock::system().steady().count();
  for (unsigned shard = pass.first_shard; shard < layout::kShardCount; ++shard) {
    for (const Key& key : keys_of(store, shard)) {
      if (Interrupt::is_requested()) {
        write_mark(notes, shard);
        pass.was_stopped = true;
        return pass;
      }
      look_at(store, key, removes, pass);
      progress.advance();
    }
    // Also for one that is ended without being asked.
    const std::int64_t now = Clock::system().steady().count();
    if (now - marked_at >= kMarkEvery) {
      write_mark(notes, shard + 1);
      marked_at = now;
    }
  }
  notes.remove(layout::kVerifyMark);
  return pass;
}

std::string path_of(const Place& place, const Key& key) {
  return place.root + layout::kVersionDirectory + '/' + layout::entry_path(key).c_str();
}

void show_json(const Call& call, const Place& place, const Pass& pass) {
  Json json = begin_json();
  json.member("directory", place.root)
      .member("is_complete", !pass.was_stopped && pass.unread.empty())
      .member("checked", pass.sound + pass.damaged.size())
      .member("sound", pass.sound)
      .member("sound_bytes", pass.bytes)
      .key("damaged")
      .begin_array();
  for (const Damaged& one : pass.damaged) {
    json.begin_object()
        .member("key", one.key.hex())
        .member("reason", name(one.reason))
        .member("path", path_of(place, one.key))
        .member("is_removed", one.is_gone)
        .end_object();
  }
  json.end_array();
  write_unread(json, pass.unread);
  json.end_object();
  call.console().out(std::move(json).text());
}

void show_text(const Call& call, const Place& place, const Pass& pass) {
  Console& console = call.console();
  if (!pass.damaged.empty()) {
    Columns columns({{"KEY"}, {"REASON"}, {"STATE"}, {"FILE"}});
    for (const Damaged& one : pass.damaged) {
      columns.add({short_key(one.key), std::string(name(one.reason)), one.is_gone ? "removed" : "there",
                   printable(path_of(place, one.key))});
    }
    console.out(columns.text());
  }
  const auto gone = static_cast<std::uint64_t>(std::count_if(pass.damaged.begin(), pass.damaged.end(),
                                                             [](const Damaged& one) { return one.is_gone; }));
  console.out(entries_text(pass.sound) + ", " + settings::readable_size(pass.bytes) + ": sound; " +
              std::to_string(pass.damaged.size()) + " damaged" +
              (gone == 0 ? "" : ", " + std::to_string(gone) + " of them removed") + unread_text(pass.unread) +
              '\n');
  if (pass.was_stopped) {
    console.err(remark("interrupted; `larder verify --continue` goes on from here"));
  } else if (gone != pass.damaged.size()) {
    console.err(remark(call.has("--remove")
                           ? "what is still there is not larder's to remove, or could not be removed"
                           : "`larder verify --remove` removes what is truncated or corrupt"));
  }
}

int run_verify(Call& call) {
  const auto place = open_place(call, Access::change);
  if (!place) return kError;
  Pass pass;
  if (place->store != nullptr) {
    pass = verify_all(call, *place->store);
    pass.unread = unread_shards(*place);
    place->note_counts();
  } else if (!call.wants_json()) {
    tell_no_store(call, *place);
  }
  call.wants_json() ? show_json(call, *place, pass) : show_text(call, *place, pass);
  tell_unread(call, pass.unread);
  if (pass.was_stopped) return kInterrupted;
  return pass.damaged.empty() && pass.unread.empty() ? kDone : kNo;
}

constexpr Argument kVerifyArguments[] = {
    {"--remove", "", "remove what is truncated or corrupt; the last few small ones are kept in damaged/"},
    {"--continue", "", "go on where an interrupted pass stopped"},
};

}  // namespace

extern const Command kVerifyCommand;
const Command kVerifyCommand{
    "verify",
    "read every entry and say which are damaged",
    "Reads every entry whole and checks all of it. Names what is damaged, and directories that "
    "cannot be looked into, and exits with 1 when there is any. "
    "Changes no entry without --remove. An interrupted pass leaves a mark: --continue goes on there, and its "
    "figures are those of the rest.",
    kVerifyArguments,
    true,
    false,
    run_verify,
    "larder verify\nlarder verify --remove\nlarder verify --continue"};

}  // namespace larder::tool
