// The Index reads and writes the tables and totals of a store (grammar: format/index.hpp). Reading is for
// everybody at any time, changing them for the one that holds the upkeep lock. Every failure reads as
// "nothing known" and every write may be lost: the entries are the truth.
#pragma once

#include <optional>
#include <vector>

#include "base/file.hpp"
#include "format/index.hpp"
#include "store/directory.hpp"
#include "store/journal.hpp"

namespace larder {

// The index of one shard in memory: records sorted by key, one for each.
struct ShardTable {
  std::vector<format::IndexRecord> records;
  bool is_sound = false;   // false: missing or damaged, to be compared with the directory
  bool is_unread = false;  // nor could the directory be read just now: nobody knows what is kept there

  format::IndexRecord* find(const Key& key) noexcept;
  // Takes in one piece of news.
  void apply(const format::IndexRecord& news);
  format::ShardTotal total() const noexcept;
};

class Index {
 public:
  explicit Index(Directory& directory) noexcept : directory_(directory), journal_(directory) {}

  Journal& journal() noexcept { return journal_; }

  // False: lost; `totals` is as new then.
  bool read_totals(format::Totals& totals) noexcept;
  // Counts the writing in `totals`. 0, or minus errno where the file could not be opened.
  int write_totals(format::Totals& totals) noexcept;

  ShardTable read_table(unsigned shard) noexcept;
  // False when it could not be written.
  bool write_table(unsigned shard, const ShardTable& table) noexcept;

  // What tables and journal together say of `key`.
  std::optional<format::IndexRecord> find(const Key& key) noexcept;

 private:
  Directory& directory_;
  Journal journal_;
};

}  // namespace larder
