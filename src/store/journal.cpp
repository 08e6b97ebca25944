#include "store/journal.hpp"

#include <fcntl.h>

#include <cerrno>
#include <new>

#include "store/free_place.hpp"
#include "store/read_all.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

constexpr int kAppendFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
// How often an append follows a journal that is folded away under it.
constexpr int kFollowsMax = 4;

}  // namespace

Journal::~Journal() {
  if (const int fd = fd_.load(); fd >= 0) directory_.files().close(fd);
}

bool Journal::is_current(std::uint64_t inode) noexcept {
  struct stat status {};
  return directory_.files().status_at(directory_.fd(), layout::kJournal, status) == 0 &&
         status.st_ino == inode;
}

Journal::Place Journal::append(const format::IndexRecord& record) noexcept {
  FileSystem& files = directory_.files();
  format::IndexRecordBytes bytes = format::encode_index_record(record);
  const auto write = [&](int fd) {
    const iovec part = {bytes.data(), bytes.size()};
    return files.write(fd, &part, 1) == static_cast<ssize_t>(bytes.size());
  };
  const std::uint64_t opening = opening_.load();
  if (const int fd = fd_.load(); fd >= 0 && opening % 2 == 0) {
    const std::uint64_t inode = inode_.load();
    // J2, and that no other thread let the number stand for another file meanwhile.
    if (write(fd) && opening_.load() == opening && is_current(inode)) return {inode, opening};
  }
  for (int round = 0; round < kFollowsMax; ++round) {
    File opened(files, files.open_at(directory_.fd(), layout::kJournal, kAppendFlags, trust::kFileMode));
    struct stat status {};
    if (frees_place(directory_, layout::kJournal, opened.fd())) continue;
    if (!opened.is_open() || files.status(opened.fd(), status) < 0) break;
    if (!trust::is_our_file(status, directory_.user())) {
      files.unlink_at(directory_.fd(), layout::kJournal);  // it can be made anew
      continue;
    }
    if (!write(opened.fd())) break;
    if (is_current(status.st_ino)) return keep(std::move(opened), status.st_ino);
  }
  return {0, 1};
}

Journal::Place Journal::keep(File opened, std::uint64_t inode) noexcept {
  // Another thread is at it; in the child of a fork that came in between nobody ever will be again, and every
  // append opens the journal.
  if (is_changing_.exchange(true)) return {inode, 1};
  opening_.fetch_add(1);
  bool is_kept = true;
  if (const int known = fd_.load(); known >= 0) {
    is_kept = directory_.files().replace(opened.fd(), known) >= 0;
  } else {
    fd_.store(std::move(opened).release());
  }
  if (is_kept) inode_.store(inode);
  const std::uint64_t opening = opening_.fetch_add(1) + 1;
  is_changing_.store(false);
  return {inode, is_kept ? opening : 1};
}

// As long as the descriptor is kept the number of its inode is not given to another file.
bool Journal::holds(const Place& place) noexcept {
  return place.opening % 2 == 0 && opening_.load() == place.opening && is_current(place.inode);
}

Journal::News Journal::read_file(const char* name) noexcept try {
  News news;
  FileSystem& files = directory_.files();
  const File opened(files, files.open_at(directory_.fd(), name, trust::kReadFlags));
  struct stat status {};
  news.is_unread = trust::is_want(opened.fd());
  if (!opened.is_open() || files.status(opened.fd(), status) < 0 ||
      !trust::is_our_file(status, directory_.user())) {
    return news;
  }
  news.inode = status.st_ino;
  news.size = static_cast<std::uint64_t>(status.st_size);
  if (news.size <= kSizeMax)
    news.records = format::decode_index_records(read_all(files, opened.fd(), news.size)).records;
  return news;
} catch (const std::bad_alloc&) {
  News none;
  none.is_unread = true;
  return none;
}

Journal::News Journal::read() noexcept {
  return read_file(layout::kJournal);
}

Journal::News Journal::read_folding() noexcept {
  return read_file(layout::kJournalOlder);
}

bool Journal::begin_fold() noexcept {
  FileSystem& files = directory_.files();
  const int dir = directory_.fd();
  struct stat status {};
  if (files.status_at(dir, layout::kJournalOlder, status) == 0) return true;
  if (files.status_at(dir, layout::kJournal, status) != 0 || status.st_size == 0) return false;
  return files.rename_at(dir, layout::kJournal, dir, layout::kJournalOlder, 0) == 0;
}

void Journal::end_fold() noexcept {
  FileSystem& files = directory_.files();
  const int error = files.unlink_at(directory_.fd(), layout::kJournalOlder);
  if (error == -EISDIR) files.unlink_at(directory_.fd(), layout::kJournalOlder, AT_REMOVEDIR);
}

void Journal::drop() noexcept {
  end_fold();
  directory_.files().unlink_at(directory_.fd(), layout::kJournal);
}

}  // namespace larder
