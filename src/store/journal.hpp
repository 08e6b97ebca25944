// The Journal takes the news of every process of a store, one append each, until upkeep folds them into the
// shards' tables. No news is lost between those who append and the one who folds, without a lock:
//
//   J1  To fold, the journal is first renamed to journal.old, which nobody but the folding process takes
//   away,
//       and only once all its news are in the tables.
//   J2  Who has appended looks whether the file is still the one called journal, and otherwise appends again
//       to that one. So when append() returns, the news stand in the journal or came to journal.old before it
//       was read.
//
// News may thus be told twice, which a table takes as once. Appending is for any thread and process; folding
// for the one that holds the upkeep lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "format/index.hpp"
#include "store/directory.hpp"

namespace larder {

class Journal {
 public:
  // From here on the journal is folded; below it readers walk it as it is.
  static constexpr std::uint64_t kFoldFrom = 64 * 1024;
  // A journal above this is not read; upkeep throws it away and counts again.
  static constexpr std::uint64_t kSizeMax = std::uint64_t{4} << 20;

  explicit Journal(Directory& directory) noexcept : directory_(directory) {}
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Where a record was appended: see holds().
  struct Place {
    std::uint64_t inode = 0;
    std::uint64_t opening = 0;  // which opening of the journal it was written through; odd: none that is kept
  };
  // Two calls. Lost without a word when it cannot be written.
  Place append(const format::IndexRecord& record) noexcept;
  // True: nobody can have folded what was appended there. One call.
  bool holds(const Place& place) noexcept;

  struct News {
    std::vector<format::IndexRecord> records;  // none when the file is above kSizeMax
    std::uint64_t inode = 0;                   // 0: there is no such file
    std::uint64_t size = 0;
    bool is_unread = false;  // it may be there: descriptors or memory were lacking
  };
  News read() noexcept;
  // The news that are being folded: those of journal.old.
  News read_folding() noexcept;

  // Whether there is something to be folded: an unfinished fold, or the journal made one (J1).
  bool begin_fold() noexcept;
  // All of it is in the tables.
  void end_fold() noexcept;
  // Takes away what nobody will read. Who is about to publish tells again: see holds().
  void drop() noexcept;

 private:
  bool is_current(std::uint64_t inode) noexcept;
  // Keeps the descriptor for the appends to come.
  Place keep(File opened, std::uint64_t inode) noexcept;
  News read_file(const char* name) noexcept;

  Directory& directory_;
  std::atomic<int> fd_{-1};  // the same number as long as this object lives; what it stands for changes
  std::atomic<std::uint64_t> inode_{0};
  std::atomic<std::uint64_t> opening_{0};  // odd while fd_ and inode_ change
  std::atomic<bool> is_changing_{false};
};

}  // namespace larder
