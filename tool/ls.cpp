#include <algorithm>

#include "recipe/readable.hpp"
#include "settings/units.hpp"
#include "tool/columns.hpp"
#include "tool/entries.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/selection.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

using Rows = std::vector<const EntryRow*>;

// Those that should stand first, in order; no more than `limit`.
Rows ordered(const Call& call, const std::vector<EntryRow>& rows, std::size_t limit) {
  Rows order;
  for (const EntryRow& row : rows) order.push_back(&row);
  const auto by = [&](const auto& value_of) {
    const auto before = [&](const EntryRow* a, const EntryRow* b) {
      const auto left = value_of(*a), right = value_of(*b);
      return left != right ? left > right : a->key < b->key;
    };
    if (limit >= order.size()) {
      std::sort(order.begin(), order.end(), before);
    } else {
      const auto middle = order.begin() + static_cast<std::ptrdiff_t>(limit);
      std::partial_sort(order.begin(), middle, order.end(), before);
      order.erase(middle, order.end());
    }
    return order;
  };
  if (call.has("--largest")) return by([](const EntryRow& row) { return row.file_bytes; });
  if (call.has("--costliest")) return by([](const EntryRow& row) { return row.cost.count(); });
  if (call.has("--oldest")) return by([](const EntryRow& row) { return -row.used_at_unix_ns; });
  return by([](const EntryRow& row) { return row.used_at_unix_ns; });
}

void show_json(const Call& call, const Place& place, const Rows& rows, const std::vector<BadShard>& unread) {
  Json json = begin_json();
  json.member("directory", place.root).key("entries").begin_array();
  for (const EntryRow* each : rows) {
    const EntryRow& row = *each;
    json.begin_object().member("key", row.key.hex()).member("file_bytes", row.file_bytes);
    json.member("used_at_unix_ns", row.used_at_unix_ns);
    if (row.reason == Reason::none) {
      json.member("kind", row.kind)
          .member("product_bytes", row.product_bytes)
          .member("cost_ns", row.cost.count())
          .member("made_at_unix_ns", row.made_at_unix_ns);
    } else {
      json.member("reason", name(row.reason));
    }
    json.end_object();
    call.console().out(json.take());
  }
  json.end_array();
  write_unread(json, unread);
  json.end_object();
  call.console().out(std::move(json).text());
}

// Line by line: a hundred thousand rows are not held a second time.
void show_text(const Call& call, const Rows& rows) {
  if (rows.empty()) return;
  constexpr std::size_t kKindMax = 40;
  std::size_t kind_width = 0;
  for (const EntryRow* row : rows) kind_width = std::max(kind_width, std::min(row->kind.size(), kKindMax));
  const Columns columns({{"KEY", false, 12},
                         {"SIZE", true, 8},
                         {"COST", true, 7},
                         {"USED", true, 7},
                         {"KIND", false, static_cast<unsigned>(kind_width)},
                         {"INGREDIENTS"}});
  const unsigned width = call.console().out_width();
  const std::int64_t now = Clock::system().unix_ns();
  call.console().out(columns.line({"KEY", "SIZE", "COST", "USED", "KIND", "INGREDIENTS"}, width));
  for (const EntryRow* each : rows) {
    const EntryRow& row = *each;
    const bool is_read = row.reason == Reason::none;
    call.console().out(
        columns.line({short_key(row.key), settings::readable_size(row.file_bytes),
                      is_read ? settings::readable_duration(row.cost) : "-", age(now, row.used_at_unix_ns),
                      is_read ? to_readable(row.kind, 0, kKindMax) : "-",
                      is_read ? row.summary : "cannot be read: " + std::string(name(row.reason))},
                     width));
  }
}

int run_ls(Call& call) {
  const auto selection = Selection::of(call);
  if (selection == nullptr) return kError;
  const int orders = call.has("--largest") + call.has("--costliest") + call.has("--oldest");
  if (orders > 1) {
    return call.refuse("only one order can be had", "--largest, --costliest and --oldest exclude each other",
                       "choose one");
  }
  std::size_t limit = static_cast<std::size_t>(-1);
  if (call.has("--limit")) {
    const auto count = settings::to_count(call.value("--limit"));
    if (!count) {
      return call.refuse("-n cannot be " + settings::quoted(call.value("--limit")), "it is no count of rows",
                         "write -n 20");
    }
    limit = *count;
  }
  const auto place = open_place(call, Access::look);
  if (!place) return kError;
  std::vector<EntryRow> all;
  if (place->store != nullptr) {
    const Store& store = *place->store;
    const Selected selected(selection->selector(), store.notes(), Clock::system().unix_ns());
    Progress progress(call.console(), "reading entries", store.usage().entries);
    all = read_entries(store, selected, !call.wants_json(), [&] { progress.advance(); });
  }
  const Rows rows = ordered(call, all, limit);
  const std::vector<BadShard> unread = unread_shards(*place);
  if (call.wants_json()) {
    show_json(call, *place, rows, unread);
  } else {
    show_text(call, rows);
    if (place->store == nullptr) {
      tell_no_store(call, *place);
    } else if (rows.empty() && limit != 0 && unread.empty()) {
      call.console().err(remark(selection->says_anything()
                                    ? "no entry is " + selection->text()
                                    : "no entry is kept in " + printable(place->root)));
    }
  }
  tell_unread(call, unread);
  return kDone;
}

constexpr Argument kLsArguments[] = {
    {"--largest", "", "the largest first"},
    {"--costliest", "", "those first that took longest to make"},
    {"--oldest", "", "those first that were unused for longest"},
    {"--limit", "N", "no more than N rows", {}, false, false, 'n'},
    kKindArgument,
    kProgramArgument,
    kOlderArgument,
    kPathArgument,
};

}  // namespace

extern const Command kLsCommand;
const Command kLsCommand{
    "ls",
    "list the entries on disk",
    "Lists the entries of the disk tier, the most recently used first: key, size of the file, what making it "
    "cost, how long ago it was used (to within an hour), kind, and the short ones of its ingredients.",
    kLsArguments,
    true,
    false,
    run_ls,
    "larder ls --costliest -n 10\nlarder ls --kind opencl-program --json"};

}  // namespace larder::tool
