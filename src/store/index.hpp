// The Index reads and writes the index files of a store (grammar: format/index.hpp). Appending is for
// everybody at any time; changing tables, totals and the journal's beginning is for the one that holds the
// upkeep lock. Every failure reads as "nothing known" and every write may be lost: the entries are the truth.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "format/index.hpp"
#include "store/directory.hpp"

namespace larder {

// The index of one shard in memory: records sorted by key, one for each.
struct ShardTable {
  std::vector<format::IndexRecord> records;
  bool is_sound = false;  // false: missing or damaged, to be compared with the directory

  format::IndexRecord* find(const Key& key) noexcept;
  // Takes in one piece of news.
  void apply(const format::IndexRecord& news);
  format::ShardTotal total() const noexcept;
};

class Index {
 public:
  // From here on the journal is folded; below it readers walk it as it is.
  static constexpr std::uint64_t kJournalFold = 64 * 1024;
  // A journal above this is not read; upkeep throws it away.
  static constexpr std::uint64_t kJournalMax = std::uint64_t{4} << 20;

  explicit Index(Directory& directory) noexcept : directory_(directory) {}
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // One write. Lost without a word when it fails.
  void append(const format::IndexRecord& record) noexcept;

  // The news that stand in the journal from `from` up to `to`. Nothing when it is above kJournalMax.
  std::vector<format::IndexRecord> read_journal(std::uint64_t from, std::uint64_t to) noexcept;
  std::uint64_t journal_size() noexcept;
  // Takes the first `folded` bytes off the journal. What is appended meanwhile stays, but for a moment's
  // width.
  void cut_journal(std::uint64_t folded) noexcept;

  // False: lost; `totals` is as new then.
  bool read_totals(format::Totals& totals) noexcept;
  void write_totals(const format::Totals& totals) noexcept;

  ShardTable read_table(unsigned shard) noexcept;
  // False when it could not be written.
  bool write_table(unsigned shard, const ShardTable& table) noexcept;

  // What tables and journal together say of `key`.
  std::optional<format::IndexRecord> find(const Key& key) noexcept;

 private:
  // The descriptor of the journal, opened for this directory; negative when there is none.
  int journal() noexcept;
  std::vector<std::byte> read_all(int fd, std::uint64_t from, std::uint64_t to, std::uint64_t most) noexcept;

  Directory& directory_;
  std::atomic<int> journal_{-1};
  std::atomic<std::uint64_t> journal_epoch_{0};
};

}  // namespace larder
