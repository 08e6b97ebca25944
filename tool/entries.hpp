// The entries of a store as the command shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/selected.hpp"
#include "store/store.hpp"
#include "tool/command.hpp"

namespace larder::tool {

struct EntryRow {
  Key key;
  Reason reason = Reason::none;  // else why the entry cannot be read; then kind, summary and cost are empty
  std::string kind;
  std::string summary;  // its short ingredients, readable
  std::uint64_t product_bytes = 0;
  std::uint64_t file_bytes = 0;
  Nanoseconds cost{0};
  std::int64_t made_at_unix_ns = 0;
  std::int64_t used_at_unix_ns = 0;
};

// Those that `selected` means, in no order, read by several threads; what leaves meanwhile is left out. What
// cannot be read is there only when `selected` asks for nothing that only the recipe can say. `advance` is
// called for each, from any of the threads.
std::vector<EntryRow> read_entries(const Store& store, const Selected& selected, bool with_summaries,
                                   const std::function<void()>& advance);

// The keys of a shard, ascending, each once. Read before anything is removed: a directory that changes while
// it is read may show a name twice, or hide one.
std::vector<Key> keys_of(const Store& store, unsigned shard);

// `opencl-program source="..." options="-O2"` without the kind: what fits `width` bytes, control characters
// escaped.
std::string summary_of(std::string_view canonical, std::size_t width);

// The keys that begin with these hex digits, at most `most`.
std::vector<Key> keys_that_begin(const Store& store, std::string_view digits, std::size_t most);

// The one entry that `text` (hex digits, upper or lower case) means. Nothing, and the complaint told, when it
// is no key, or there is none or more than one; `code` is what to exit with then.
std::optional<Key> find_key(const Call& call, const Store& store, std::string_view text, int& code);

// True when `text` could begin a key; it comes out in lower case.
bool to_digits(std::string_view text, std::string& digits);

}  // namespace larder::tool
