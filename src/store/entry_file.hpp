// Reading one entry file: opened once, checked as a file, read or mapped, and verified before anyone sees it.
// Any thread may call; no descriptor outlives a call.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/file.hpp"
#include "base/hot.hpp"
#include "format/entry.hpp"
#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "store/directory.hpp"

namespace larder::entry_file {

// Below this a read is faster than a mapping even where both are allowed.
inline constexpr std::uint64_t kMapSizeMin = 64 * 1024;

struct Limits {
  bool may_map = false;
  std::uint64_t file_bytes_max = 0;  // larger files are not read: too_large; 0: no limit
};

struct Opened {
  Reason reason = Reason::absent;  // none, absent, unreadable, untrusted, out_of_resources
  bool is_stale = false;           // a network file system lost it in between: worth a second try
  File file;
  struct stat status {};
};

// Opens the entry of `key` and checks what the file system says of it.
LARDER_HOT Opened open(Directory& directory, const Key& key) noexcept;

struct Content {
  Reason reason = Reason::none;  // as Opened, and truncated, corrupt, other_version, too_large
  bool is_stale = false;
  format::EntryHead head;  // its views live as long as `memory`
  std::shared_ptr<const void> memory;
  BytesView product;
};

// The whole entry, verified.
LARDER_HOT Content read(Directory& directory, const Opened& opened, const Limits& limits) noexcept;
// The head only, verified; `product` stays empty.
Content read_head(Directory& directory, const Opened& opened) noexcept;
// The head without log and attachment, which stay empty. A head that fits the first read is verified whole,
// of a longer one the recipe alone, by the key.
Content read_recipe(Directory& directory, const Opened& opened) noexcept;
// As read_head, and verifies the product in pieces without keeping it.
Content check(Directory& directory, const Opened& opened) noexcept;

// What a call's errno (negative) means for who wanted to read.
LARDER_HOT Reason reason_of_read(int error) noexcept;

// How long an entry was unused: since its file was dated or, where that is later and no clock's mistake,
// since it was made.
inline std::int64_t idle_ns(std::int64_t now, std::int64_t dated, std::int64_t made_at) noexcept {
  return now - std::max(dated, made_at <= now ? made_at : dated);
}

}  // namespace larder::entry_file
