#include "program/file_turns.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "base/file.hpp"
#include "base/transfer.hpp"
#include "store/places.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

constexpr const char* kMarks = "/larder-turns";
constexpr std::uint64_t kPlaces = 4096;

std::uint64_t offset_of(const Key& key) noexcept {
  return (key.low % kPlaces) * sizeof(Key);
}

// Opened for each look: a guest keeps no descriptor that its host may close and give away.
File open_marks(const std::string& directory, int flags) {
  FileSystem& files = FileSystem::posix();
  const std::string path = directory + kMarks;
  File marks(files, files.open_at(AT_FDCWD, path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status {};
  if (!marks.is_open() || files.status(marks.fd(), status) < 0 || !trust::is_our_file(status, ::geteuid()))
    return {};
  return marks;
}

}  // namespace

void FileTurn::finish() noexcept {
  if (turns_ == nullptr) return;
  turns_->mark(key_);
  *this = FileTurn();
}

bool FileTurns::is_marked(const Key& key) const noexcept try {
  const File marks = open_marks(options_.driver_directory, O_RDONLY);
  Key there;
  return marks.is_open() &&
         read_fully(FileSystem::posix(), marks.fd(), reinterpret_cast<std::byte*>(&there), sizeof there,
                    offset_of(key)) == 0 &&
         there == key;
} catch (...) {
  return false;
}

// One small write: who reads half of it finds no mark.
void FileTurns::mark(const Key& key) const noexcept try {
  const File marks = open_marks(options_.driver_directory, O_WRONLY | O_CREAT);
  if (marks.is_open())
    write_fully(FileSystem::posix(), marks.fd(), std::as_bytes(std::span(&key, 1)), offset_of(key));
} catch (...) {  // others wait, or take their turns
}

FileTurn FileTurns::take(const Key& key) const noexcept try {
  FileTurn turn;
  if (has_given_up() || is_marked(key)) return turn;
  FileSystem& files = FileSystem::posix();
  struct stat status {};
  if (files.status_at(AT_FDCWD, options_.driver_directory.c_str(), status) < 0) return turn;
  KeyLockOptions locks;
  locks.directory = options_.lock_directory.empty() ? default_lock_directory() : options_.lock_directory;
  locks.scope = static_cast<std::uint64_t>(status.st_ino);
  locks.bound_unknown = locks.bound_max = options_.bound;
  MakeTurn had =
      wait_for_turn(files, Clock::system(), locks, key, Nanoseconds{0}, [&] { return is_marked(key); });
  if (had.turn == Turn::timed_out) has_given_up_.store(true, std::memory_order_relaxed);
  if (had.turn != Turn::mine) return turn;
  turn.turns_ = this;
  turn.key_ = key;
  turn.lock_ = std::move(had.lock);
  return turn;
} catch (...) {
  return {};
}

void FileTurns::forget(const std::string& driver_directory) noexcept try {
  FileSystem::posix().unlink_at(AT_FDCWD, (driver_directory + kMarks).c_str());
} catch (...) {  // no memory: it is made anew by several, perhaps
}

}  // namespace larder
