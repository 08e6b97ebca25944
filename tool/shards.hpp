// Shards that are there and cannot be used: the library passes them over, so whoever counts has to name them.
#pragma once

#include <string>
#include <vector>

#include "tool/json.hpp"
#include "tool/place.hpp"

namespace larder::tool {

struct BadShard {
  std::string path;
  std::string why;         // `can be written by others`
  std::string advice;      // `chmod 700 '/x/v1/3f'`
  bool is_unread = false;  // nobody knows what it holds; else only nothing in it can be changed
};

// In the order of their names; none when there is no store.
std::vector<BadShard> bad_shards(const std::string& root);
// Those that could not be looked into, also by what the store was asked for just now.
std::vector<BadShard> unread_shards(const Place& place);

// So many names are read within some milliseconds.
inline constexpr std::uint64_t kNamesMax = 20'000;

// What the index says is kept, checked against the names that are there: it may have heard of entries that
// never came, or twice of one. Where they differ the names count, and the sizes are those of the files where
// these are not too many, else about. Reads every shard's names, but for an index of more than `names_max`
// entries, which is not exact then.
// PRECONDITION: there is a store.
StoreUsage seen_usage(const Place& place, std::uint64_t names_max = ~std::uint64_t{0});

// `about 5 entries, 3 KiB`; without `about` where that is exact.
std::string usage_text(const StoreUsage& usage);

// Names each on stderr, the first few in words. True when there are any.
bool tell_unread(const Call& call, const std::vector<BadShard>& shards);
// `unread`: an array of objects with `path`, `why` and `advice`.
void write_unread(Json& json, const std::vector<BadShard>& shards);

// `, and what 2 directories hold that cannot be looked into`; empty when there are none.
std::string unread_text(const std::vector<BadShard>& shards);

// `path` for a shell.
std::string shell_quoted(std::string_view path);

}  // namespace larder::tool
