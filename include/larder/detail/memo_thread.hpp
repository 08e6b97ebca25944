// Which table a thread has of a memo: an array per thread, indexed by the memo's number, so that a hit finds
// its table with two loads. Numbers are used again; a serial tells the memos of one number apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "larder/export.h"

namespace larder::detail {

struct MemoPlace {
  std::uint64_t serial = 0;  // of the memo that `table` belongs to; 0: of none
  void* table = nullptr;
};

// Plain, so that reading it costs no check whether it was constructed.
struct MemoThread {
  MemoPlace* places = nullptr;
  std::size_t count = 0;
  bool is_over = false;  // the thread ends: tables are not made any more
};

inline constinit thread_local MemoThread memo_thread{};

// What a table is to those who do not know its type. Counts are written by its thread alone.
class LARDER_API MemoTableBase {
 public:
  virtual ~MemoTableBase();
  virtual std::uint64_t hits() const noexcept = 0;
  virtual std::uint64_t misses() const noexcept = 0;
  virtual std::size_t entries() const noexcept = 0;
  virtual void forget() noexcept = 0;  // at the next call of its thread
};

struct MemoSums {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t entries = 0;
  std::size_t threads = 0;
};

// A memo's tables, of all threads.
class LARDER_API MemoCore {
 public:
  // Throws std::bad_alloc.
  static std::shared_ptr<MemoCore> open();
  virtual ~MemoCore();

  std::size_t number() const noexcept { return number_; }
  std::uint64_t serial() const noexcept { return serial_; }

  // The memo is gone: frees the tables. No thread may be in a call of it.
  virtual void close() noexcept = 0;
  // This thread's table, made by `make`; null when memory is exhausted or the thread is ending.
  virtual MemoTableBase* enter(MemoThread& thread, std::unique_ptr<MemoTableBase> (*make)(std::size_t),
                               std::size_t entries_max) noexcept = 0;
  virtual MemoSums sums() const = 0;
  virtual void forget() noexcept = 0;

 protected:
  MemoCore() = default;
  std::size_t number_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace larder::detail
