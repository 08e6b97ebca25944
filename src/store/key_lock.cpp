#include "store/key_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

constexpr const char* kLockFile = "make-locks";
constexpr Nanoseconds kPauseMin = std::chrono::microseconds(100);
constexpr Nanoseconds kPauseMax = std::chrono::milliseconds(5);

// The lock file, opened anew for every turn so that two threads of one process keep each other out too.
File open_locks(FileSystem& files, const std::string& directory) noexcept {
  if (directory.empty()) return {};
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  int fd = files.open_at(AT_FDCWD, directory.c_str(), kFlags);
  if (fd == -ENOENT) {
    // Whether we made it or another process did so first.
    (void)files.make_directory_at(AT_FDCWD, directory.c_str(), 0700);
    fd = files.open_at(AT_FDCWD, directory.c_str(), kFlags);
  }
  const File place(files, fd);
  struct stat status {};
  if (!place.is_open() || files.status(place.fd(), status) < 0 ||
      !trust::is_our_directory(status, ::geteuid())) {
    return {};
  }
  File locks(files, files.open_at(place.fd(), kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!locks.is_open() || files.status(locks.fd(), status) < 0 || !trust::is_our_file(status, ::geteuid()))
    return {};
  return locks;
}

Nanoseconds bound_of(const KeyLockOptions& options, Nanoseconds expected) noexcept {
  if (expected <= Nanoseconds{0}) return std::min(options.bound_unknown, options.bound_max);
  if (expected > options.bound_max) return options.bound_max;
  return std::clamp(expected * options.bound_factor, options.bound_min, options.bound_max);
}

// One byte of the lock file for each key; two keys sharing one would only wait for each other.
std::uint64_t offset_of(const Key& key, std::uint64_t scope) noexcept {
  return ((key.high ^ key.low ^ scope) * 0x9e3779b97f4a7c15) >> 2;
}

}  // namespace

KeyLock::KeyLock(FileSystem& files, File locks, std::uint64_t offset) noexcept
    : files_(&files), locks_(std::move(locks)), offset_(offset), holder_(::getpid()) {}

KeyLock::~KeyLock() {
  let_go();
}

KeyLock& KeyLock::operator=(KeyLock&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  files_ = other.files_;
  locks_ = std::move(other.locks_);
  offset_ = other.offset_;
  holder_ = other.holder_;
  return *this;
}

// A child forked meanwhile shares the open file. Closing alone would leave the lock with it; and what it
// copied of this object must not let go of its parent's lock.
void KeyLock::let_go() noexcept {
  if (locks_.is_open() && holder_ == ::getpid()) files_->lock(locks_.fd(), FileLock::none, offset_);
}

MakeTurn wait_for_turn(FileSystem& files, const Clock& clock, const KeyLockOptions& options, const Key& key,
                       Nanoseconds expected, const std::function<bool()>& is_published) noexcept {
  MakeTurn turn;
  File locks = open_locks(files, options.directory);
  if (!locks.is_open()) return turn;
  const std::uint64_t offset = offset_of(key, options.scope);
  const Nanoseconds begin = clock.steady();
  const Nanoseconds bound = bound_of(options, expected);
  for (Nanoseconds next = kPauseMin;; next = std::min(next * 2, kPauseMax)) {
    const int error = files.lock(locks.fd(), FileLock::exclusive, offset);
    if (next != kPauseMin) turn.waited = clock.steady() - begin;
    if (error < 0 && error != -EAGAIN) return turn;
    // Also with the lock in hand: its last holder may have published between our miss and now.
    if (is_published()) {
      turn.turn = Turn::published;
      return turn;
    }
    if (error == 0) {
      turn.turn = Turn::mine;
      turn.lock = KeyLock(files, std::move(locks), offset);
      return turn;
    }
    if (turn.waited >= bound) {
      turn.turn = Turn::timed_out;
      return turn;
    }
    pause(std::min(next, bound - turn.waited + std::chrono::microseconds(1)));
  }
}

}  // namespace larder
