#include "store/upkeep.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <new>

#include "base/clock.hpp"
#include "larder/events.hpp"
#include "store/entry_file.hpp"
#include "store/listing.hpp"
#include "store/trust.hpp"
#include "store/victims.hpp"

namespace larder {
namespace {

using format::IndexEvent;
using format::IndexRecord;

constexpr std::int64_t kTemporaryAge = 3600 * kSecondNs;
constexpr std::int64_t kGhostAge = 30 * 24 * 3600 * kSecondNs;
constexpr std::size_t kGhostsMin = 64;  // kept per shard at least, else as many as there are entries
constexpr std::int64_t kRollEvery = 300 * kSecondNs;  // one shard each: all of them in a day
constexpr std::size_t kGroupSize = 1024;  // entries that one round of eviction chooses from, if there are
constexpr std::uint64_t kSlackMax = std::uint64_t{32} << 20;
constexpr std::uint64_t kSlackPart = 1024;  // of bytes_max may be published between two looks at the sums
constexpr unsigned kPutsMax = 256;          // neither more puts than these, or the journal grows long
constexpr unsigned kPutsUnfinished = 8;     // nor these, while the last step left something to do
constexpr double kLagMax = 0.01;            // of bytes_max may be kept above it while eviction catches up
// So long after it was announced an entry that is not there counts as one that is being published.
constexpr std::int64_t kOnItsWayMax = 60 * kSecondNs;
// A put that finds the store full and another process making room looks again so often, after such a pause.
constexpr int kWaitsMax = 8;
constexpr Nanoseconds kWait = std::chrono::microseconds(250);

std::uint64_t less(std::uint64_t from, std::uint64_t what) noexcept {
  return from > what ? from - what : 0;
}

// The one turn at upkeep that a store has. A file system without locks is no reason to grow without bound:
// two at it at once only do some work twice (U2).
class TurnToUpkeep {
 public:
  explicit TurnToUpkeep(Directory& directory) noexcept
      : files_(directory.files()),
        lock_(files_, files_.open_at(directory.fd(), layout::kLock,
                                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600)) {
    if (lock_.is_open()) error_ = files_.lock(lock_.fd(), FileLock::exclusive, 0);
  }
  // A child forked meanwhile shares the open file: closing alone would leave the lock with it.
  ~TurnToUpkeep() {
    if (is_ours()) files_.lock(lock_.fd(), FileLock::none, 0);
  }
  TurnToUpkeep(const TurnToUpkeep&) = delete;
  TurnToUpkeep& operator=(const TurnToUpkeep&) = delete;
  bool is_ours() const noexcept { return lock_.is_open() && !is_busy(); }
  bool is_busy() const noexcept { return error_ == -EAGAIN; }

 private:
  FileSystem& files_;
  File lock_;
  int error_ = 0;
};

}  // namespace

struct Upkeep::Step {
  const Clock& clock;
  Nanoseconds end;
  std::int64_t now;
  format::Totals totals{};
  UpkeepReport report{};
  bool is_unfinished = false;
  bool has_progressed = false;  // something is done that the next step need not do

  // U3. Says that there is more to do when time is over.
  bool is_over() noexcept {
    if (!has_progressed || clock.steady() < end) return false;
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
  const TurnToUpkeep turn(directory_);
  format::Totals totals;
  // Somebody else may have found the new directory and be ahead of us.
  if (!turn.is_ours() || index_.read_totals(totals)) return;
  for (auto& shard : totals.shards) shard.is_known = true;
  totals.rolled_at_unix_ns = options_.clock->unix_ns();
  index_.write_totals(totals);
}

Upkeep::Announcement Upkeep::announce(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept {
  Announcement announcement;
  announcement.record.key = key;
  announcement.record.bytes = bytes;
  announcement.record.cost = cost;
  announcement.record.at_unix_ns = options_.clock->unix_ns();
  announcement.place = index_.journal().append(announcement.record);
  return announcement;
}

void Upkeep::published(const Announcement& announcement) noexcept {
  if (!index_.journal().holds(announcement.place)) index_.journal().append(announcement.record);
}

void Upkeep::withdraw(const Announcement& announcement) noexcept {
  gone(announcement.record.key, announcement.record.bytes, Reason::absent);
}

void Upkeep::used(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept {
  IndexRecord record;
  record.event = IndexEvent::used;
  record.key = key;
  record.bytes = bytes;
  record.cost = cost;
  record.at_unix_ns = options_.clock->unix_ns();
  index_.journal().append(record);
}

void Upkeep::gone(const Key& key, std::uint64_t bytes, Reason reason) noexcept {
  IndexRecord record;
  record.event = IndexEvent::gone;
  record.reason = reason;
  record.key = key;
  record.bytes = bytes;
  record.at_unix_ns = options_.clock->unix_ns();
  index_.journal().append(record);
}

// Both together change no sum: what is gone was announced.
void Upkeep::never_came(const Key& key, Reason reason) noexcept {
  announce(key, 0, Nanoseconds{0});
  gone(key, 0, reason);
}

bool Upkeep::is_due(const Sums& sums) const noexcept {
  const std::int64_t since_roll = options_.clock->unix_ns() - sums.rolled_at_unix_ns;
  return !sums.is_exact || sums.is_folding || sums.journal_size >= Journal::kFoldFrom ||
         since_roll >= kRollEvery || since_roll < 0;
}

std::uint64_t Upkeep::needed(std::uint64_t kept, std::uint64_t incoming, double down_to) noexcept {
  std::uint64_t much = 0;
  if (const std::uint64_t most = options_.bytes_max; most != 0 && kept > most) {
    const auto mark = static_cast<std::uint64_t>(static_cast<double>(most) * down_to);
    much = kept - std::min(kept, mark);
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
  const unsigned puts = unchecked_puts_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (unchecked < slack && puts < kPutsMax && has_checked_.load(std::memory_order_relaxed))
    return Reason::none;
  unchecked_bytes_.store(0, std::memory_order_relaxed);
  unchecked_puts_.store(0, std::memory_order_relaxed);
  has_checked_.store(true, std::memory_order_relaxed);

  const Sums now = read_sums(index_);
  const bool is_full = needed(now.bytes, bytes, 1) > 0;
  if (!is_full && !is_due(now)) return Reason::none;
  // Eviction may lag a little behind many writers, not more.
  const auto lag =
      options_.evicts ? static_cast<std::uint64_t>(static_cast<double>(options_.bytes_max) * kLagMax) : 0;
  for (int waits = 0;; ++waits) {
    const UpkeepReport report = run(options_.step_max, false, bytes);
    const bool was_busy = report.was_busy;
    // Else the news would come faster than they are folded, and the more there are, the longer a fold takes.
    if (!was_busy && !report.is_done)
      unchecked_puts_.store(kPutsMax - kPutsUnfinished, std::memory_order_relaxed);
    if (!is_full || needed(less(read_sums(index_).bytes, lag), bytes, 1) == 0) return Reason::none;
    if (!was_busy || waits == kWaitsMax) break;
    pause(kWait);
  }
  has_checked_.store(false, std::memory_order_relaxed);  // the next put looks again
  return Reason::out_of_space;
}

UpkeepReport Upkeep::step(Nanoseconds at_most, bool everything) noexcept {
  return run(at_most, everything, 0);
}

UpkeepReport Upkeep::run(Nanoseconds at_most, bool everything, std::uint64_t incoming) noexcept {
  UpkeepReport refused;
  refused.is_done = true;
  refused.was_refused = true;
  if (options_.read_only) return refused;
  const Clock& clock = *options_.clock;
  Step step{.clock = clock, .end = clock.steady() + at_most, .now = clock.unix_ns()};
  const TurnToUpkeep turn(directory_);
  if (!turn.is_ours()) {
    refused.is_done = !turn.is_busy();
    refused.was_busy = turn.is_busy();
    refused.was_refused = !refused.was_busy;
    return refused;
  }
  index_.read_totals(step.totals);
  try {
    step_in_turn(step, everything, incoming);
  } catch (const std::bad_alloc&) {
    step.is_unfinished = true;
  }
  index_.write_totals(step.totals);
  step.report.is_done = !step.is_unfinished;
  return step.report;
}

void Upkeep::step_in_turn(Step& step, bool everything, std::uint64_t incoming) {
  count_unknown(step);
  fold(step);
  if (!step.is_unfinished) {
    evict(step, step.bytes(), incoming);
  } else if (incoming > 0) {
    // Also what no table knows yet.
    evict(step, std::max(step.bytes(), read_sums(index_).bytes), incoming);
  }
  roll(step, everything);
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
    step.has_progressed = true;
  }
}

void Upkeep::fold(Step& step) {
  format::Totals& totals = step.totals;
  if (!index_.journal().begin_fold()) return;
  const Journal::News all = index_.journal().read_folding();
  if (all.is_unread) return;  // a later step will
  if (all.size > Journal::kSizeMax) return forget_journal(step);

  std::vector<IndexRecord> news = all.records;
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
      if (table.is_unread) return;  // a later step will
      for (std::size_t i = at; i < end; ++i) apply(table, news[i]);
      keep_table(step, shard, table);
      totals.fold_next = shard + 1;
      step.has_progressed = true;
    }
    at = end;
  }
  ++totals.folds;
  totals.fold_next = 0;
  // First this: who dies in between folds the same news twice, which changes nothing but a count of uses and
  // perhaps what is told of an entry that has left since.
  if (trust::is_want(index_.write_totals(totals))) return;
  index_.journal().end_fold();
}

// Nobody has folded for a very long time, or somebody wrote nonsense: count again instead.
void Upkeep::forget_journal(Step& step) {
  for (auto& shard : step.totals.shards) shard.is_known = false;
  for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
    directory_.files().unlink_at(directory_.fd(), layout::shard_index_path(shard).c_str());
  }
  ++step.totals.folds;
  step.totals.fold_next = 0;
  index_.write_totals(step.totals);
  index_.journal().drop();
  step.is_unfinished = true;
}

// Who says that an entry is gone may have been overtaken by one who published it again.
void Upkeep::apply(ShardTable& table, const IndexRecord& news) {
  struct stat status {};
  const layout::Path path = layout::entry_path(news.key);
  if (news.event != IndexEvent::gone ||
      directory_.files().status_at(directory_.fd(), path.c_str(), status) < 0 || !S_ISREG(status.st_mode)) {
    table.apply(news);
    return;
  }
  const IndexRecord* const known = table.find(news.key);
  if (known != nullptr && known->event == IndexEvent::stored) return;
  IndexRecord there = news;
  there.event = IndexEvent::stored;
  there.reason = Reason::none;
  there.bytes = static_cast<std::uint64_t>(status.st_size);
  table.apply(there);
}

void Upkeep::keep_table(Step& step, unsigned shard, ShardTable& table) {
  if (table.is_unread) return;
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

void Upkeep::evict(Step& step, std::uint64_t total, std::uint64_t incoming) {
  if (!options_.evicts) return;
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
    step.has_progressed = true;
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
  const std::int64_t used_at = std::min(to_ns(status.st_mtim), step.now);
  if (used_at <= record.at_unix_ns + options_.touch_after.count()) return false;
  record.at_unix_ns = used_at;
  return true;
}

bool Upkeep::is_expired(const Step& step, const IndexRecord& record) {
  struct stat status {};
  const layout::Path path = layout::entry_path(record.key);
  const std::int64_t most = options_.age_max.count();
  if (directory_.files().status_at(directory_.fd(), path.c_str(), status) < 0) return false;
  const std::int64_t dated = to_ns(status.st_mtim);
  if (step.now - dated <= most) return false;
  // Made lately, and dated long ago by somebody: few are.
  const entry_file::Opened opened = entry_file::open(directory_, record.key);
  if (opened.reason != Reason::none) return opened.reason != Reason::out_of_resources;
  const entry_file::Content content = entry_file::read_head(directory_, opened);
  const std::int64_t made_at = content.reason == Reason::none ? content.head.made_at_unix_ns : dated;
  return entry_file::idle_ns(step.now, dated, made_at) > most;
}

bool Upkeep::may_be_on_its_way(const Step& step, const IndexRecord& record) noexcept {
  const std::int64_t age = step.now - record.at_unix_ns;
  return age < kOnItsWayMax && age > -kOnItsWayMax;
}

bool Upkeep::remove(Step& step, IndexRecord& record, Reason reason) {
  FileSystem& files = directory_.files();
  const layout::Path path = layout::entry_path(record.key);
  struct stat status {};
  int error = files.status_at(directory_.fd(), path.c_str(), status);
  if (error == -ENOENT && may_be_on_its_way(step, record)) return false;  // U4: it does not become free
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
  if (error < 0 && error != -ENOENT) {
    ++step.report.stuck_entries;
    return false;
  }
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
    step.has_progressed = true;
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
      const std::int64_t age = step.now - to_ns(status.st_mtim);
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
    found.at_unix_ns = std::min(to_ns(status.st_mtim), step.now);
    table.apply(found);
  }
  table.is_unread = !table.is_sound && trust::is_want(listing.error());
  table.is_sound = table.is_sound || listing.is_open();
  if (!listing.is_complete()) return;
  std::sort(present.begin(), present.end());
  for (IndexRecord& record : table.records) {
    if (record.event != IndexEvent::stored) continue;
    if (!std::binary_search(present.begin(), present.end(), record.key)) {
      if (may_be_on_its_way(step, record)) continue;
      record.event = IndexEvent::gone;
      record.reason = Reason::absent;
      record.at_unix_ns = step.now;
    } else if (options_.age_max.count() > 0) {
      if (is_expired(step, record)) {
        remove(step, record, Reason::expired);
      } else if (step.now - record.at_unix_ns > options_.age_max.count()) {
        learns_of_use(step, record);
      }
    }
  }
}

StoreUsage Upkeep::usage() noexcept {
  const Sums now = read_sums(index_);
  return {.bytes = less(now.bytes, now.gone_bytes),
          .entries = less(now.entries, now.gone_entries),
          .is_exact = now.is_exact};
}

}  // namespace larder
