#include "store/store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "format/entry.hpp"
#include "larder/events.hpp"
#include "store/directory.hpp"
#include "store/entry_file.hpp"
#include "store/listing.hpp"
#include "store/places.hpp"
#include "store/publish.hpp"
#include "store/upkeep.hpp"

namespace larder {
namespace {

// A file from further in the future has been dated by a clock that was wrong.
constexpr std::int64_t kFutureMax = 24 * 3600 * kSecondNs;
// Damaged files above this are removed instead of kept for inspection.
constexpr off_t kDamagedKeptMax = 1 << 20;

bool is_damage(Reason reason) noexcept {
  return reason == Reason::truncated || reason == Reason::corrupt;
}

bool is_same_file(const struct stat& a, const struct stat& b) noexcept {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

void fill(EntryInfo& info, const Key& key, const entry_file::Content& content, const struct stat& status) {
  info.key = key;
  info.recipe = content.head.recipe;
  info.log = content.head.log;
  info.attachment = as_text(content.head.attachment);
  info.cost = content.head.cost;
  info.made_at_unix_ns = content.head.made_at_unix_ns;
  info.used_at_unix_ns = to_ns(status.st_mtim);
  info.product_bytes = content.head.product_size;
  info.file_bytes = static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

Store::Store(StoreOptions options) : options_(std::move(options)) {}

Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  std::unique_ptr<Store> store(new Store(std::move(options)));
  auto directory = Directory::open(*store->options_.files, store->options_.root, store->options_.read_only);
  if (!directory) {
    const Reason reason = directory.error().code == Code::refused ? Reason::untrusted : Reason::unreadable;
    store->warn_once(reason, directory.error().what);
    return tl::unexpected<Error>(std::move(directory.error()));
  }
  store->directory_ = std::move(*directory);
  store->upkeep_ = std::make_unique<Upkeep>(*store->directory_, store->options_);
  if (store->directory_->was_made()) store->upkeep_->begin_empty();
  return store;
}

Lookup Store::get(const Recipe& recipe, const Key& key, GetOptions how) noexcept {
  const std::uint64_t most = options_.entry_bytes_max;
  entry_file::Limits limits;
  limits.may_map = how.may_map;
  limits.file_bytes_max =
      most == 0 ? 0
                : most + format::entry_head_size(recipe.canonical().size(), format::kEntryLogSizeMax,
                                                 format::kEntryAttachmentSizeMax);
  Lookup lookup;
  // Misses come in a row. To look for what is not there takes half as long as to open it.
  if (missed_last_.load(std::memory_order_relaxed)) {
    if (directory_->files().presence_at(directory_->fd(), layout::entry_path(key).c_str()) == -ENOENT) {
      lookup.reason = Reason::absent;
      return lookup;
    }
    missed_last_.store(false, std::memory_order_relaxed);
  }
  entry_file::Opened opened;
  entry_file::Content content;
  for (int round = 0; round < 2; ++round) {
    opened = entry_file::open(*directory_, key);
    content = {};
    if (opened.reason == Reason::none) content = entry_file::read(*directory_, opened, limits);
    if (!opened.is_stale && !content.is_stale) break;
  }
  lookup.reason = opened.reason != Reason::none ? opened.reason : content.reason;
  if (lookup.reason == Reason::absent) missed_last_.store(true, std::memory_order_relaxed);
  if (lookup.reason == Reason::untrusted) warn_once(lookup.reason, layout::entry_path(key).c_str());
  if (opened.reason == Reason::none && is_damage(content.reason)) damaged(key, opened.status, content.reason);
  if (lookup.reason != Reason::none) return lookup;

  if (content.head.recipe != recipe.canonical()) {
    lookup.reason = Reason::other_recipe;
    // Not a collision of keys: the file was moved here from another entry's place.
    if (content.head.key != key) damaged(key, opened.status, Reason::corrupt);
    return lookup;
  }
  const std::int64_t now = options_.clock->unix_ns();
  const std::int64_t dated = to_ns(opened.status.st_mtim);
  const std::int64_t made_at = content.head.made_at_unix_ns;
  const std::int64_t idle_ns = entry_file::idle_ns(now, dated, made_at);
  if (options_.age_max.count() > 0 && idle_ns > options_.age_max.count()) {
    lookup.reason = Reason::expired;
    if (!how.read_only && remove(key, opened.status))
      upkeep_->gone(key, static_cast<std::uint64_t>(opened.status.st_size), Reason::expired);
    return lookup;
  }
  if (!options_.read_only && !how.read_only &&
      (idle_ns > options_.touch_after.count() || dated - now > kFutureMax)) {
    touch(key, opened.file.fd(), static_cast<std::uint64_t>(opened.status.st_size), content.head.cost);
  }
  lookup.entry.product = Bytes(std::move(content.memory), content.product);
  lookup.entry.log = content.head.log;
  lookup.entry.attachment = content.head.attachment;
  lookup.entry.cost = content.head.cost;
  lookup.entry.made_at_unix_ns = content.head.made_at_unix_ns;
  return lookup;
}

PutResult Store::put(const Recipe& recipe, const Key& key, BytesView product, const PutOptions& with) noexcept
    try {
  PutResult result;
  const auto refuse = [&](Reason reason) {
    result.reason = reason;
    return result;
  };
  if (options_.read_only) return refuse(Reason::read_only);
  if (contains(key)) {
    result.state = PutState::already_there;
    return result;
  }
  if (product.size() < options_.entry_bytes_min) return refuse(Reason::too_small);
  if (recipe.canonical().size() > format::kEntryRecipeSizeMax ||
      (options_.entry_bytes_max != 0 && product.size() > options_.entry_bytes_max)) {
    return refuse(Reason::too_large);
  }
  format::EntryHead head;
  head.key = key;
  head.recipe = recipe.canonical();
  head.log = with.log.substr(0, format::kEntryLogSizeMax);
  if (with.attachment.size() <= format::kEntryAttachmentSizeMax) head.attachment = with.attachment;
  head.cost = with.cost;
  const std::int64_t now = options_.clock->unix_ns();
  head.made_at_unix_ns = with.made_at_unix_ns != 0 ? with.made_at_unix_ns : now;
  const std::string head_bytes = format::encode_entry_head(head, product);
  const std::uint64_t file_bytes = head_bytes.size() + product.size();
  if (options_.bytes_max != 0 && file_bytes > options_.bytes_max) return refuse(Reason::too_large);
  const Upkeep::Announcement announcement = upkeep_->announce(key, file_bytes, with.cost);
  if (const Reason full = upkeep_->make_room(file_bytes); full != Reason::none) {
    upkeep_->withdraw(announcement);
    return refuse(full);
  }

  publish::How how;
  how.durable = options_.durable;
  // The number tells the puts of a process apart, the rest processes, and children that count on from a fork.
  const auto process = static_cast<std::uint64_t>(::getpid()) << 40;
  how.unique = (static_cast<std::uint64_t>(now) * 0x9e3779b97f4a7c15 ^ process) +
               next_temporary_.fetch_add(2, std::memory_order_relaxed);
  how.lacks_no_replace = &lacks_no_replace_;
  const publish::Outcome outcome = publish::publish(*directory_, key, head_bytes, product, how);
  if (outcome.was_there) result.state = PutState::already_there;
  if (outcome.is_stored) {
    result.state = PutState::stored;
    upkeep_->published(announcement);
    if (options_.counters != nullptr) {
      options_.counters->count(Counter::stored);
      options_.counters->count(Counter::stored_bytes, file_bytes);
    }
  }
  if (!outcome.is_stored) upkeep_->withdraw(announcement);
  result.reason = outcome.reason;
  if (outcome.reason == Reason::untrusted) warn_once(outcome.reason, layout::entry_path(key).c_str());
  return result;
} catch (const std::bad_alloc&) {
  return {.state = PutState::not_kept, .reason = Reason::out_of_resources};
}

bool Store::contains(const Key& key) const noexcept {
  return directory_->files().presence_at(directory_->fd(), layout::entry_path(key).c_str()) == 0;
}

bool Store::erase(const Key& key, Reason why) noexcept {
  if (options_.read_only) return false;
  const layout::Path path = layout::entry_path(key);
  FileSystem& files = directory_->files();
  struct stat status {};
  if (files.status_at(directory_->fd(), path.c_str(), status) < 0 || !S_ISREG(status.st_mode)) return false;
  // What was found to be wrong is put aside for inspection, like what is damaged.
  if (why == Reason::mismatch && put_aside(key, status)) {
    upkeep_->gone(key, static_cast<std::uint64_t>(status.st_size), why);
    return true;
  }
  if (files.unlink_at(directory_->fd(), path.c_str()) < 0) return false;
  upkeep_->gone(key, static_cast<std::uint64_t>(status.st_size), why);
  return true;
}

Reason Store::absence(const Key& key) const noexcept {
  const auto known = upkeep_->find(key);
  return known && known->event == format::IndexEvent::gone ? known->reason : Reason::absent;
}

void Store::remember_absence(const Key& key, Reason why) noexcept {
  if (options_.read_only || contains(key)) return;
  upkeep_->never_came(key, why);
}

void Store::touch(const Key& key, int fd, std::uint64_t file_bytes, Nanoseconds cost) noexcept {
  if (directory_->files().set_times(fd, options_.clock->unix_ns()) < 0) return;
  upkeep_->used(key, file_bytes, cost);
}

UpkeepReport Store::upkeep(Nanoseconds at_most, bool everything) noexcept {
  return upkeep_->step(at_most, everything);
}

StoreUsage Store::usage() const noexcept {
  return upkeep_->usage();
}

MakeTurn Store::wait_for_turn(const Key& key, Nanoseconds expected) const noexcept try {
  KeyLockOptions options;
  options.directory = options_.lock_directory.empty() ? default_lock_directory() : options_.lock_directory;
  options.scope = directory_->identity();
  options.bound_min = options_.wait_min;
  options.bound_max = options_.wait_max;
  if (expected.count() <= 0) {
    if (const auto known = upkeep_->find(key)) expected = known->cost;
  }
  return larder::wait_for_turn(directory_->files(), *options_.clock, options, key, expected,
                               [&] { return contains(key); });
} catch (const std::bad_alloc&) {
  return {};
}

void Store::for_each_key(const std::function<bool(const Key&)>& visit) const {
  for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
    if (!for_each_key(shard, visit)) return;
  }
}

bool Store::for_each_key(unsigned shard, const std::function<bool(const Key&)>& visit) const {
  Listing listing(*directory_, shard);
  while (const auto name = listing.next()) {
    if (const auto key = layout::key_of(shard, *name); key && !visit(*key)) return false;
  }
  // The largest errno there is fits a byte.
  listing_errors_[shard].store(static_cast<std::uint8_t>(-listing.error()), std::memory_order_relaxed);
  return true;
}

int Store::listing_error(unsigned shard) const noexcept {
  return listing_errors_[shard].load(std::memory_order_relaxed);
}

Reason Store::inspect(const Key& key, EntryInfo& info) const noexcept try {
  const entry_file::Opened opened = entry_file::open(*directory_, key);
  if (opened.reason != Reason::none) return opened.reason;
  const entry_file::Content content = entry_file::read_head(*directory_, opened);
  if (content.reason == Reason::none) fill(info, key, content, opened.status);
  return content.reason;
} catch (const std::bad_alloc&) {
  return Reason::out_of_resources;
}

Reason Store::glance(const Key& key, EntryInfo& info) const noexcept try {
  const entry_file::Opened opened = entry_file::open(*directory_, key);
  info.key = key;
  if (opened.reason != Reason::none) return opened.reason;
  info.file_bytes = static_cast<std::uint64_t>(opened.status.st_size);
  info.used_at_unix_ns = to_ns(opened.status.st_mtim);
  const entry_file::Content content = entry_file::read_recipe(*directory_, opened);
  if (content.reason == Reason::none) fill(info, key, content, opened.status);
  return content.reason;
} catch (const std::bad_alloc&) {
  return Reason::out_of_resources;
}

Reason Store::verify(const Key& key, EntryInfo& info) const noexcept {
  struct stat seen {};
  return verify(key, info, seen);
}

Reason Store::verify(const Key& key, EntryInfo& info, struct stat& seen) const noexcept try {
  const entry_file::Opened opened = entry_file::open(*directory_, key);
  if (opened.reason != Reason::none) return opened.reason;
  seen = opened.status;
  info.key = key;
  info.file_bytes = static_cast<std::uint64_t>(opened.status.st_size);
  const entry_file::Content content = entry_file::check(*directory_, opened);
  if (content.reason != Reason::none) return content.reason;
  fill(info, key, content, opened.status);
  // The key of a moved entry is not the one that its name says.
  return content.head.key == key ? Reason::none : Reason::corrupt;
} catch (const std::bad_alloc&) {
  return Reason::out_of_resources;
}

Reason Store::verify_and_remove(const Key& key, EntryInfo& info, bool& is_gone) noexcept {
  struct stat seen {};
  is_gone = false;
  const Reason reason = verify(key, info, seen);
  if (is_damage(reason)) {
    damaged(key, seen, reason);
    struct stat now {};
    is_gone = directory_->files().status_at(directory_->fd(), layout::entry_path(key).c_str(), now) < 0 ||
              !is_same_file(now, seen);
  }
  return reason;
}

void Store::forget_damaged() noexcept {
  if (options_.read_only) return;
  for (std::uint64_t place = 0; place < layout::kDamagedPlaces; ++place) {
    const layout::Path path = layout::damaged_path({0, place});
    directory_->files().unlink_at(directory_->fd(), path.c_str());
  }
}

bool Store::may_remove() noexcept {
  if (options_.removals_per_second == 0) return true;
  const std::int64_t second = options_.clock->steady().count() / kSecondNs;
  if (removal_second_.exchange(second, std::memory_order_relaxed) != second) {
    removals_.store(0, std::memory_order_relaxed);
  }
  return removals_.fetch_add(1, std::memory_order_relaxed) < options_.removals_per_second;
}

bool Store::remove(const Key& key, const struct stat& seen) noexcept {
  if (options_.read_only) return false;
  FileSystem& files = directory_->files();
  const layout::Path path = layout::entry_path(key);
  // Another process may have put another entry in its place meanwhile.
  struct stat now {};
  if (files.status_at(directory_->fd(), path.c_str(), now) < 0 || !is_same_file(now, seen)) return false;
  return files.unlink_at(directory_->fd(), path.c_str()) == 0;
}

void Store::damaged(const Key& key, const struct stat& seen, Reason reason) noexcept {
  const layout::Path path = layout::entry_path(key);
  const auto bytes = static_cast<std::uint64_t>(seen.st_size);
  if (options_.counters != nullptr) options_.counters->count(Counter::damaged);
  send(EventKind::damaged, reason, key, bytes, path.c_str());
  if (options_.read_only || !may_remove()) return;
  if (put_aside(key, seen) || remove(key, seen)) upkeep_->gone(key, bytes, reason);
}

bool Store::put_aside(const Key& key, const struct stat& seen) noexcept {
  if (seen.st_size > kDamagedKeptMax) return false;
  FileSystem& files = directory_->files();
  const int dir = directory_->fd();
  const layout::Path path = layout::entry_path(key);
  const layout::Path kept = layout::damaged_path(key);
  struct stat now {};
  if (files.status_at(dir, path.c_str(), now) < 0 || !is_same_file(now, seen)) return false;
  if (files.rename_at(dir, path.c_str(), dir, kept.c_str(), 0) == 0) return true;
  return files.make_directory_at(dir, layout::kDamaged, 0700) == 0 &&
         files.rename_at(dir, path.c_str(), dir, kept.c_str(), 0) == 0;
}

void Store::send(EventKind kind, Reason reason, const Key& key, std::uint64_t bytes,
                 std::string_view detail) noexcept {
  if (!is_listened()) return;
  emit({.kind = kind,
        .reason = reason,
        .tier = Tier::disk,
        .unix_ns = options_.clock->unix_ns(),
        .key = key,
        .bytes = bytes,
        .detail = detail});
}

void Store::warn_once(Reason reason, std::string_view detail) noexcept {
  if (has_warned_.exchange(true, std::memory_order_relaxed)) return;
  if (options_.counters != nullptr) options_.counters->count(Counter::warnings);
  send(EventKind::warning, reason, {}, 0, detail);
}

}  // namespace larder
