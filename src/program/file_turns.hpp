// FileTurns lets the processes that share a driver's directory take turns to have the driver write a file
// there, so that the first one makes it and the others find it. Which file is none of its business: whoever
// would have the driver write the same one names the same key. It saves work only: nothing is wrong when
// nobody can take turns, when several make the same file, or when what is marked as made is gone again. Any
// thread.
//
// Turns are locks of the kernel in the user's run-time directory, and end with their holder. That a turn came
// to its end is marked in the driver's directory, in a table of 4096 places, in which a later key takes the
// place of an earlier one: who finds the mark does not wait.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "larder/recipe.hpp"
#include "store/key_lock.hpp"

namespace larder {

class FileTurns;

// A turn, while it lives; empty where none was needed or could be had. Movable; may end in another thread,
// and belongs to the process that took it.
class FileTurn {
 public:
  FileTurn() noexcept = default;
  FileTurn(FileTurn&& other) noexcept
      : turns_(std::exchange(other.turns_, nullptr)), key_(other.key_), lock_(std::move(other.lock_)) {}
  FileTurn& operator=(FileTurn&& other) noexcept {
    turns_ = std::exchange(other.turns_, nullptr);
    key_ = other.key_;
    lock_ = std::move(other.lock_);
    return *this;
  }

  bool is_held() const noexcept { return turns_ != nullptr; }
  // The file is written, or cannot be: nobody need wait for it any more. Without it the turn passes on to the
  // next when this object goes.
  void finish() noexcept;

 private:
  friend class FileTurns;
  const FileTurns* turns_ = nullptr;
  Key key_;
  KeyLock lock_;
};

struct FileTurnsOptions {
  std::string driver_directory;  // the user's own
  std::string lock_directory{};  // empty: the user's run-time directory
  // The longest that one turn is waited for. A process that waited so long in vain takes no more turns.
  Nanoseconds bound = std::chrono::seconds(20);
};

class FileTurns {
 public:
  explicit FileTurns(FileTurnsOptions options) noexcept : options_(std::move(options)) {}

  // Waits while another process, or thread, has the turn of `key`.
  FileTurn take(const Key& key) const noexcept;
  bool has_given_up() const noexcept { return has_given_up_.load(std::memory_order_relaxed); }

  // Every file may have to be written again: to be called when files left the directory.
  static void forget(const std::string& driver_directory) noexcept;

 private:
  friend class FileTurn;
  bool is_marked(const Key& key) const noexcept;
  void mark(const Key& key) const noexcept;

  FileTurnsOptions options_;
  mutable std::atomic<bool> has_given_up_{false};
};

}  // namespace larder
