// A KeyLock is one process's turn to make the product of one key, so that others wait instead of making it
// too. The kernel drops it when its holder dies. It saves work only: nothing is wrong when two hold it or
// nobody can.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"

namespace larder {

enum class Turn : std::uint8_t {
  mine,         // ours: look once more, then make, put, and let go
  published,    // while waiting the entry appeared: get it
  timed_out,    // the holder took longer than the bound: make without a turn
  unavailable,  // no place for locks or no descriptors: make without a turn
};

// The lock of one key, held as long as this object lives in the process that took it. Movable.
class KeyLock {
 public:
  KeyLock() noexcept = default;
  KeyLock(FileSystem& files, File locks, std::uint64_t offset) noexcept;
  ~KeyLock();
  KeyLock(KeyLock&&) noexcept = default;
  KeyLock& operator=(KeyLock&& other) noexcept;

 private:
  void let_go() noexcept;

  FileSystem* files_ = nullptr;
  File locks_;
  std::uint64_t offset_ = 0;
  pid_t holder_ = 0;
};

// The outcome of waiting, and the lock itself while it lives. Movable.
struct MakeTurn {
  Turn turn = Turn::unavailable;
  Nanoseconds waited{0};  // 0: the turn was free, or nobody could take it
  KeyLock lock;
};

struct KeyLockOptions {
  std::string directory;    // the user's own, 0700; made when it does not exist
  std::uint64_t scope = 0;  // tells stores apart that share the directory
  Nanoseconds bound_min = std::chrono::milliseconds(200);
  Nanoseconds bound_max = std::chrono::seconds(60);
  Nanoseconds bound_unknown = std::chrono::seconds(10);  // when nobody knows what making takes
  unsigned bound_factor = 3;                             // times the expected cost
};

// Waits until the lock of `key` is free or `is_published` is true, at most the bound that follows from
// `expected` (0: unknown). Looks every 100 microseconds at first, every 5 milliseconds at last. Any thread
// may call.
MakeTurn wait_for_turn(FileSystem& files, const Clock& clock, const KeyLockOptions& options, const Key& key,
                       Nanoseconds expected, const std::function<bool()>& is_published) noexcept;

}  // namespace larder
