#include "store/index.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "store/free_place.hpp"
#include "store/read_all.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

// More would not be a table: at this size it is rebuilt instead.
constexpr std::uint64_t kTableMax = std::uint64_t{64} << 20;
constexpr std::uint16_t kUsesMax = 0xffff;

std::uint16_t more(std::uint16_t uses, unsigned by) noexcept {
  return static_cast<std::uint16_t>(std::min<unsigned>(uses + by, kUsesMax));
}

bool before(const format::IndexRecord& a, const Key& key) noexcept {
  return a.key < key;
}

// Takes `news` into what is known of its key.
void merge(format::IndexRecord& known, const format::IndexRecord& news) noexcept {
  using format::IndexEvent;
  const std::uint16_t uses = known.uses;
  switch (news.event) {
    case IndexEvent::stored: {
      // The uses and the cost of an entry that had gone speak for it when it comes back.
      const Nanoseconds cost = known.cost;
      known = news;
      if (known.cost.count() == 0) known.cost = cost;
      known.uses = more(uses, 1);
      break;
    }
    case IndexEvent::used:
      // Whoever read it knows its size and cost; who says it is gone may have been mistaken.
      known.event = IndexEvent::stored;
      known.reason = Reason::none;
      known.bytes = news.bytes;
      known.cost = news.cost;
      known.at_unix_ns = std::max(known.at_unix_ns, news.at_unix_ns);
      known.uses = more(uses, 1);
      break;
    case IndexEvent::gone:
      known.event = IndexEvent::gone;
      known.reason = news.reason;
      known.at_unix_ns = news.at_unix_ns;
      break;
  }
}

// Whether an index file is the user's alone. One that is not is removed: it can be made anew.
bool is_usable(Directory& directory, const File& opened, const char* path, struct stat& status) noexcept {
  FileSystem& files = directory.files();
  if (!opened.is_open() || files.status(opened.fd(), status) < 0) return false;
  if (trust::is_our_file(status, directory.user())) return true;
  files.unlink_at(directory.fd(), path);
  return false;
}

}  // namespace

format::IndexRecord* ShardTable::find(const Key& key) noexcept {
  const auto at = std::lower_bound(records.begin(), records.end(), key, before);
  return at != records.end() && at->key == key ? &*at : nullptr;
}

void ShardTable::apply(const format::IndexRecord& news) {
  const auto at = std::lower_bound(records.begin(), records.end(), news.key, before);
  if (at != records.end() && at->key == news.key) {
    merge(*at, news);
    return;
  }
  format::IndexRecord record = news;
  if (record.event == format::IndexEvent::used) record.event = format::IndexEvent::stored;
  records.insert(at, record);
}

format::ShardTotal ShardTable::total() const noexcept {
  format::ShardTotal total;
  total.is_known = true;
  for (const format::IndexRecord& record : records) {
    if (record.event != format::IndexEvent::stored) continue;
    total.bytes += record.bytes;
    ++total.entries;
  }
  return total;
}

bool Index::read_totals(format::Totals& totals) noexcept {
  totals = {};
  FileSystem& files = directory_.files();
  const File opened(files, files.open_at(directory_.fd(), layout::kTotals, trust::kReadFlags));
  if (!opened.is_open()) return false;
  bool is_found = false;
  std::array<format::TotalsBytes, 2> turns;
  // Of the two, one may be in the middle of being written. Again, for a reader that slept over both.
  for (int attempt = 0; attempt < 3 && !is_found; ++attempt) {
    const ssize_t got = files.read_at(opened.fd(), turns.data(), sizeof turns, 0);
    for (std::size_t turn = 0; turn < 2; ++turn) {
      format::Totals one;
      if (got < static_cast<ssize_t>((turn + 1) * format::kTotalsSize) ||
          !format::decode_totals(turns[turn], one) || (is_found && one.sequence < totals.sequence)) {
        continue;
      }
      totals = one;
      is_found = true;
    }
  }
  return is_found;
}

int Index::write_totals(format::Totals& totals) noexcept {
  FileSystem& files = directory_.files();
  const auto open = [&] {
    return files.open_at(directory_.fd(), layout::kTotals, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                         trust::kFileMode);
  };
  int fd = open();
  if (frees_place(directory_, layout::kTotals, fd)) fd = open();
  const File opened(files, fd);
  struct stat status {};
  if (!is_usable(directory_, opened, layout::kTotals, status)) return std::min(fd, 0);
  ++totals.sequence;
  format::TotalsBytes bytes;
  format::encode_totals(totals, bytes);
  files.write_at(opened.fd(), bytes.data(), bytes.size(), totals.sequence % 2 * bytes.size());
  return 0;
}

ShardTable Index::read_table(unsigned shard) noexcept try {
  ShardTable table;
  const int fd =
      directory_.open_in_shard(shard, layout::shard_index_path(shard).c_str(), O_RDONLY | O_NONBLOCK);
  const File opened(directory_.files(), fd);
  if (!opened.is_open()) return table;
  FileSystem& files = directory_.files();
  struct stat status {};
  if (files.status(opened.fd(), status) < 0 || !trust::is_our_file(status, directory_.user()) ||
      static_cast<std::uint64_t>(status.st_size) > kTableMax) {
    return table;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  format::IndexRecords decoded = format::decode_index_records(read_all(files, opened.fd(), size));
  table.records = std::move(decoded.records);
  // The first record of a table says that it is one: see write_table.
  table.is_sound = decoded.is_sound && !table.records.empty();
  const auto is_foreign = [&](const format::IndexRecord& record) {
    return layout::shard_of(record.key) != shard || record.event == format::IndexEvent::used;
  };
  const auto foreign = std::remove_if(table.records.begin(), table.records.end(), is_foreign);
  table.records.erase(foreign, table.records.end());
  const auto by_key = [](const format::IndexRecord& a, const format::IndexRecord& b) {
    return a.key < b.key;
  };
  if (!std::is_sorted(table.records.begin(), table.records.end(), by_key)) {
    std::stable_sort(table.records.begin(), table.records.end(), by_key);
    table.is_sound = false;
  }
  const auto same = [](const format::IndexRecord& a, const format::IndexRecord& b) { return a.key == b.key; };
  table.records.erase(std::unique(table.records.begin(), table.records.end(), same), table.records.end());
  return table;
} catch (const std::bad_alloc&) {
  return {};
}

bool Index::write_table(unsigned shard, const ShardTable& table) noexcept try {
  FileSystem& files = directory_.files();
  std::vector<std::byte> bytes;
  bytes.reserve((table.records.size() + 1) * format::kIndexRecordSize);
  const auto add = [&](const format::IndexRecord& record) {
    const format::IndexRecordBytes encoded = format::encode_index_record(record);
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  };
  // So that a table of nothing is told from an empty file.
  format::IndexRecord first;
  first.event = format::IndexEvent::used;
  first.key = {std::uint64_t{shard} << 56, 0};
  add(first);
  for (const format::IndexRecord& record : table.records) add(record);

  const layout::Path path = layout::shard_index_path(shard);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NONBLOCK;
  int fd = directory_.open_in_shard(shard, path.c_str(), kFlags, trust::kFileMode);
  // The first entry of a shard may have been announced and not yet been published.
  if (fd == -ENOENT && !table.records.empty() && directory_.make_shard(shard) == 0) {
    fd = directory_.open_in_shard(shard, path.c_str(), kFlags, trust::kFileMode);
  }
  if (frees_place(directory_, path.c_str(), fd)) {
    fd = directory_.open_in_shard(shard, path.c_str(), kFlags, trust::kFileMode);
  }
  const File opened(files, fd);
  struct stat status {};
  if (!is_usable(directory_, opened, path.c_str(), status)) return false;
  const ssize_t wrote = files.write_at(fd, bytes.data(), bytes.size(), 0);
  if (wrote != static_cast<ssize_t>(bytes.size())) {
    files.truncate(fd, 0);  // half a table is none
    return false;
  }
  if (static_cast<std::uint64_t>(status.st_size) > bytes.size()) files.truncate(fd, bytes.size());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

std::optional<format::IndexRecord> Index::find(const Key& key) noexcept try {
  ShardTable table = read_table(layout::shard_of(key));
  // In this order: news only ever go from the journal to journal.old.
  const Journal::News later = journal_.read();
  const Journal::News earlier = journal_.read_folding();
  for (const Journal::News* news : {&earlier, &later}) {
    for (const format::IndexRecord& record : news->records) {
      if (record.key == key) table.apply(record);
    }
  }
  const format::IndexRecord* const found = table.find(key);
  return found == nullptr ? std::nullopt : std::optional(*found);
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

}  // namespace larder
