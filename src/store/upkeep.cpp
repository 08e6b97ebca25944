#include "store/upkeep.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>

#include "larder/events.hpp"
#include "store/listing.hpp"
#include "store/trust.hpp"
#include "store/victims.hpp"

namespace larder {
namespace {

using format::IndexEvent;
using format::IndexRecord;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTemporaryAge = 3600 * kSecond;
constexpr std::int64_t kGhostAge = 30 * 24 * 3600 * kSecond;
constexpr std::size_t kGhostsMin = 64;  // kept per shard at least, else as many as there are entries
constexpr std::int64_t kRollEvery = 300 * kSecond;  // one shard each: all of them in a day
constexpr std::size_t kGroupSize = 1024;  // entries that one round of eviction chooses from, if there are
constexpr std::uint64_t kSlackMax = std::uint64_t{32} << 20;
constexpr std::uint64_t kSlackPart = 1024;  // of bytes_max may be published between two looks at the sums
constexpr double kLagMax = 0.01;            // of bytes_max may be kept above it while eviction catches up
constexpr std::uint64_t kToEnd = std::numeric_limits<std::uint64_t>::max();

std::int64_t changed_at(const struct stat& status) noexcept {
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * kSecond + status.st_mtim.tv_nsec;
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) noexcept {
  return from > what ? from - what : 0;
}

}  // namespace

struct Upkeep::Step {
  const Clock& clock;
  Nanoseconds end;
  std::int64_t now;
  format::Totals totals{};
  UpkeepReport report{};
  bool is_unfinished = false;

  // U3. Says that there is more to do when time is over.
  bool is_over() noexcept {
    if (clock.steady() < end) return false;
    is_unfinished = true;
    return true;
  }
  std::uint64_t bytes() const noexcept {
    std::uint64_t all = 0;
    for (const auto& shard : totals.shards) all += shard.bytes;
    return all;
  }
};

struct Upkeep::Group {
  struct Shard {
    unsigned number = 0;
    ShardTable table;
    bool is_changed = false;
  };
  std::vector<Shard> shards;
  std::size_t live = 0;
  std::uint64_t bytes = 0;
};

void Upkeep::begin_empty() noexcept {
  format::Totals totals;
  for (auto& shard : totals.shards) shard.is_known = true;
  totals.rolled_at_unix_ns = options_.clock->unix_ns();
  index_.write_totals(totals);
}

void Upkeep::stored(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept {
  IndexRecord record;
  record.key = key;
  record.bytes = bytes;
  record.cost = cost;
  record.at_unix_ns = options_.clock->unix_ns();
  index_.append(record);
}

void Upkeep::used(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept {
  IndexRecord record;
  record.event = IndexEvent::used;
  record.key = key;
  record.bytes = bytes;
  record.cost = cost;
  record.at_unix_ns = options_.clock->unix_ns();
  index_.append(record);
}

void Upkeep::gone(const Key& key, std::uint64_t bytes, Reason reason) noexcept {
  IndexRecord record;
  record.event = IndexEvent::gone;
  record.reason = reason;
  record.key = key;
  record.bytes = bytes;
  record.at_unix_ns = options_.clock->unix_ns();
  index_.append(record);
}

Upkeep::Sums Upkeep::sums() noexcept {
  Sums sums;
  format::Totals totals;
  index_.read_totals(totals);
  sums.is_exact = true;
  for (const auto& shard : totals.shards) {
    sums.bytes += shard.bytes;
    sums.entries += shard.entries;
    sums.is_exact = sums.is_exact && shard.is_known;
  }
  const auto add = [&](std::uint64_t from, std::uint64_t to, unsigned first_shard) {
    for (const IndexRecord& news : index_.read_journal(from, to)) {
      if (layout::shard_of(news.key) < first_shard) continue;
      if (news.event == IndexEvent::stored) {
        sums.bytes += news.bytes;
        ++sums.entries;
      } else if (news.event == IndexEvent::gone) {
        sums.bytes = less(sums.bytes, news.bytes);
        sums.entries = less(sums.entries, 1);
      }
    }
  };
  const std::uint64_t size = index_.journal_size();
  if (size > Index::kJournalMax) sums.is_exact = false;
  if (totals.fold_end > 0) add(0, totals.fold_end, totals.fold_next);
  add(totals.fold_end, kToEnd, 0);
  const std::int64_t since_roll = options_.clock->unix_ns() - totals.rolled_at_unix_ns;
  sums.is_due = !sums.is_exact || size >= Index::kJournalFold || totals.fold_end > 0 ||
                since_roll >= kRollEvery || since_roll < 0;
  return sums;
}

std::uint64_t Upkeep::needed(std::uint64_t kept, std::uint64_t incoming, double down_to) noexcept {
  std::uint64_t much = 0;
  if (const std::uint64_t most = options_.bytes_max; most != 0 && kept + incoming > most) {
    const auto mark = static_cast<std::uint64_t>(static_cast<double>(most) * down_to);
    much = kept + incoming - std::min(kept + incoming, mark);
  }
  if (options_.free_bytes_min != 0) {
    FileSpace space;
    if (directory_.files().space(directory_.fd(), space) == 0) {
      much = std::max(much, less(options_.free_bytes_min + incoming, space.free_bytes));
    }
  }
  return much;
}

Reason Upkeep::make_room(std::uint64_t bytes) noexcept {
  const std::uint64_t slack =
      options_.bytes_max == 0 ? kSlackMax : std::min(options_.bytes_max / kSlackPart, kSlackMax);
  const std::uint64_t unchecked = unchecked_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (unchecked < slack && has_checked_.load(std::memory_order_relaxed)) return Reason::none;
  unchecked_bytes_.store(0, std::memory_order_relaxed);
  has_checked_.store(true, std::memory_order_relaxed);

  Sums now = sums();
  const bool is_full = needed(now.bytes, bytes, 1) > 0;
  if (!is_full && !now.is_due) return Reason::none;
  run(options_.step_max, false, bytes);
  if (!is_full) return Reason::none;
  // Eviction may lag a little behind many writers, not more.
  const double lag = options_.evicts ? static_cast<double>(options_.bytes_max) * kLagMax : 0;
  if (needed(less(sums().bytes, static_cast<std::uint64_t>(lag)), bytes, 1) == 0) return Reason::none;
  has_checked_.store(false, std::memory_order_relaxed);  // the next put looks again
  return Reason::out_of_space;
}

UpkeepReport Upkeep::step(Nanoseconds at_most, bool everything) noexcept {
  return run(at_most, everything, 0);
}

UpkeepReport Upkeep::run(Nanoseconds at_most, bool everything, std::uint64_t incoming) noexcept {
  UpkeepReport refused;
  refused.is_done = true;
  if (options_.read_only) return refused;
  FileSystem& files = directory_.files();
  const Clock& clock = *options_.clock;
  Step step{.clock = clock, .end = clock.steady() + at_most, .now = clock.unix_ns()};
  const File lock(
      files, files.open_at(directory_.fd(), layout::kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock.is_open()) return refused;
  // A file system without locks is no reason to grow without bound: two at it at once only do some work twice
  // (U2).
  if (files.lock(lock.fd(), FileLock::exclusive, 0) == -EAGAIN) {
    refused.is_done = false;
    refused.was_busy = true;
    return refused;
  }
  try {
    index_.read_totals(step.totals);
    count_unknown(step);
    fold(step);
    if (!step.is_unfinished || incoming > 0) evict(step, incoming);
    roll(step, everything);
  } catch (const std::bad_alloc&) {
    step.is_unfinished = true;
  }
  index_.write_totals(step.totals);
  // A child forked meanwhile shares the open file: closing alone would leave the lock with it.
  files.lock(lock.fd(), FileLock::none, 0);
  step.report.is_done = !step.is_unfinished;
  return step.report;
}

void Upkeep::count_unknown(Step& step) {
  for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
    if (step.totals.shards[shard].is_known) continue;
    if (step.is_over()) return;
    ShardTable table = index_.read_table(shard);
    if (table.is_sound) {
      step.totals.shards[shard] = table.total();
    } else {
      reconcile(step, shard, table);
      keep_table(step, shard, table);
    }
  }
}

void Upkeep::fold(Step& step) {
  format::Totals& totals = step.totals;
  const std::uint64_t size = index_.journal_size();
  if (size > Index::kJournalMax) {
    // Nobody has folded for a very long time, or somebody wrote nonsense: count again instead.
    for (auto& shard : totals.shards) shard.is_known = false;
    for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
      directory_.files().unlink_at(directory_.fd(), layout::shard_index_path(shard).c_str());
    }
    totals.fold_end = 0;
    totals.fold_next = 0;
    index_.write_totals(totals);
    index_.cut_journal(size);
    step.is_unfinished = true;
    return;
  }
  if (totals.fold_end == 0 || totals.fold_end > size) {
    totals.fold_end = size;
    totals.fold_next = 0;
  }
  if (totals.fold_end == 0) return;

  std::vector<IndexRecord> news = index_.read_journal(0, totals.fold_end);
  const auto by_shard = [](const IndexRecord& a, const IndexRecord& b) {
    return layout::shard_of(a.key) < layout::shard_of(b.key);
  };
  std::stable_sort(news.begin(), news.end(), by_shard);
  for (std::size_t at = 0; at < news.size();) {
    const unsigned shard = layout::shard_of(news[at].key);
    std::size_t end = at;
    while (end < news.size() && layout::shard_of(news[end].key) == shard) ++end;
    if (shard >= totals.fold_next) {
      if (step.is_over()) return;
      ShardTable table = index_.read_table(shard);
      if (!table.is_sound) reconcile(step, shard, table);
      for (std::size_t i = at; i < end; ++i) table.apply(news[i]);
      keep_table(step, shard, table);
      totals.fold_next = shard + 1;
    }
    at = end;
  }
  const std::uint64_t folded = totals.fold_end;
  totals.fold_end = 0;
  totals.fold_next = 0;
  // First this: who dies in between folds the same news twice, which changes nothing but a count of uses.
  index_.write_totals(totals);
  index_.cut_journal(folded);
}

void Upkeep::keep_table(Step& step, unsigned shard, ShardTable& table) {
  std::vector<IndexRecord>& records = table.records;
  const auto is_ghost = [](const IndexRecord& record) { return record.event == IndexEvent::gone; };
  const auto too_old = [&](const IndexRecord& record) {
    return is_ghost(record) && step.now - record.at_unix_ns > kGhostAge;
  };
  records.erase(std::remove_if(records.begin(), records.end(), too_old), records.end());
  const auto ghosts = static_cast<std::size_t>(std::count_if(records.begin(), records.end(), is_ghost));
  const std::size_t most = std::max(kGhostsMin, records.size() - ghosts);
  if (ghosts > most) {
    std::vector<std::int64_t> times;
    for (const IndexRecord& record : records) {
      if (is_ghost(record)) times.push_back(record.at_unix_ns);
    }
    const auto nth = times.begin() + static_cast<std::ptrdiff_t>(ghosts - most);
    std::nth_element(times.begin(), nth, times.end());
    const auto forgotten = [&](const IndexRecord& record) {
      return is_ghost(record) && record.at_unix_ns < *nth;
    };
    records.erase(std::remove_if(records.begin(), records.end(), forgotten), records.end());
  }
  step.totals.shards[shard] = table.total();
  // A shard that was never made needs no table.
  if (!records.empty() || table.is_sound) index_.write_table(shard, table);
}

void Upkeep::evict(Step& step, std::uint64_t incoming) {
  if (!options_.evicts) return;
  std::uint64_t total = step.bytes();
  std::uint64_t wanted = needed(total, incoming, options_.low_water);
  for (unsigned visited = 0; wanted > 0 && visited < layout::kShardCount;) {
    if (step.is_over()) return;
    Group group;
    gather(step, group, layout::kShardCount - visited);
    visited += static_cast<unsigned>(std::max<std::size_t>(1, group.shards.size()));
    if (group.live == 0) return;
    // Twice its part of what has to go, so that the worst half of the groups gives most of it; all of it when
    // this group is all there is.
    const double part =
        static_cast<double>(group.bytes) / static_cast<double>(std::max<std::uint64_t>(total, 1));
    const auto share = static_cast<std::uint64_t>(static_cast<double>(wanted) * std::min(1.0, 2 * part));
    const std::uint64_t freed = evict_from(step, group, std::max<std::uint64_t>(share, 1));
    for (Group::Shard& shard : group.shards) {
      if (shard.is_changed) keep_table(step, shard.number, shard.table);
    }
    total = step.bytes();
    wanted = less(wanted, freed);
  }
}

void Upkeep::gather(Step& step, Group& group, unsigned shards_left) {
  for (; shards_left > 0 && group.live < kGroupSize; --shards_left) {
    const unsigned number = step.totals.evict_next;
    step.totals.evict_next = (number + 1) % layout::kShardCount;
    if (step.totals.shards[number].entries == 0) continue;
    Group::Shard shard;
    shard.number = number;
    shard.table = index_.read_table(number);
    if (!shard.table.is_sound) {
      reconcile(step, number, shard.table);
      shard.is_changed = true;
    }
    const format::ShardTotal total = shard.table.total();
    group.live += total.entries;
    group.bytes += total.bytes;
    group.shards.push_back(std::move(shard));
    if (step.is_over()) return;
  }
}

std::uint64_t Upkeep::evict_from(Step& step, Group& group, std::uint64_t share) {
  std::vector<std::pair<Group::Shard*, IndexRecord*>> entries;
  entries.reserve(group.live);
  for (Group::Shard& shard : group.shards) {
    for (IndexRecord& record : shard.table.records) {
      if (record.event == IndexEvent::stored) entries.emplace_back(&shard, &record);
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.second->at_unix_ns < b.second->at_unix_ns; });
  Victims victims(options_.policy, step.now);
  for (std::size_t i = 0; i < entries.size(); ++i)
    victims.add(static_cast<Victims::Id>(i), *entries[i].second);
  std::uint64_t freed = 0;
  while (freed < share) {
    const auto id = victims.next();
    if (!id) break;
    auto& [shard, record] = entries[*id];
    shard->is_changed = true;
    if (learns_of_use(step, *record)) {
      victims.renew(*id, *record);
      continue;
    }
    victims.remove(*id);
    if (remove(step, *record, Reason::evicted)) freed += record->bytes;
    if (step.is_over()) break;
  }
  return freed;
}

// The file may know of a use that the index has not heard of: true, and the record knows it now.
bool Upkeep::learns_of_use(const Step& step, IndexRecord& record) noexcept {
  struct stat status {};
  const layout::Path path = layout::entry_path(record.key);
  if (directory_.files().status_at(directory_.fd(), path.c_str(), status) < 0) return false;
  const std::int64_t used_at = std::min(changed_at(status), step.now);
  if (used_at <= record.at_unix_ns + options_.touch_after.count()) return false;
  record.at_unix_ns = used_at;
  return true;
}

bool Upkeep::remove(Step& step, IndexRecord& record, Reason reason) {
  FileSystem& files = directory_.files();
  const layout::Path path = layout::entry_path(record.key);
  struct stat status {};
  int error = files.status_at(directory_.fd(), path.c_str(), status);
  if (error == 0 && !S_ISREG(status.st_mode)) {
    error = -ENOENT;  // U1: not ours; and no entry of ours is there
  } else if (error == 0) {
    error = files.unlink_at(directory_.fd(), path.c_str());
    if (error == 0) {
      ++step.report.evicted_entries;
      step.report.evicted_bytes += record.bytes;
      step.report.evicted_cost += record.cost;
      if (options_.counters != nullptr) {
        options_.counters->count(Counter::evicted);
        options_.counters->count(Counter::evicted_bytes, record.bytes);
        options_.counters->count(Counter::evicted_cost_ns, static_cast<std::uint64_t>(record.cost.count()));
      }
      if (is_listened()) {
        emit({.kind = EventKind::evicted,
              .reason = reason,
              .tier = Tier::disk,
              .key = record.key,
              .bytes = record.bytes,
              .cost = record.cost});
      }
    }
  }
  if (error < 0 && error != -ENOENT) return false;
  record.event = IndexEvent::gone;
  record.reason = reason;
  record.at_unix_ns = step.now;
  return true;  // also when it was gone already: what it took is free
}

void Upkeep::roll(Step& step, bool everything) {
  const auto one = [&](unsigned shard) {
    ShardTable table = index_.read_table(shard);
    reconcile(step, shard, table);
    keep_table(step, shard, table);
  };
  const std::int64_t since = step.now - step.totals.rolled_at_unix_ns;
  if (since >= kRollEvery || since < 0) {
    step.totals.rolled_at_unix_ns = step.now;
    one(step.totals.roll_next);
    step.totals.roll_next = (step.totals.roll_next + 1) % layout::kShardCount;
  }
  if (!everything) return;
  for (unsigned shard; (shard = everything_next_.load()) < layout::kShardCount;
       everything_next_.store(shard + 1)) {
    if (step.is_over()) return;
    one(shard);
  }
  everything_next_.store(0);
}

void Upkeep::reconcile(Step& step, unsigned shard, ShardTable& table) {
  FileSystem& files = directory_.files();
  const auto status_of = [&](std::string_view name, struct stat& status) {
    return files.status_at(directory_.fd(), layout::path_in_shard(shard, name).c_str(), status) == 0 &&
           S_ISREG(status.st_mode);
  };
  std::vector<Key> present;
  Listing listing(directory_, shard);
  while (const auto name = listing.next()) {
    struct stat status {};
    if (layout::is_temporary(*name) && status_of(*name, status)) {
      const std::int64_t age = step.now - changed_at(status);
      if (age <= kTemporaryAge && age >= -kTemporaryAge) continue;
      if (files.unlink_at(directory_.fd(), layout::path_in_shard(shard, *name).c_str()) == 0)
        ++step.report.swept_files;
      continue;
    }
    const auto key = layout::key_of(shard, *name);
    if (!key) continue;
    present.push_back(*key);
    const IndexRecord* const known = table.find(*key);
    if (known != nullptr && known->event == IndexEvent::stored) continue;
    if (!status_of(*name, status)) {
      present.pop_back();
      continue;
    }
    // What making it took is learned when somebody uses it.
    IndexRecord found;
    found.key = *key;
    found.bytes = static_cast<std::uint64_t>(status.st_size);
    found.at_unix_ns = std::min(changed_at(status), step.now);
    table.apply(found);
  }
  table.is_sound = table.is_sound || listing.is_open();
  if (!listing.is_complete()) return;
  std::sort(present.begin(), present.end());
  for (IndexRecord& record : table.records) {
    if (record.event != IndexEvent::stored) continue;
    if (!std::binary_search(present.begin(), present.end(), record.key)) {
      record.event = IndexEvent::gone;
      record.reason = Reason::absent;
      record.at_unix_ns = step.now;
    } else if (options_.age_max.count() > 0 && step.now - record.at_unix_ns > options_.age_max.count()) {
      if (!learns_of_use(step, record)) remove(step, record, Reason::expired);
    }
  }
}

StoreUsage Upkeep::usage() noexcept {
  const Sums now = sums();
  return {.bytes = now.bytes, .entries = now.entries, .is_exact = now.is_exact};
}

}  // namespace larder
