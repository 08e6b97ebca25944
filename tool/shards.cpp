#include "tool/shards.hpp"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "settings/units.hpp"
#include "store/layout.hpp"
#include "store/trust.hpp"
#include "tool/json.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kNamed = 3;

std::string path_of(const std::string& root, unsigned shard) {
  return root + layout::kVersionDirectory + '/' + layout::shard_path(shard).c_str();
}

// What helps where the names of a directory could not be read.
std::string advice_on(int error) {
  if (error == EMFILE) return std::string(kMoreDescriptors);
  return error == ENFILE || error == ENOMEM ? "run it again when the machine has more to spare"
                                            : "run it again";
}

// So many files are looked at within half a second.
constexpr std::uint64_t kSizesMax = 20'000;

std::uint64_t bytes_of_files(const Store& store) {
  std::uint64_t bytes = 0;
  store.for_each_key([&](const Key& key) {
    EntryInfo info;
    store.glance(key, info);
    bytes += info.file_bytes;
    return true;
  });
  return bytes;
}

// True and `bad` filled in when something is wrong with the shard.
bool is_bad(const std::string& path, BadShard& bad) {
  struct stat status {};
  const std::string quoted = shell_quoted(path);
  const auto is = [&](std::string why, std::string advice, bool is_unread = true) {
    bad = {path, std::move(why), std::move(advice), is_unread};
    return true;
  };
  if (::lstat(path.c_str(), &status) != 0) {
    return errno != ENOENT && is(std::strerror(errno), "make every directory above it readable");
  }
  if (S_ISLNK(status.st_mode))
    return is("is a symbolic link, which is not followed", "move it away: " + quoted);
  if (!S_ISDIR(status.st_mode))
    return is("is no directory", "look at what it is and move it away: " + quoted);
  if (status.st_uid != ::geteuid())
    return is("belongs to user " + std::to_string(status.st_uid), "move it away, or chown it to you");
  if (!trust::is_our_directory(status, ::geteuid()))
    return is("can be written by others", "look at what is in it, then chmod 700 " + quoted);
  if (::access(path.c_str(), R_OK | X_OK) != 0) return is("cannot be read", "chmod 700 " + quoted);
  if ((status.st_mode & S_IRWXU) != S_IRWXU)
    return is("lacks rights that its owner needs", "chmod 700 " + quoted, false);
  if (::access(path.c_str(), W_OK) != 0 && errno != EROFS)
    return is(std::strerror(errno), "chmod 700 " + quoted, false);
  return false;
}

}  // namespace

std::vector<BadShard> bad_shards(const std::string& root) {
  std::vector<BadShard> all;
  for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
    BadShard bad;
    if (is_bad(path_of(root, shard), bad)) all.push_back(std::move(bad));
  }
  return all;
}

std::vector<BadShard> unread_shards(const Place& place) {
  if (place.store == nullptr) return {};
  std::vector<BadShard> all;
  for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
    BadShard bad;
    std::string path = path_of(place.root, shard);
    if (is_bad(path, bad) && bad.is_unread) {
      all.push_back(std::move(bad));
    } else if (const int error = place.store->listing_error(shard); error != 0) {
      all.push_back({std::move(path), std::strerror(error), advice_on(error), true});
    }
  }
  return all;
}

StoreUsage seen_usage(const Place& place, std::uint64_t names_max) {
  StoreUsage usage = place.store->usage();
  if (usage.entries > names_max) {
    usage.is_exact = false;
    return usage;
  }
  std::uint64_t seen = 0;
  place.store->for_each_key([&](const Key&) { return ++seen, true; });
  if (seen != usage.entries && seen <= kSizesMax) usage.bytes = bytes_of_files(*place.store);
  const bool is_all_read = unread_shards(place).empty();
  if (seen != usage.entries) {
    usage.entries = seen;
    usage.is_exact = false;
  }
  if (seen == 0) usage = {.is_exact = is_all_read};
  usage.is_exact = usage.is_exact && is_all_read;
  return usage;
}

std::string usage_text(const StoreUsage& usage) {
  return (usage.is_exact ? "" : "about ") + entries_text(usage.entries) + ", " +
         settings::readable_size(usage.bytes);
}

bool tell_unread(const Call& call, const std::vector<BadShard>& shards) {
  for (std::size_t i = 0; i < std::min(shards.size(), kNamed); ++i) {
    call.console().err(remark("not looked into: " + printable(shards[i].path) + ' ' + shards[i].why +
                              "; try: " + printable(shards[i].advice)));
  }
  if (shards.size() > kNamed) {
    call.console().err(
        remark("and " + std::to_string(shards.size() - kNamed) + " directories more; see `larder doctor`"));
  }
  return !shards.empty();
}

void write_unread(Json& json, const std::vector<BadShard>& shards) {
  json.key("unread").begin_array();
  for (const BadShard& shard : shards) {
    json.begin_object()
        .member("path", shard.path)
        .member("why", shard.why)
        .member("advice", shard.advice)
        .end_object();
  }
  json.end_array();
}

std::string unread_text(const std::vector<BadShard>& shards) {
  if (shards.empty()) return {};
  return ", and what " +
         (shards.size() == 1 ? "1 directory holds" : std::to_string(shards.size()) + " directories hold") +
         " that cannot be looked into";
}

std::string shell_quoted(std::string_view path) {
  std::string quoted = "'";
  for (const char c : path) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + '\'';
}

}  // namespace larder::tool
